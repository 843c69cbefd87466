"""The registry of APIs."""

import pytest

from kafka_lagoon.protocol.apis import APIS, api_name


def test_keys() -> None:
    """Every API is found by its key, and has the name that Kafka gives the key."""
    for key, api in APIS.items():
        assert api.key == key
        assert api_name(key) == api.name


def test_sides_belong_together() -> None:
    """Request and response of an API carry the same name."""
    for api in APIS.values():
        assert api.response.__name__ == f"{api.name}Response"


@pytest.mark.parametrize(
    ("key", "name"), [(0, "Produce"), (1, "Fetch"), (18, "ApiVersions"), (75, "DescribeTopicPartitions")]
)
def test_names(key: int, name: str) -> None:
    """APIs that we do not implement have names, too."""
    assert api_name(key) == name


@pytest.mark.parametrize("key", [-1, 93, 32767])
def test_unknown_keys(key: int) -> None:
    """A key without a name is shown as a number."""
    assert api_name(key) == f"UNKNOWN_API_{key}"
