"""Finding batches: what is whole, what is cut, what is none."""

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_lagoon.records import layout
from kafka_lagoon.records.batches import find_batches
from tests.records.examples import Batch, Record, logs
from tests.reference.batches import header, split

ONE = Batch(base_offset=7, records=(Record(delta=0), Record(delta=2))).write()


def test_nothing_is_no_batch():
    """An empty answer has no batches, no next offset, and nothing broken."""
    found = find_batches(b"")
    assert (found.count, found.next_offset, found.needed_bytes, found.broken_at) == (0, None, 0, None)


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
def test_any_buffer(kind):
    """Fetched bytes are read where they are, whatever kind of buffer they are in."""
    found = find_batches(kind(ONE * 2))
    assert (found.count, found.next_offset) == (2, 10)


@pytest.mark.parametrize("size", range(1, len(ONE)))
def test_a_cut_batch_is_asked_for_again(size):
    """A first batch that is cut says how much is needed; a later one is left for the next answer."""
    first = find_batches(ONE[:size])
    assert (first.count, first.broken_at) == (0, None)
    assert first.needed_bytes == (len(ONE) if size >= 12 else layout.BATCH_HEADER_SIZE)
    later = find_batches(ONE + ONE[:size])
    assert (later.count, later.needed_bytes, later.broken_at, later.next_offset) == (1, 0, None, 10)


@pytest.mark.parametrize("length", [-(2**31), -1, 0, 13])
def test_an_impossible_length_is_no_batch(length):
    """Behind a length that no batch can have nothing is read."""
    found = find_batches(ONE + ONE[:8] + struct.pack(">i", length) + ONE[12:] + ONE)
    assert (found.count, found.broken_at, found.needed_bytes) == (1, len(ONE), 0)


@given(logs(), st.binary(max_size=80), st.data())
def test_lines_say_what_headers_say(log, tail, data):
    """The table has every batch in order, as the slow decoder splits and reads it, torn tails or not."""
    raw = b"".join(batch.write() for batch in log) + tail
    raw = raw[: data.draw(st.integers(0, len(raw)))]
    found, told = find_batches(raw), [header(entry) for entry in split(raw)]
    assert found.table[:, layout.SIZE].tolist() == [len(one.raw) for one in told]
    assert found.table[:, layout.BASE_OFFSET].tolist() == [one.base_offset for one in told]
    assert found.table[:, layout.LAST_OFFSET].tolist() == [one.last_offset for one in told]
    assert found.table[:, layout.MAGIC].tolist() == [one.magic for one in told]
    possible = [(line, one) for line, one in zip(found.table, told, strict=True) if one.magic == 2 and one.is_possible]
    for line, one in possible:
        assert line[layout.LEADER_EPOCH] == one.leader_epoch
        assert line[layout.COUNT] == one.count
        assert (line[layout.BASE_TIMESTAMP], line[layout.MAX_TIMESTAMP]) == (one.base_timestamp, one.max_timestamp)
        assert (line[layout.PRODUCER_ID], line[layout.PRODUCER_EPOCH]) == (one.producer_id, one.producer_epoch)
        assert line[layout.ATTRIBUTES] & 0xFFFF == one.attributes & 0xFFFF
