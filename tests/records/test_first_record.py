"""The first record at or after an offset is found as by the reference decoder; if there is none, the result says why."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_lagoon.records.first_record import FirstRecord, NoRecord, UnreadableBatch, first_record
from tests.records.examples import (
    ABORT,
    CONTROL,
    GZIP,
    LOG_APPEND_TIME,
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
from tests.records.test_legacy import compressed, message
from tests.reference import answers

DELETE_HORIZON = 0x40
CODECS = (NONE, GZIP, SNAPPY, LZ4, ZSTD)
TEN = tuple(Record(delta=delta, time_delta=10 * delta, value=b"v" * 50) for delta in range(10))


def first(log: Sequence[Batch], offset: int, **options) -> FirstRecord | NoRecord | UnreadableBatch:
    return first_record(memoryview(b"".join(batch.write() for batch in log)), offset, **options)


@given(data=st.data(), log=logs())
def test_equal_to_the_reference(data: st.DataObject, log: list[Batch]) -> None:
    """The result is the first row of the reference decoder for the same bytes; without rows it is the next offset to read."""
    begin, end = (log[0].base_offset, log[-1].last_offset + 5) if log else (0, 10)
    offset = data.draw(st.integers(max(0, begin - 3), end))
    aborted = data.draw(st.lists(st.tuples(st.integers(0, 3), st.integers(begin, end)), max_size=3))
    expected = answers.decode(
        b"".join(batch.write() for batch in log), from_offset=offset, to_offset=2**62, aborted=aborted
    )
    result = first(log, offset, aborted=aborted)
    if expected.rows:
        row = expected.rows[0]
        assert result == FirstRecord(row["offset"], row["timestamp_ms"], row["timestamp_type"])
    else:
        assert result == NoRecord(expected.next_offset)


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("offset", [4, 5, 9, 14])
def test_every_codec(codec: int, offset: int) -> None:
    """It is the record at the offset, or the first record of a batch that begins later."""
    batch = Batch(base_offset=5, records=TEN, codec=codec, base_time=1_000)
    record = max(offset, 5)
    assert first([batch], offset) == FirstRecord(record, 1_000 + 10 * (record - 5), 0)


@pytest.mark.parametrize("codec", CODECS)
def test_the_time_of_the_log(codec: int) -> None:
    """All records of a batch have its log append time, even if compaction has removed some of them."""
    batch = Batch(base_offset=5, records=TEN, codec=codec, base_time=1_000, max_time=7_777, flags=LOG_APPEND_TIME)
    assert [first([batch], offset) for offset in (3, 8)] == [FirstRecord(5, 7_777, 1), FirstRecord(8, 7_777, 1)]
    thinned = Batch(base_offset=5, records=(TEN[0], TEN[9]), codec=codec, max_time=7_777, flags=LOG_APPEND_TIME)
    assert first([thinned], 8) == FirstRecord(14, 7_777, 1)


def test_gaps_markers_and_aborted_transactions_are_passed() -> None:
    """The record after them is found; if it is not in the response, the result is the next offset to read."""
    aborted = Batch(base_offset=0, records=TEN, flags=TRANSACTIONAL, producer_id=7)
    gap = Batch(base_offset=11, records=(), last_delta=8, count=0)
    end, after = marker(10, 7, ABORT), Batch(base_offset=20, records=TEN, base_time=5)
    assert first([aborted, end, gap, after], 3, aborted=[(7, 0)]) == FirstRecord(20, 5, 0)
    assert first([aborted, end, gap], 3, aborted=[(7, 0)]) == NoRecord(20)
    assert first([aborted, end], 3) == FirstRecord(3, aborted.base_time + 30, 0)


@pytest.mark.parametrize("flags", [CONTROL | TRANSACTIONAL, CONTROL | TRANSACTIONAL | DELETE_HORIZON])
def test_a_control_batch_without_its_marker_is_passed(flags: int) -> None:
    """Compaction keeps it empty if it is the last batch of its producer; Kafka's consumers pass it, too."""
    empty = Batch(base_offset=10, last_delta=0, count=0, flags=flags, producer_id=7)
    assert first([empty, Batch(base_offset=11, records=TEN, base_time=5)], 10) == FirstRecord(11, 5, 0)
    assert first([empty], 3) == NoRecord(11)


@pytest.mark.parametrize("size", [17, 60, 61, 200])
def test_a_cut_batch_is_bounded_by_its_header(size: int) -> None:
    """If its header is complete, the largest timestamp is an upper bound, except in a control batch."""
    batch = Batch(base_offset=5, records=TEN, max_time=99)
    raw = marker(4, 1).write() + batch.write()[:size]
    assert first_record(memoryview(raw), 4) == NoRecord(5, 99 if size >= 61 else None)
    assert first_record(memoryview(raw), 8) == NoRecord(8, 99 if size >= 61 else None)
    control = Batch(base_offset=5, records=TEN, max_time=99, flags=CONTROL).write()[:100]
    assert first_record(memoryview(control), 4) == NoRecord(5)


def test_what_cannot_be_read_is_said() -> None:
    """The result has the reason, and the largest timestamp of the header if the header can be trusted."""
    good = Batch(base_offset=0, records=TEN, max_time=99)
    flipped = bytearray(good.write())
    flipped[-1] ^= 1
    assert first_record(memoryview(flipped), 0) == UnreadableBatch("CORRUPT_BATCH")
    assert first([Batch(base_offset=0, records=TEN, max_time=99, codec=ZSTD)], 0, limit_bytes=100) == UnreadableBatch(
        "EXPANDED_TOO_LARGE", 99
    )
    unknown = Batch(base_offset=0, records=TEN, max_time=99, flags=7)
    assert first([unknown], 0) == UnreadableBatch("UNSUPPORTED_CODEC", 99)
    control = Batch(base_offset=0, records=TEN, max_time=99, flags=CONTROL | 7)  # its time is that of no record
    assert first([control], 0) == UnreadableBatch("UNSUPPORTED_CODEC")
    short = Batch(base_offset=0, max_time=99, count=3, last_delta=5)
    assert first([short], 4) == UnreadableBatch("CORRUPT_BATCH")
    assert first([Batch(base_offset=-20, records=TEN)], 0) == UnreadableBatch("CORRUPT_BATCH")
    assert first([Batch(base_offset=0, records=TEN, last_delta=-1)], 0) == UnreadableBatch("CORRUPT_BATCH")
    assert first_record(memoryview(bytes(40)), 0) == UnreadableBatch("CORRUPT_BATCH")


def test_a_marker_whose_key_is_cut_off() -> None:
    """Its type is not known, so that it ends no transaction."""
    cut = marker(0, 7).around(b"\x10\0\0\0\x08\0\0")
    assert first_record(memoryview(cut), 0) == NoRecord(1)


def test_times_wrap_around_as_in_java() -> None:
    """The sum of a batch's time and a record's is a number of 64 bits."""
    assert first([Batch(base_offset=0, records=TEN, base_time=2**63 - 1)], 1) == FirstRecord(1, 9 - 2**63, 0)


@given(changes=st.lists(st.tuples(st.integers(0, 10_000), st.integers(0, 255)), min_size=1, max_size=8), log=logs())
def test_any_bytes_are_read_or_refused(changes: list[tuple[int, int]], log: list[Batch]) -> None:
    """Damaged bytes never raise, at any position."""
    raw = bytearray(b"".join(batch.write() for batch in log))
    for position, value in changes:
        if raw:
            raw[position % len(raw)] = value
    assert first_record(memoryview(raw), 0, limit_bytes=1 << 20) is not None


@pytest.mark.parametrize("magic", [0, 1])
def test_old_messages(magic: int) -> None:
    """Messages are read alone and in a compressed entry; those of magic 0 have no timestamp."""
    expected = (1_234, 0) if magic else (-1, -1)
    written = [message(offset, b"k", b"v", magic=magic, timestamp_ms=1_234) for offset in (3, 4)]
    assert first_record(memoryview(b"".join(written)), 4) == FirstRecord(4, *expected)
    assert first_record(memoryview(b"".join(written)), 5) == NoRecord(5)
    assert first_record(memoryview(written[0][:-1]), 3) == NoRecord(3)
    inside = [message(offset, b"k", b"v", magic=magic, timestamp_ms=1_234) for offset in ((3, 4), (0, 1))[magic]]
    assert first_record(memoryview(compressed(4, inside, magic=magic)), 4) == FirstRecord(4, *expected)
    nothing = message(3, None, None, magic=magic, timestamp_ms=1_234)
    assert first_record(memoryview(nothing), 3) == FirstRecord(3, *expected)
    damaged = written[0][:-1] + b"x"
    assert first_record(memoryview(damaged), 3) == UnreadableBatch("CORRUPT_BATCH")
