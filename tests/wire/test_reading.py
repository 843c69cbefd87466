"""Decoding, rule by rule, from bytes written by hand."""

from typing import Any

import pytest

from kafka_lagoon.errors import DecodeError
from kafka_lagoon.wire.reading import decode, decode_start
from kafka_lagoon.wire.schema import keeps_views
from kafka_lagoon.wire.writing import encode
from tests.wire.examples import (
    Fetched,
    Haunted,
    History,
    LaterNull,
    Legacy,
    Lengths,
    ManyRepeats,
    Nests,
    NullableLengths,
    Point,
    Repeats,
    Scalars,
    Tagged,
)

CLASSIC, FLEXIBLE = False, True


def read(cls: type, version: int, flexible: bool, spelled: str) -> Any:
    """Decode the message in these hexadecimal bytes, which may have spaces."""
    return decode(cls, version, flexible, bytes.fromhex(spelled))


def refused(cls: type, version: int, flexible: bool, spelled: str) -> DecodeError:
    """Return the error of decoding these hexadecimal bytes."""
    with pytest.raises(DecodeError) as caught:
        read(cls, version, flexible, spelled)
    return caught.value


def test_scalars() -> None:
    """Numbers are big-endian; ports and counts are unsigned; any byte except 0 is true; ids are raw bytes."""
    spelled = "02 ff 8000 ffff 80000000 ffffffff 7fffffffffffffff 3ff8000000000000" + "00" * 15 + "01"
    assert read(Scalars, 0, CLASSIC, spelled) == Scalars(
        flag=True,
        tiny=-1,
        small=-(2**15),
        port=2**16 - 1,
        number=-(2**31),
        count=2**32 - 1,
        large=2**63 - 1,
        quota=1.5,
        topic_id=bytes(15) + b"\x01",
    )


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
    assert read(Lengths, 0, flexible, spelled) == Lengths(text="hi", raw=b"\0", numbers=(1, -2), texts=("a",))


@pytest.mark.parametrize("flexible", [CLASSIC, FLEXIBLE])
def test_equal_arrays_are_one(flexible: bool) -> None:
    """Equal arrays of numbers are one object, also of two messages, and the latest ones are kept if there are many."""

    def numbers_of(*numbers: int) -> Any:
        frame = encode(Lengths(text="", raw=b"", numbers=numbers, texts=()), 0, flexible)
        return decode(Lengths, 0, flexible, frame).numbers

    assert numbers_of(7, 8) is numbers_of(7, 8)
    assert [numbers_of(number, 1) for number in range(25_000)] == [(number, 1) for number in range(25_000)]
    assert numbers_of(24_999, 1) is numbers_of(24_999, 1)
    assert numbers_of(*range(100)) == tuple(range(100))


def test_a_view_of_a_frame() -> None:
    """From a view, text and bytes are copied; only record data is a view of the frame."""
    frame = memoryview(
        bytearray.fromhex("0002 6869 00000001 00 00000002 00000001 fffffffe 00000001 0001 61")
    ).toreadonly()
    decoded = decode(Lengths, 0, CLASSIC, frame)
    assert decoded == Lengths(text="hi", raw=b"\0", numbers=(1, -2), texts=("a",))
    assert type(decoded.raw) is bytes
    records = decode(Fetched, 0, CLASSIC, memoryview(bytearray(b"\0\0\0\1a"))).records
    assert isinstance(records, memoryview)
    assert keeps_views(Fetched)
    assert not keeps_views(Lengths)


@pytest.mark.parametrize(
    ("flexible", "spelled"),
    [(CLASSIC, "ffff ffffffff ffffffff ffffffff"), (FLEXIBLE, "00 00 00 00 00")],
    ids=["classic", "compact"],
)
def test_null(flexible: bool, spelled: str) -> None:
    """A length of -1, or compact 0, is null if the field is nullable, and refused otherwise."""
    assert read(NullableLengths, 0, flexible, spelled) == NullableLengths()
    assert "null where it is not allowed" in str(refused(Lengths, 0, flexible, spelled))


def test_null_is_any_negative_length() -> None:
    """Kafka treats every negative length as null."""
    assert read(NullableLengths, 0, CLASSIC, "8000 80000000 fffffffe fffffffd") == NullableLengths()


def test_empty_is_not_null() -> None:
    """An empty value is not null."""
    expected = NullableLengths(text="", raw=b"", numbers=(), texts=())
    assert read(NullableLengths, 0, CLASSIC, "0000 00000000 00000000 00000000") == expected
    assert read(NullableLengths, 0, FLEXIBLE, "01 01 01 01 00") == expected


def test_null_in_an_array() -> None:
    """An item of an array is never null."""
    refused(Lengths, 0, CLASSIC, "0000 00000000 00000000 00000001 ffff")
    refused(Lengths, 0, FLEXIBLE, "01 01 01 02 00 00")


def test_nullable_since_a_version() -> None:
    """Null is refused in versions before the one that permits it."""
    assert read(LaterNull, 0, CLASSIC, "") == LaterNull(name="")
    assert "LaterNull.name" in str(refused(LaterNull, 1, CLASSIC, "ffff"))
    assert read(LaterNull, 2, CLASSIC, "ffff") == LaterNull(name=None)


@pytest.mark.parametrize(
    ("marker", "expected"),
    [("ff", None), ("80", None), ("00 05 06 00", Point(x=5, y=6)), ("01 05 06 00", Point(x=5, y=6))],
)
def test_nullable_struct(marker: str, expected: Point | None) -> None:
    """A byte comes before a nullable struct, negative for null (KIP-893); a required struct has none."""
    decoded = read(Nests, 1, FLEXIBLE, f"01 02 00 {marker} 02 03 04 00 00")
    assert decoded == Nests(single=Point(x=1, y=2), maybe=expected, many=(Point(x=3, y=4),))


def test_absent_fields() -> None:
    """A field that the version lacks has its default, not zero, also inside structs."""
    assert read(History, 0, CLASSIC, "01 0001 61") == History(always=1, added=7, removed="a", forgettable=7)
    assert read(Nests, 0, CLASSIC, "01 ff 00000001 02") == Nests(single=Point(x=1, y=-1), many=(Point(x=2, y=-1),))


def test_tags() -> None:
    """Tagged fields are read by their tags; missing fields have their default."""
    assert read(Tagged, 1, FLEXIBLE, "09 00") == Tagged(plain=9)
    decoded = read(Tagged, 1, FLEXIBLE, "09 04  00 03 03 6869  02 04 01 05 06 00  03 04 02 07 08 00  05 02 1234")
    assert decoded == Tagged(plain=9, early="hi", point=Point(x=5, y=6), points=(Point(x=7, y=8),), late=0x1234)


def test_unknown_tags_are_skipped_by_their_size() -> None:
    """Unknown tags are skipped before, between and after known tags, empty or large."""
    spelled = "09 04  01 00  05 02 0001  06 03 aabbcc  ff01 8101" + "00" * 129
    assert read(Tagged, 1, FLEXIBLE, spelled) == Tagged(plain=9, late=1)


def test_a_tag_of_a_later_version_is_unknown() -> None:
    """A tag that exists from version 1 on is skipped in version 0."""
    assert read(Tagged, 0, FLEXIBLE, "09 01 03 02 ffff") == Tagged(plain=9)


@pytest.mark.parametrize(
    ("tags", "why"),
    [
        ("02 06 00 05 02 0001", "tag 5 after tag 6"),
        ("02 05 02 0001 05 02 0002", "tag 5 after tag 5"),
        ("01 05 03 000102", "tag 5 claims 3 bytes, its value has 2"),
        ("01 05 01 00", "the bytes end here"),
        ("02 05 01 0001 00", "tag 5 claims 1 bytes, its value has 2"),
        ("01 07 ffffffff0f", "tag 7 claims 4294967295 bytes"),
        ("02 06 00", "the bytes end here"),
        ("ffffffff0f", "the bytes end here"),
    ],
)
def test_broken_tags(tags: str, why: str) -> None:
    """Tags must ascend, and the size of each must be the size of its value."""
    assert why in str(refused(Tagged, 1, FLEXIBLE, f"09 {tags}"))


def test_legacy_string() -> None:
    """The client id never has a compact length, the string after it does."""
    assert read(Legacy, 0, FLEXIBLE, "0001 61 02 62 00") == Legacy(classic="a", compact="b")
    assert read(Legacy, 0, FLEXIBLE, "ffff 00 00") == Legacy(classic=None, compact=None)


def test_text_that_is_not_utf8() -> None:
    """Bytes that are not UTF-8 are kept: a request may have to name the group with them."""
    (decoded,) = read(Lengths, 0, FLEXIBLE, "01 01 01 02 03 fffe 00").texts
    assert decoded.encode("utf-8", "surrogateescape") == b"\xff\xfe"


def test_records_are_not_copied() -> None:
    """Record data is a view of the frame, and null differs from empty."""
    frame = bytes.fromhex("05 0a0b0c0d 00")
    records = decode(Fetched, 0, FLEXIBLE, frame).records
    assert isinstance(records, memoryview)
    assert (records.obj is frame, bytes(records)) == (True, b"\x0a\x0b\x0c\x0d")
    assert read(Fetched, 0, CLASSIC, "ffffffff").records is None
    assert read(Fetched, 0, CLASSIC, "00000000").records == b""


@pytest.mark.parametrize(
    ("flexible", "spelled"),
    [
        (CLASSIC, "7fff 61"),
        (CLASSIC, "0000 7fffffff 61"),
        (CLASSIC, "0000 00000000 7fffffff 00000001"),
        (CLASSIC, "0000 00000000 00000000 7fffffff 0000"),
        (FLEXIBLE, "ffffffff0f 61"),
        (FLEXIBLE, "01 ffffffff07 61"),
        (FLEXIBLE, "01 01 ffffffff07 00000001"),
        (FLEXIBLE, "01 01 01 8080808008 01"),
    ],
)
def test_impossible_lengths(flexible: bool, spelled: str) -> None:
    """A length beyond the end of the bytes is refused before anything is read."""
    error = refused(Lengths, 0, flexible, spelled)
    assert error.position <= len(bytes.fromhex(spelled))
    assert "Lengths." in error.reason


def test_many_of_nothing() -> None:
    """The count of structs that have no bytes is limited, too."""
    assert "an array of 2147483647 items" in str(refused(Haunted, 0, CLASSIC, "7fffffff"))


def test_varint_of_more_than_five_bytes() -> None:
    """A compact length has at most five bytes."""
    assert "more than five bytes" in str(refused(Lengths, 0, FLEXIBLE, "808080808001"))


@pytest.mark.parametrize("count", [0, 1, 62, 63, 64, 65, 126, 127, 128, 1000])
def test_long_arrays_of_numbers(count: int) -> None:
    """Short and long arrays of numbers, which are read in different ways, give the same numbers."""
    numbers = tuple(range(-5, count - 5))
    body = b"".join(number.to_bytes(4, "big", signed=True) for number in numbers)
    compact = bytes([count + 1]) if count < 127 else bytes([(count + 1) % 128 + 128, (count + 1) // 128])
    classic = b"\0\0" + bytes(4) + count.to_bytes(4, "big") + body + bytes(4)
    assert decode(Lengths, 0, CLASSIC, classic).numbers == numbers
    assert decode(Lengths, 0, FLEXIBLE, b"\x01\x01" + compact + body + b"\x01\0").numbers == numbers


def test_errors_say_where() -> None:
    """An error names message, version, byte and field, also inside nested structs."""
    error = refused(Nests, 1, CLASSIC, "01 02 ff 00000001 03")
    assert (error.message, error.version, error.position) == ("Nests", 1, 7)
    assert str(error) == "Nests v1 at byte 7: Point.x: the bytes end here"


def test_left_over() -> None:
    """Bytes after a message are refused, with their number."""
    assert "2 bytes left over" in str(refused(Point, 0, CLASSIC, "01 02 03"))


def test_the_start_of_something_longer() -> None:
    """If other data follow a message, the position after it is returned, too."""
    assert decode_start(Point, 1, CLASSIC, b"..\x01\x02..", 2) == (Point(x=1, y=2), 4)
    with pytest.raises(DecodeError):
        decode_start(Point, 1, CLASSIC, b"..\x01", 2)


@pytest.mark.parametrize("flexible", [CLASSIC, FLEXIBLE])
def test_values_that_repeat(flexible: bool) -> None:
    """Equal bytes give the same object, others their own, even with an equal beginning or more values than are kept."""
    lists = [(1, 2), (), (1, 2, 3), (1,), *((number, 1) for number in range(40)), (1, 2), (39, 1), ()]
    message = ManyRepeats(items=tuple(Repeats(points=one) for one in lists), last=7)
    sent = encode(message, 0, flexible)
    for _ in range(2):
        read = decode(ManyRepeats, 0, flexible, sent)
        assert [one.points for one in read.items] == lists
        assert read.last == 7
        assert read.items[-2].points is read.items[-4].points
        assert decode(ManyRepeats, 0, flexible, memoryview(sent)) == read
    for length in range(len(sent)):
        with pytest.raises(DecodeError):
            decode(ManyRepeats, 0, flexible, sent[:length])
