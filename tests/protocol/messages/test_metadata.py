"""Metadata, byte by byte."""

import pytest

from kafka_lagoon.errors import EncodeError
from kafka_lagoon.protocol.acls import NOT_ASKED
from kafka_lagoon.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse
from kafka_lagoon.wire.reading import decode
from kafka_lagoon.wire.writing import encode


def _written(request: MetadataRequest, version: int) -> str:
    return encode(request, version, version >= 9).hex(" ")


def test_all_topics_and_none() -> None:
    """An empty list means all topics in v0, which has no null; later versions send null for all topics."""
    with pytest.raises(EncodeError):
        _written(MetadataRequest(topics=None), 0)
    assert _written(MetadataRequest(topics=()), 0) == "00 00 00 00"
    assert _written(MetadataRequest(topics=None), 1) == "ff ff ff ff"
    assert _written(MetadataRequest(topics=()), 1) == "00 00 00 00"


def test_creation_of_topics() -> None:
    """Versions without the flag always create topics, so they refuse a request that forbids it."""
    assert MetadataRequest().allow_auto_topic_creation
    with pytest.raises(EncodeError):
        _written(MetadataRequest(allow_auto_topic_creation=False), 3)
    assert _written(MetadataRequest(allow_auto_topic_creation=False), 4) == "00 00 00 00 00"


def test_names_and_ids() -> None:
    """A topic without a name is refused before v10; its id is left out in versions without ids."""
    by_id = MetadataRequestTopic(name=None, topic_id=bytes(range(16)))
    with pytest.raises(EncodeError):
        _written(MetadataRequest(topics=(by_id,)), 9)
    assert _written(MetadataRequest(topics=(by_id,)), 12).startswith("02 " + bytes(range(16)).hex(" ") + " 00 00")
    both = MetadataRequestTopic(name="a", topic_id=bytes(range(16)))
    assert _written(MetadataRequest(topics=(both,)), 9) == "02 02 61 00 01 00 00 00"


def test_authorized_operations() -> None:
    """The cluster's operations can only be requested in v8 to v10; otherwise the response marks them as not requested."""
    for version in (7, 11):
        with pytest.raises(EncodeError):
            _written(MetadataRequest(include_cluster_authorized_operations=True), version)
    assert MetadataResponse().cluster_authorized_operations == NOT_ASKED


def test_topic_that_no_id_has() -> None:
    """From v12 on the response for an unknown topic id has no name."""
    topic = "0064 00 " + "00" * 15 + "01 00 01 80000000 00"
    decoded = decode(MetadataResponse, 12, True, bytes.fromhex("00000000 01 00 ffffffff 02 " + topic + " 00"))
    assert (decoded.topics[0].name, decoded.topics[0].error_code) == (None, 100)


def test_bootstrap_again() -> None:
    """v13 ends with an error of the whole response (KIP-1102)."""
    decoded = decode(MetadataResponse, 13, True, bytes.fromhex("00000000 01 00 ffffffff 01 0081 00"))
    assert decoded.error_code == 129
