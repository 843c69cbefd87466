"""The registry of APIs."""

from collections.abc import Iterator

import pytest

from kafka_lagoon.protocol.apis import APIS, api_name
from kafka_lagoon.wire.schema import Array, Nested, Versions, fields_of


def test_keys() -> None:
    """Every API is found by its key, and has the name that Kafka gives the key."""
    for key, api in APIS.items():
        assert api.key == key
        assert api_name(key) == api.name


def test_sides_belong_together() -> None:
    """Request and response of an API carry the same name."""
    for api in APIS.values():
        assert api.response.__name__ == f"{api.name}Response"


def _without_version(cls: type, versions: Versions) -> Iterator[str]:
    """Fields of a message and its structs that none of these versions has."""
    for field in fields_of(cls):
        if not any(field.spec.present(version) for version in versions):
            yield f"{cls.__name__}.{field.name}"
        kind = field.kind.item if isinstance(field.kind, Array) else field.kind
        if isinstance(kind, Nested):
            yield from _without_version(kind.cls, versions)


def test_every_field_is_in_a_version() -> None:
    """A field that is added for a new version needs that version in the range of its API."""
    sides = [(side, api.versions) for api in APIS.values() for side in (api.request, api.response)]
    assert [name for side, versions in sides for name in _without_version(side, versions)] == []


@pytest.mark.parametrize(
    ("key", "name"), [(0, "Produce"), (1, "Fetch"), (18, "ApiVersions"), (75, "DescribeTopicPartitions")]
)
def test_names(key: int, name: str) -> None:
    """APIs that we do not implement have names, too."""
    assert api_name(key) == name


@pytest.mark.parametrize("key", [-1, 95, 32767])
def test_unknown_keys(key: int) -> None:
    """A key without a name is shown as a number."""
    assert api_name(key) == f"UNKNOWN_API_{key}"
