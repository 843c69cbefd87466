"""The fields of a class have the facts of their declarations."""

import pytest

from kafka_lagoon.protocol.messages.api_versions import API_VERSIONS
from kafka_lagoon.protocol.messages.describe_cluster import DESCRIBE_CLUSTER
from kafka_lagoon.wire.schema import Api, Array, Blob, Int32, Nested, Scalar, Text, Versions, fields_of, struct
from tests.wire.examples import Fetched, History, LaterNull, Lengths, Nests, NullableLengths, Point, Tagged


def test_order_and_kinds() -> None:
    """Fields are listed in the order of declaration, each with its kind."""
    assert [(field.name, field.kind) for field in fields_of(Lengths)] == [
        ("text", Text()),
        ("raw", Blob(view=False)),
        ("numbers", Array(Scalar("i", 0))),
        ("texts", Array(Text())),
    ]
    assert [field.kind for field in fields_of(Nests)] == [Nested(Point), Nested(Point), Array(Nested(Point))]
    assert [field.kind for field in fields_of(Fetched)] == [Blob(view=True)]


def test_presence() -> None:
    """A field exists from `since` to `until`, both inclusive."""
    present = {field.name: [v for v in range(4) if field.spec.present(v)] for field in fields_of(History)}
    assert present == {"always": [0, 1, 2, 3], "added": [2, 3], "removed": [0, 1], "forgettable": [2, 3]}


def test_nullability() -> None:
    """Null is valid if the type is nullable, since `nullable_since`."""
    (name,) = fields_of(LaterNull)
    assert [name.nullable(version) for version in range(4)] == [False, False, True, True]
    assert all(field.nullable(0) for field in fields_of(NullableLengths))
    assert not any(field.nullable(0) for field in fields_of(Lengths))


def test_defaults() -> None:
    """A field has its declared default, or else zero, empty, or a struct of defaults; null only if declared."""
    assert Lengths() == Lengths(text="", raw=b"", numbers=(), texts=())
    assert Nests() == Nests(single=Point(x=0, y=-1), maybe=None, many=())
    assert (History().added, LaterNull().name, Tagged().late) == (7, "", -1)


def test_defaults_are_not_shared() -> None:
    """Two messages do not share the struct that is their default."""
    assert Nests().single is not Nests().single


def test_messages_have_no_other_attributes() -> None:
    """A misspelt field is an error at run time, too."""
    with pytest.raises(AttributeError):
        Point().z = 1  # type: ignore[attr-defined]


def test_versions() -> None:
    """Both ends belong to a range; the common range of two ranges has the versions that are in both."""
    assert list(Versions(2, 4)) == [2, 3, 4]
    assert Versions(0, 4).common(Versions(2, 9)) == Versions(2, 4)
    assert Versions(0, 4).common(Versions(4, 9)) == Versions(4, 4)
    assert Versions(0, 4).common(Versions(5, 9)) is None


@struct
class PingRequest:
    """A request without fields."""

    number: Int32


def test_api() -> None:
    """An API has the name of its request, and is flexible since a version, or never."""
    never = Api(key=0, versions=Versions(0, 1), flexible=None, request=PingRequest, response=Point)
    assert never.name == "Ping"
    assert not any(never.is_flexible(version) for version in never.versions)
    assert [API_VERSIONS.is_flexible(version) for version in API_VERSIONS.versions] == [False] * 3 + [True] * 3
    assert all(DESCRIBE_CLUSTER.is_flexible(version) for version in DESCRIBE_CLUSTER.versions)
