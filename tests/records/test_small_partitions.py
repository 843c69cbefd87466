"""Several logs are decoded into the same columns as by the reference decoder one by one, or refused."""

from collections.abc import Sequence
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafka_lagoon.fetch.batch_headers import trusted_end
from kafka_lagoon.records import arena
from kafka_lagoon.records.batches import find_batches
from kafka_lagoon.records.decoding import Counts, DecodeOptions
from kafka_lagoon.records.small_partitions import SharedColumns
from tests.effort import examples
from tests.records.examples import (
    COMMIT,
    CONTROL,
    GZIP,
    LZ4,
    NONE,
    SNAPPY,
    TRANSACTIONAL,
    ZSTD,
    Batch,
    Record,
    logs,
    marker,
)
from tests.reference import answers

FULL_RANGE = {"aborted": (), "stable_end": 2**62}


def written(log: Sequence[Batch]) -> bytes:
    return b"".join(batch.write() for batch in log)


def shared(options: DecodeOptions | None = None, *, read_committed: bool = True) -> SharedColumns:
    return SharedColumns(options or DecodeOptions(), read_committed=read_committed)


def records(count: int, start: int = 0, **values) -> tuple[Record, ...]:
    return tuple(Record(delta=number, value=b"%d" % (start + number), **values) for number in range(count))


def add(columns: SharedColumns, *log: Batch, start: int = 0, end: int | None = None) -> Counts | None:
    return columns.add(find_batches(written(log)), start, log[-1].last_offset + 1 if end is None else end)


def values(columns: SharedColumns) -> list[bytes]:
    arrow_batch = columns.take()
    return arrow_batch["value"].to_pylist() if arrow_batch else []


@settings(max_examples=examples(60), deadline=None)
@given(st.data(), st.lists(logs(), min_size=1, max_size=4), st.booleans())
def test_equal_to_the_reference(data, some, read_committed):
    """Partitions of any log are decoded and counted as if alone, or refused, and no row of a refused partition is kept."""
    columns, expected = shared(read_committed=read_committed), []
    for log in filter(None, some):
        batches = find_batches(written(log))
        end = trusted_end(batches, 2**62)
        start = data.draw(st.integers(0, max(end - 1, 0)))
        if end < 1 or start >= (end := data.draw(st.integers(start + 1, end))):
            continue
        counts = columns.add(batches, start, end)
        alone = answers.decode(
            written(log), from_offset=start, to_offset=end, read_committed=read_committed, aborted=(), stable_end=2**62
        )
        if counts is not None:
            expected += alone.rows
            assert {name: getattr(counts, name) for name in alone.counts} == alone.counts
            assert (alone.next_offset, alone.problems) == (end, [])
    arrow_batch = columns.take()
    assert (arrow_batch.to_pylist() if arrow_batch else []) == expected
    if arrow_batch:
        arrow_batch.validate(full=True)


@pytest.mark.parametrize("codec", [NONE, GZIP, SNAPPY, LZ4, ZSTD])
def test_plain_partitions_are_taken(codec):
    """Every codec, ranges that begin and end within a batch, and committed transactions with their markers are accepted."""
    columns = shared()
    plain = [Batch(records=records(3), codec=codec), Batch(base_offset=3, records=records(3, 3), codec=codec)]
    assert add(columns, *plain, start=1, end=5).records == 4
    ended = [Batch(base_offset=7, records=records(2, 7), codec=codec, flags=TRANSACTIONAL, producer_id=4)]
    ended += [marker(9, 4, COMMIT)]
    counts = add(columns, *ended, start=7)
    assert (counts.records, counts.control, counts.offsets()) == (2, 1, 3)
    assert values(columns) == [b"1", b"2", b"3", b"4", b"7", b"8"]
    assert values(columns) == []


def damaged(batch: Batch) -> bytes:
    data = bytearray(batch.write())
    data[-1] ^= 0xFF
    return bytes(data)


def test_what_is_not_plain_is_refused_whole():
    """After a bad checksum, record, codec, header key or end no row of the partition is kept; rows of others are complete."""
    first = Batch(records=(Record(delta=0, value=None), Record(delta=1, key=b"k", value=b"bad")))
    second = Batch(base_offset=2, records=records(2, 2))
    odd = [
        first.write() + damaged(second),
        first.write() + Batch(base_offset=2, records=records(2), count=3).write(),
        first.write() + Batch(base_offset=2, last_delta=1, codec=ZSTD).around(b"no frame"),
        first.write() + Batch(base_offset=2, records=records(2, headers=((b"\xff", b""),))).write(),
        first.write() + Batch(base_offset=2, records=records(1)).write(),
        first.write() + Batch(base_offset=2, records=records(2), flags=CONTROL).write(),
    ]
    columns = shared()
    for data in odd:
        assert add(columns, Batch(records=records(1))).records == 1
        assert columns.add(find_batches(data), 0, 4) is None
    assert values(columns) == [b"0"] * len(odd)


def test_flags_of_transactions_are_for_others():
    """With read_uncommitted a partition is refused, because the flag of a record depends on more than its batch."""
    log = [Batch(records=records(2), flags=TRANSACTIONAL, producer_id=4)]
    assert add(shared(read_committed=False), *log) is None
    assert add(shared(), *log).records == 2


def test_headers_are_enough_to_count():
    """Without columns of records only batches that a range cuts are decompressed, and every record is counted."""
    columns = shared(DecodeOptions(columns=frozenset()))
    with patch.object(arena.Arena, "expand", side_effect=AssertionError):
        assert add(columns, Batch(records=records(5), codec=ZSTD)).records == 5
    cut = Batch(base_offset=2, records=records(3), codec=ZSTD)
    assert add(columns, Batch(records=records(2), codec=ZSTD), cut, start=1, end=4).records == 3
    assert columns.take().num_rows == 8


def test_what_has_no_room_is_refused():
    """A partition that does not fit into the remaining buffers is refused; `is_full` says when to empty them."""
    columns = shared(DecodeOptions(expanded_bytes=80))
    small, large = Batch(records=records(5)), Batch(records=records(50))
    assert not columns.is_full
    assert add(columns, small).records == 5
    assert columns.is_full
    assert add(columns, large) is None
    assert len(values(columns)) == 5
    assert add(columns, small).records == 5


def test_rows_without_a_column():
    """Partitions that are only counted have their number of rows, and no rows of earlier ones."""
    columns = shared(DecodeOptions(columns=frozenset()))
    for count in (2, 3):
        add(columns, Batch(records=records(count)))
    (taken, rest) = columns.take(), columns.take()
    assert taken is not None
    assert (taken.num_rows, taken.num_columns, rest) == (5, 0, None)
