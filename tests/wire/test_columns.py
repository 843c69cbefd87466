"""Arrays of structs that are read in columns equal the same messages, with any texts and tags."""

from array import array
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_lagoon.errors import DecodeError
from kafka_lagoon.protocol.messages.offset_fetch import (
    OFFSET_FETCH,
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartition,
    OffsetFetchResponseTopic,
)
from kafka_lagoon.wire.columns import Lists, Structs, by_column
from kafka_lagoon.wire.reading import decode
from kafka_lagoon.wire.schema import Int16, Int32, String, struct, wire
from kafka_lagoon.wire.writing import encode


@struct
class Plain:
    """The fields of `OffsetFetchResponsePartition`, read as messages."""

    partition_index: Int32
    metadata: String | None = wire(default=None)
    error_code: Int16


@struct
class Many:
    """An array that is read by column."""

    items: Sequence[Plain]


@struct
class Few:
    """The same bytes, read as messages."""

    items: tuple[Plain, ...]


items = st.lists(
    st.builds(
        Plain,
        partition_index=st.integers(-(2**31), 2**31 - 1),
        metadata=st.none() | st.just("") | st.just("") | st.text(max_size=200),
        error_code=st.integers(-3, 3),
    ),
    max_size=12,
).map(tuple)


@given(items=items, repeated=st.integers(1, 60), flexible=st.booleans())
def test_columns_are_the_messages(items: tuple[Plain, ...], repeated: int, flexible: bool) -> None:
    """This holds for short and long texts, nulls, and more structs than are unpacked at once."""
    message = Many(items=items * repeated)
    frame = encode(message, 0, flexible)
    assert frame == encode(Few(items=items * repeated), 0, flexible)
    read = decode(Many, 0, flexible, frame)
    assert read == message
    assert tuple(read.items) == decode(Few, 0, flexible, frame).items
    assert encode(read, 0, flexible) == frame
    assert encode(Many(items=by_column(message.items, Plain)), 0, flexible) == frame


@given(items=items, cut=st.integers(0, 400), flexible=st.booleans())
def test_short_bytes_are_refused_at_the_same_place(items: tuple[Plain, ...], cut: int, flexible: bool) -> None:
    """The error has the struct, field and position that it has for messages."""
    frame = encode(Few(items=items), 0, flexible)[:cut]
    outcomes = []
    for cls in (Many, Few):
        try:
            outcomes.append(tuple(decode(cls, 0, flexible, frame).items))
        except DecodeError as refused:
            outcomes.append((refused.position, refused.reason.replace(cls.__name__, "")))
    assert outcomes[0] == outcomes[1]


def test_tags_are_passed_over() -> None:
    """An unknown tag in a struct makes decoding slower, and changes nothing."""
    plain = bytes.fromhex("03  00000001 01 0000 00  00000002 00 0000")
    tagged = plain + bytes.fromhex("01 05 02 aabb") + b"\0"
    read = decode(Many, 0, True, tagged)
    assert list(read.items) == [
        Plain(partition_index=1, metadata="", error_code=0),
        Plain(partition_index=2, metadata=None, error_code=0),
    ]


def _groups(commits: Sequence[Sequence[Sequence[int]]]) -> tuple[OffsetFetchResponseGroup, ...]:
    return tuple(
        OffsetFetchResponseGroup(
            group_id=f"g{number}",
            topics=tuple(
                OffsetFetchResponseTopic(
                    name=f"t{place}",
                    partitions=tuple(
                        OffsetFetchResponsePartition(
                            partition_index=at, committed_offset=offset, metadata="", error_code=0
                        )
                        for at, offset in enumerate(offsets)
                    ),
                )
                for place, offsets in enumerate(topics)
            ),
            error_code=number,
        )
        for number, topics in enumerate(commits)
    )


nested = st.lists(st.lists(st.lists(st.integers(-1, 2**62), max_size=4), max_size=3), max_size=4)


@given(commits=nested, version=st.sampled_from([8, 9]))
def test_arrays_in_arrays_are_one_column(commits: list[list[list[int]]], version: int) -> None:
    """The structs of all arrays are in the same columns, with the length of each array, decoded or made by hand."""
    message = OffsetFetchResponse(groups=_groups(commits))
    read = decode(OffsetFetchResponse, version, True, encode(message, version, True))
    assert read == message
    for groups in (read.groups, message.groups):
        columns = by_column(groups, OffsetFetchResponseGroup)
        topics = columns.lists("topics")
        offsets = topics.items.lists("partitions").items.column("committed_offset")
        assert list(columns.column("group_id")) == [f"g{number}" for number in range(len(commits))]
        assert list(topics.counts) == [len(some) for some in commits]
        assert list(offsets) == [offset for some in commits for one in some for offset in one]
    assert isinstance(read.groups[:1], Structs)
    assert read.groups[:1] == message.groups[:1]
    assert OFFSET_FETCH.is_flexible(version)


def test_numbers_are_kept_as_numbers() -> None:
    """A column of numbers is an array, without an object for each number."""
    read = decode(Many, 0, True, encode(Many(items=(Plain(partition_index=7, error_code=-1),)), 0, True))
    assert isinstance(read.items, Structs)
    assert read.items.column("partition_index") == array("i", [7])
    assert read.items.column("error_code") == array("h", [-1])
    assert read.items[0] == Plain(partition_index=7, error_code=-1)
    assert repr(read.items) == repr((Plain(partition_index=7, error_code=-1),))


def test_tagged_fields_are_not_read_by_column() -> None:
    """A class with a tagged field cannot be read by column: composing the reader raises TypeError."""

    @struct
    class Inner:
        """A struct."""

        number: Int32 = wire(tag=0, default=0)

    @struct
    class Outer:
        """An array of it."""

        items: Sequence[Inner]

    with pytest.raises(TypeError, match="Inner has a tagged field"):
        decode(Outer, 0, True, b"\1\0")


def test_lists_can_be_sliced() -> None:
    """Lists can be sliced like any sequence."""
    lists = Lists([1, 2], Structs(Plain, 3, [[1, 2, 3], ["", "", ""], [0, 0, 0]]))
    assert [len(one) for one in lists[:2]] == [1, 2]
    assert lists[1][1].partition_index == 3
