"""Batches are found in fetched bytes: complete ones, a batch that is cut off, and bytes that are no batch."""

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_lagoon.records import layout
from kafka_lagoon.records.batches import find_batches
from tests.records.examples import Batch, Record, logs
from tests.records.test_legacy import compressed, message
from tests.reference.batches import header, split

BATCH = Batch(base_offset=7, records=(Record(delta=0), Record(delta=2))).write()


def test_nothing_is_no_batch():
    """An empty response has no batches, no next offset, and no error."""
    batches = find_batches(b"")
    assert (batches.count, batches.next_offset, batches.needed_bytes, batches.broken_at) == (0, None, 0, None)


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
def test_any_buffer(kind):
    """Fetched bytes are read in place from any type of buffer."""
    batches = find_batches(kind(BATCH * 2))
    assert (batches.count, batches.next_offset) == (2, 10)


@pytest.mark.parametrize("size", range(1, len(BATCH)))
def test_a_cut_batch_is_asked_for_again(size):
    """If the first batch is cut off, its size is known; a later one is left for the next response."""
    first = find_batches(BATCH[:size])
    assert (first.count, first.broken_at) == (0, None)
    assert first.needed_bytes == (len(BATCH) if size >= 12 else layout.BATCH_HEADER_SIZE)
    later = find_batches(BATCH + BATCH[:size])
    assert (later.count, later.needed_bytes, later.broken_at, later.next_offset) == (1, 0, None, 10)


def test_the_smallest_message_that_is_cut_off():
    """One of magic 0 without a key and a value has 14 bytes after its length."""
    smallest = message(7, None, None, magic=0)
    cut = find_batches(smallest[:-1])
    assert (cut.count, cut.needed_bytes, cut.broken_at) == (0, 12 + 14, None)
    assert find_batches(smallest).count == 1


@pytest.mark.parametrize("length", [-(2**31), -1, 0, 13])
def test_an_impossible_length_is_no_batch(length):
    """Nothing is read after an impossible length."""
    batches = find_batches(BATCH + BATCH[:8] + struct.pack(">i", length) + BATCH[12:] + BATCH)
    assert (batches.count, batches.broken_at, batches.needed_bytes) == (1, len(BATCH), 0)


@given(logs(), st.binary(max_size=80), st.data())
def test_entries_hold_what_headers_hold(log, tail, data):
    """The table has every batch in order, as the reference decoder reads it, whether or not the last one is cut off."""
    raw = b"".join(batch.write() for batch in log) + tail
    raw = raw[: data.draw(st.integers(0, len(raw)))]
    batches, headers = find_batches(raw), [header(entry) for entry in split(raw)]
    assert batches.table[:, layout.SIZE].tolist() == [len(one.raw) for one in headers]
    assert batches.table[:, layout.BASE_OFFSET].tolist() == [one.base_offset for one in headers]
    assert batches.table[:, layout.LAST_OFFSET].tolist() == [one.last_offset for one in headers]
    assert batches.table[:, layout.MAGIC].tolist() == [one.magic for one in headers]
    pairs = zip(batches.table, headers, strict=True)
    for entry, expected in ((entry, one) for entry, one in pairs if one.magic == 2 and one.is_possible):
        assert entry[layout.LEADER_EPOCH] == expected.leader_epoch
        assert entry[layout.COUNT] == expected.count
        assert (entry[layout.BASE_TIMESTAMP], entry[layout.MAX_TIMESTAMP]) == (
            expected.base_timestamp,
            expected.max_timestamp,
        )
        assert (entry[layout.PRODUCER_ID], entry[layout.PRODUCER_EPOCH]) == (
            expected.producer_id,
            expected.producer_epoch,
        )
        assert entry[layout.ATTRIBUTES] & 0xFFFF == expected.attributes & 0xFFFF


@pytest.mark.parametrize(
    ("last_delta", "next_base", "last_offset"),
    [
        *[(2, 8, 9), (2, 9, 8), (2, 10, 9), (2, 12, 9)],  # too large for the next base offset: it ends before that
        *[
            (1, 9, 8),
            (1, 10, 8),
            (0, 8, 7),
            (0, 9, 8),
            (0, 12, 11),
        ],  # too small for its two records: it ends there, too
        (2, 7, 9),
    ],
)
def test_the_next_base_offset_bounds_the_last_batch(last_delta: int, next_base: int, last_offset: int):
    """A last offset is corrected only if it contradicts the next base offset, and two records fit before that."""
    wrong = Batch(base_offset=7, records=(Record(delta=0), Record(delta=2)), last_delta=last_delta).write()
    for batches in (find_batches(wrong).followed_by(next_base), find_batches(wrong + cut_batch(next_base, 17))):
        (entry,) = batches.table
        assert (entry[layout.LAST_OFFSET], batches.next_base) == (last_offset, next_base)
        assert (entry[layout.FAULT] == layout.BAD_LAST) == (last_offset != 7 + last_delta)


def cut_batch(base_offset: int, size: int, magic: int = 2) -> bytes:
    """Return the first bytes of a batch."""
    return struct.pack(">qiib", base_offset, len(BATCH) - 12, 0, magic)[:size]


def test_the_base_offset_of_a_batch_that_is_cut_off():
    """It is known once the magic is there, and says that the base offset is one."""
    cut = [cut_batch(12, 17), cut_batch(12, 16), cut_batch(12, 17, magic=1)]
    assert [find_batches(BATCH + some).next_base for some in cut] == [12, None, None]


@pytest.mark.parametrize(
    ("offsets", "bounded"),
    [
        ((5, 99, 8, 9), {1: 7}),
        ((99, 8, 9), {0: 7}),
        ((5, 99, 8), {1: 7}),
        ((5, 8, 8), {1: 7}),
        ((5, 99, -12), {1: 6}),
        ((99, -12), {0: 11}),
        ((5, 6, 99), {}),
        ((5, 99, 8, 100), {}),  # that of the entry after it is as likely to be wrong
        ((5, 99, 4, 6), {}),
    ],
)
def test_an_old_entry_whose_offset_is_too_large(offsets: tuple[int, ...], bounded: dict[int, int]):
    """It is corrupt, and has the offset before that of the next entry; after a compressed one (negative here) the next free."""
    entries = [message(one, None, b"v") if one >= 0 else compressed(-one, [message(0, None, b"v")]) for one in offsets]
    table = find_batches(b"".join(entries)).table
    assert table[:, layout.LAST_OFFSET].tolist() == [bounded.get(place, abs(one)) for place, one in enumerate(offsets)]
    faults = {
        place: int(entry[layout.FAULT])
        for place, entry in enumerate(table)
        if entry[layout.DISPOSITION] == layout.CORRUPT
    }
    assert faults == dict.fromkeys(bounded, layout.BAD_LAST)
