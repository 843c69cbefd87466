"""Encoding, rule by rule, to bytes written by hand."""

from typing import Any

import pytest

from kafka_lagoon.errors import EncodeError
from kafka_lagoon.wire.writing import encode
from tests.wire.examples import (
    Fetched,
    History,
    LaterNull,
    Legacy,
    Lengths,
    Nests,
    NullableLengths,
    Point,
    Scalars,
    Tagged,
)

CLASSIC, FLEXIBLE = False, True


def written(message: object, version: int, flexible: bool) -> str:
    """Return the bytes of a message in hexadecimal."""
    return encode(message, version, flexible).hex()


def refused(message: object, version: int = 0, flexible: bool = CLASSIC) -> EncodeError:
    """Return the error of encoding a message."""
    with pytest.raises(EncodeError) as caught:
        encode(message, version, flexible)
    return caught.value


def test_scalars() -> None:
    """Numbers are big-endian; ports and counts are unsigned; ids are raw bytes."""
    message = Scalars(flag=True, tiny=-1, small=-(2**15), port=2**16 - 1, quota=1.5, topic_id=bytes(15) + b"\x01")
    expected = "01 ff 8000 ffff 00000000 00000000 0000000000000000 3ff8000000000000" + "00" * 15 + "01"
    assert written(message, 0, CLASSIC) == expected.replace(" ", "")


@pytest.mark.parametrize(
    ("flexible", "spelled"),
    [
        (CLASSIC, "0002 6869 00000001 00 00000002 00000001 fffffffe 00000001 0001 61"),
        (FLEXIBLE, "03 6869 02 00 03 00000001 fffffffe 02 02 61 00"),
    ],
    ids=["classic", "compact"],
)
def test_lengths(flexible: bool, spelled: str) -> None:
    """Classic lengths have 2 bytes (strings) or 4; compact lengths are varints and one larger."""
    message = Lengths(text="hi", raw=b"\0", numbers=(1, -2), texts=("a",))
    assert written(message, 0, flexible) == spelled.replace(" ", "")


def test_null() -> None:
    """Null is a length of -1, or compact 0."""
    assert written(NullableLengths(), 0, CLASSIC) == "ffff" + "ffffffff" * 3
    assert written(NullableLengths(), 0, FLEXIBLE) == "00" * 5


def test_nullable_since_a_version() -> None:
    """Null is refused in versions before the one that permits it."""
    error = refused(LaterNull(name=None), 1)
    assert str(error) == "LaterNull v1: LaterNull.name: null where it is not allowed"
    assert written(LaterNull(name=None), 2, CLASSIC) == "ffff"


@pytest.mark.parametrize("field", ["text", "raw", "numbers", "texts"])
@pytest.mark.parametrize("flexible", [CLASSIC, FLEXIBLE])
def test_null_where_none_may_stand(field: str, flexible: bool) -> None:
    """Null is refused in every kind of required field, and the error names the field."""
    nothing: Any = None
    assert refused(Lengths(**{field: nothing}), 0, flexible).field == f"Lengths.{field}"


def test_null_in_an_array() -> None:
    """An item of an array is never null, and neither is a required struct."""
    nothing: Any = None
    assert refused(Lengths(texts=("a", nothing))).field == "Lengths.texts"
    refused(Nests(many=(nothing,)))
    refused(Nests(single=nothing))
    refused(Scalars(number=nothing))


def test_nullable_struct() -> None:
    """A byte comes before a nullable struct: -1 for null, 1 for a value (KIP-893)."""
    assert written(Nests(), 1, FLEXIBLE) == "00ff00 ff 01 00".replace(" ", "")
    assert written(Nests(maybe=Point(x=5, y=6)), 1, FLEXIBLE) == "00ff00 01050600 01 00".replace(" ", "")


def test_tags_that_have_their_default_are_left_out() -> None:
    """Tags ascend, each with its size; fields with their default are left out."""
    assert written(Tagged(plain=9), 1, FLEXIBLE) == "0900"
    message = Tagged(plain=9, early="hi", point=Point(x=5, y=6), points=(Point(x=7, y=8),), late=0x1234)
    expected = "09 04  00 03 03 6869  02 04 01 05 06 00  03 04 02 07 08 00  05 02 1234"
    assert written(message, 1, FLEXIBLE) == expected.replace(" ", "")


def test_a_tag_that_the_version_lacks() -> None:
    """A tagged field that the version lacks is left out if it is ignorable."""
    assert written(Tagged(plain=9, points=(Point(),)), 0, FLEXIBLE) == "0900"


def test_a_value_that_the_version_lacks() -> None:
    """A value other than the default is refused if the version lacks the field, unless the field is ignorable."""
    assert str(refused(History(added=1), 0)) == "History v0: History.added: this version has no such field"
    assert refused(History(removed="a"), 2).field == "History.removed"
    assert written(History(added=7, forgettable=1), 0, CLASSIC) == "000000"
    assert refused(Nests(many=(Point(y=3),)), 0).field == "Point.y"


def test_legacy_string() -> None:
    """The client id never has a compact length, the string after it does."""
    assert written(Legacy(classic="a", compact="b"), 0, FLEXIBLE) == "0001 61 02 62 00".replace(" ", "")
    assert written(Legacy(classic=None, compact=None), 0, FLEXIBLE) == "ffff0000"


def test_text_that_is_not_utf8() -> None:
    """Undecodable bytes that were read are encoded to the same bytes; other lone surrogates are refused."""
    assert written(Lengths(text="\udcff\udcfe"), 0, FLEXIBLE) == "03fffe01010100"
    assert refused(Lengths(text="\ud800")).field == "Lengths.text"


@pytest.mark.parametrize("flexible", [CLASSIC, FLEXIBLE])
def test_the_longest_string(flexible: bool) -> None:
    """A string has at most 32,767 bytes in both encodings: brokers limit compact ones, too."""
    encode(Lengths(text="x" * 32_767), 0, flexible)
    assert "32768 bytes" in refused(Lengths(text="x" * 32_768), 0, flexible).reason
    refused(Lengths(text="ü" * 16_384), 0, flexible)


def test_records() -> None:
    """Record data can be encoded from a view as from bytes."""
    view = memoryview(b"..records")[2:]
    assert encode(Fetched(records=view), 0, FLEXIBLE) == b"\x08records\0"
    assert encode(Fetched(records=None), 0, CLASSIC) == b"\xff\xff\xff\xff"


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("tiny", 128),
        ("small", -32_769),
        ("port", -1),
        ("port", 2**16),
        ("number", 2**31),
        ("count", -1),
        ("large", 2**63),
        ("quota", 10**400),
        ("topic_id", bytes(15)),
        ("topic_id", bytes(17)),
        ("number", "1"),
        ("number", 1.5),
    ],
)
def test_out_of_range(field: str, value: Any) -> None:
    """A value out of range is refused by name, also if it is packed together with other numbers."""
    assert refused(Scalars(**{field: value})).field == f"Scalars.{field}"


def test_wrong_types() -> None:
    """A value of another type is refused by name."""
    wrong: Any = 5
    for field in ("text", "raw", "numbers", "texts"):
        assert refused(Lengths(**{field: wrong})).field == f"Lengths.{field}"
