"""Batches are found in fetched bytes: complete ones, a batch that is cut off, and bytes that are no batch."""

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_lagoon.records import layout
from kafka_lagoon.records.batches import find_batches
from tests.records.examples import Batch, Record, logs
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
