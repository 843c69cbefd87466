"""DescribeConfigs, byte by byte."""

import pytest

from kafka_lagoon.errors import EncodeError
from kafka_lagoon.protocol.messages.describe_configs import (
    TOPIC,
    DescribeConfigsEntry,
    DescribeConfigsRequest,
    DescribeConfigsResource,
)
from kafka_lagoon.wire.reading import decode
from kafka_lagoon.wire.writing import encode


def test_all_settings() -> None:
    """Null requests all configs in every version; brokers treat an empty list in the same way."""
    every = DescribeConfigsResource(resource_type=TOPIC, resource_name="a", configuration_keys=None)
    request = DescribeConfigsRequest(resources=(every,))
    assert encode(request, 0, False) == bytes.fromhex("00000001 02 0001 61 ffffffff")
    assert encode(request, 4, True) == bytes.fromhex("02 02 02 61 00 00 00 00 00")


def test_default_or_source() -> None:
    """v0 has a flag for defaults, later versions have the source; each lacks the other."""
    old = decode(DescribeConfigsEntry, 0, False, bytes.fromhex("0001 61 0001 62 00 01 00"))
    assert (old.value, old.is_default, old.config_source) == ("b", True, -1)
    new = decode(DescribeConfigsEntry, 1, False, bytes.fromhex("0001 61 ffff 00 05 01 00000000"))
    assert (new.value, new.is_default, new.config_source, new.is_sensitive) == (None, False, 5, True)


def test_what_is_asked_for_is_not_ignorable() -> None:
    """Requests for synonyms and documentation are refused in versions without these fields."""
    for request, version in (
        (DescribeConfigsRequest(include_synonyms=True), 0),
        (DescribeConfigsRequest(include_documentation=True), 2),
    ):
        with pytest.raises(EncodeError):
            encode(request, version, False)
