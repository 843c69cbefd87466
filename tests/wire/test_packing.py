"""Structs that are kept by column are encoded to the same bytes as messages."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_lagoon.errors import EncodeError
from kafka_lagoon.protocol.messages.list_offsets import (
    LIST_OFFSETS,
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from kafka_lagoon.wire.columns import by_column
from kafka_lagoon.wire.reading import decode
from kafka_lagoon.wire.schema import Int16, struct, wire
from kafka_lagoon.wire.writing import encode

requested = st.lists(st.tuples(st.text(max_size=9), st.lists(st.integers(0, 2**31 - 1), max_size=5)), max_size=5)


def request(topics: Sequence[tuple[str, Sequence[int]]], max_num_offsets: int = 1) -> ListOffsetsRequest:
    made = tuple(
        ListOffsetsTopic(
            name=name,
            partitions=tuple(
                ListOffsetsPartition(partition_index=index, timestamp=-index, max_num_offsets=max_num_offsets)
                for index in some
            ),
        )
        for name, some in topics
    )
    return ListOffsetsRequest(topics=made)


@given(topics=requested, version=st.sampled_from(list(LIST_OFFSETS.versions)))
def test_columns_are_written_as_messages_are(topics: list[tuple[str, list[int]]], version: int) -> None:
    """In every version the bytes are the same, and also after they are decoded and encoded again."""
    message, flexible = request(topics), LIST_OFFSETS.is_flexible(version)
    frame = encode(message, version, flexible)
    message.topics = by_column(message.topics, ListOffsetsTopic)
    assert encode(message, version, flexible) == frame
    read = decode(ListOffsetsRequest, version, flexible, frame)
    assert encode(read, version, flexible) == frame


@struct
class Narrow:
    """Two numbers, the second of which later versions lack."""

    number: Int16
    early: Int16 = wire(until=0, default=1)


@struct
class Around:
    """An array of them."""

    items: Sequence[Narrow]


@pytest.mark.parametrize("by", [tuple, lambda some: by_column(some, Narrow)])
def test_what_cannot_be_written_is_named(by: object) -> None:
    """A number out of range, and a field that the version lacks, are refused as for messages."""
    assert callable(by)
    with pytest.raises(EncodeError, match=r"Narrow\.number"):
        encode(Around(items=by((Narrow(number=1 << 20),))), 0, True)
    with pytest.raises(EncodeError, match=r"Narrow\.early: this version has no such field"):
        encode(Around(items=by((Narrow(number=1, early=2),))), 1, True)
