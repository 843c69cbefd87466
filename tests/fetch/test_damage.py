"""Splits with too large or broken batches: readable batches are read, others are reported."""

from typing import Any

import pytest

from kafka_lagoon.protocol.messages.fetch import FETCH
from tests.fake.batches import batch
from tests.fake.cluster import FakeBatch, FakeCluster
from tests.fake.faults import Fault
from tests.fetch.reading import Connect, altered, damage, fill, log, read, small, split


@pytest.mark.parametrize("version", [18, 4])
def test_a_batch_beyond_the_limit(state: FakeCluster, connect: Connect, version: int) -> None:
    """Brokers send it whole, so the limit is not raised."""
    log(state).append(batch(0, [bytes(10_000)]), batch(1, [b"a"]))
    state.highest[FETCH.key] = version
    values, outcome = read(connect(), split(state), small())
    assert (list(values), outcome.failure) == ([0, 1], None)
    limits = [request.topics[0].partitions[0].partition_max_bytes for request in state.fetches]
    assert limits == [150, 150]


def test_a_first_batch_that_was_cut(state: FakeCluster, connect: Connect) -> None:
    """Brokers do not do that since Fetch v3: it is retried once, then it is damage, and never the end of a log."""

    def cut(partition: Any) -> None:
        partition.records = bytes(partition.records or b"")[:80]

    fill(state)
    state.faults.append(Fault(FETCH.key, altered(cut)))
    values, outcome = read(connect(), split(state), small())
    assert (list(values), outcome.failure) == (list(range(20)), None)
    state.faults.append(Fault(FETCH.key, altered(cut), times=1000))
    values, outcome = read(connect(), split(state), small())
    assert (values, outcome.failure, outcome.next_offset) == ({}, "CORRUPT_LOG", 0)


@pytest.mark.parametrize("version", [18, 4])
def test_a_batch_that_no_answer_may_hold(state: FakeCluster, connect: Connect, version: int) -> None:
    """Beyond the largest response the split ends, and the failure names the setting."""
    log(state).append(batch(0, [b"a"]), batch(1, [bytes(200_000)]), batch(2, [b"a"]))
    state.highest[FETCH.key] = version
    values, outcome = read(connect(receive_message_max_bytes=150_000), split(state), small())
    assert (list(values), outcome.failure, outcome.next_offset) == ([0], "BATCH_TOO_LARGE", 1)
    assert "receive_message_max_bytes" in str(outcome.detail)


def test_a_corrupt_batch(state: FakeCluster, connect: Connect) -> None:
    """The batch is requested once more, then it is a problem, and reading continues after it."""
    fill(state)
    log(state).log[2].data = damage(log(state).log[2], 70)
    values, outcome = read(connect(), split(state), small())
    assert list(values) == [*range(8), *range(12, 20)]
    assert (outcome.counts.corrupt, outcome.failure) == (4, None)
    assert [(one.base_offset, one.last_offset) for one in outcome.problems] == [(8, 11)]
    offsets = [request.topics[0].partitions[0].fetch_offset for request in state.fetches]
    assert offsets.count(8) == 2


@pytest.mark.parametrize("position", [6, 70], ids=["base offset", "record"])
def test_a_batch_that_was_damaged_in_transit(state: FakeCluster, connect: Connect, position: int) -> None:
    """If the batch is whole the second time, no record is lost or doubled."""

    def damaged(partition: Any) -> None:
        before = sum(len(one.data) for one in log(state).log[:2])
        partition.records = damage(FakeBatch(0, 0, bytes(partition.records)), before + position)

    fill(state)
    state.faults.append(Fault(FETCH.key, altered(damaged)))
    values, outcome = read(connect(), split(state))
    assert sorted(values) == list(range(20))
    assert (outcome.counts.corrupt, outcome.counts.records, outcome.problems) == (0, 20, ())


@pytest.mark.parametrize("position", [23, 24])
def test_a_last_offset_that_cannot_be(state: FakeCluster, connect: Connect, position: int) -> None:
    """A batch with a wrong last offset, and thus a wrong checksum, ends at the next batch."""
    fill(state)
    log(state).log[2].data = damage(log(state).log[2], position)
    values, outcome = read(connect(), split(state))
    assert list(values) == [*range(8), *range(12, 20)]
    assert (outcome.failure, outcome.counts.corrupt) == (None, 4)


LIES = {
    "by one": 4,
    "over its neighbours": 9,
    "over the rest": 12 + (1 << 20),
    "too small by one": 2,
    "too small": 0,
}


@pytest.mark.parametrize("last_delta", LIES.values(), ids=LIES)
@pytest.mark.parametrize("fetch_bytes", [150, 8 << 20, 400], ids=["alone", "all", "several"])
@pytest.mark.parametrize("high_watermark", [24, 1 << 21], ids=["at the end", "far"])
def test_a_last_offset_that_lies(
    state: FakeCluster, connect: Connect, last_delta: int, fetch_bytes: int, high_watermark: int
) -> None:
    """A batch with a valid checksum and a wrong last offset is a problem, in any responses; its neighbours are read."""
    fill(state, batches=2)
    log(state).append(batch(8, [b"8", b"9", b"10", b"11"], last_delta=last_delta))
    fill_from(state, 12, 24)
    log(state).high_watermark = high_watermark
    values, outcome = read(connect(), split(state, to_offset=24), small(fetch_bytes=fetch_bytes))
    assert sorted(values) == [*range(8), *range(12, 24)]
    assert [(one.base_offset, one.last_offset, one.reason) for one in outcome.problems] == [(8, 11, "CORRUPT_BATCH")]
    assert outcome.problems[0].raw == log(state).log[2].data
    assert (outcome.failure, outcome.counts.corrupt, outcome.counts.compacted) == (None, 4, 0)


def test_a_negative_last_offset(state: FakeCluster, connect: Connect) -> None:
    """In a response it is a problem; for requests of its own offsets leaders skip the batch."""
    fill(state, batches=2)
    log(state).append(batch(8, [b"8", b"9", b"10", b"11"], last_delta=-1))
    fill_from(state, 12, 24)
    values, outcome = read(connect(), split(state))
    assert sorted(values) == [*range(8), *range(12, 24)]
    assert [(one.base_offset, one.last_offset, one.reason) for one in outcome.problems] == [(8, 11, "CORRUPT_BATCH")]


@pytest.mark.parametrize(
    "last_delta", [4, 9, 1 << 20, 0], ids=["by one", "over neighbours", "over the rest", "too small"]
)
def test_a_last_offset_that_lies_at_the_end_of_a_segment(state: FakeCluster, connect: Connect, last_delta: int) -> None:
    """Responses end with a segment, so no batch follows; the number of records does not show the end of a compacted batch."""
    fill(state, batches=2)
    log(state).append(batch(8, [b"8", b"10"], deltas=[0, 2], last_delta=last_delta))
    fill_from(state, 12, 24)
    log(state).segments = [0, 12]
    values, outcome = read(connect(), split(state, to_offset=24))
    assert sorted(values) == [*range(8), *range(12, 24)]
    assert [(one.base_offset, one.last_offset) for one in outcome.problems] == [(8, 11)]
    assert outcome.failure is None


def test_a_last_offset_beyond_the_log(state: FakeCluster, connect: Connect) -> None:
    """The last batch of the log ends at the high watermark, with any declared last offset."""
    fill(state, batches=2)
    log(state).append(batch(8, [b"8", b"9"], last_delta=99))
    log(state).high_watermark = 10
    values, outcome = read(connect(), split(state, to_offset=10, stable_end=10))
    assert list(values) == list(range(8))
    assert [(one.base_offset, one.last_offset) for one in outcome.problems] == [(8, 9)]
    assert (outcome.failure, outcome.next_offset) == (None, 10)


@pytest.mark.parametrize("fetch_bytes", [150, 8 << 20], ids=["alone", "all"])
def test_batches_that_compaction_has_thinned(state: FakeCluster, connect: Connect, fetch_bytes: int) -> None:
    """Fewer records than offsets are valid: every record is read, and other offsets are compacted."""
    for base in range(0, 40, 10):
        log(state).append(batch(base, [b"%d" % base, b"%d" % (base + 4)], deltas=[0, 4], last_delta=9))
    log(state).segments = [0, 20]
    values, outcome = read(connect(), split(state), small(fetch_bytes=fetch_bytes))
    assert sorted(values) == [0, 4, 10, 14, 20, 24, 30, 34]
    assert (outcome.failure, outcome.problems, outcome.counts.compacted) == (None, (), 32)


def test_whole_batches_cost_no_second_look(state: FakeCluster, connect: Connect) -> None:
    """A batch with as many records as offsets needs no further request."""
    fill(state)
    read(connect(), split(state), small())
    offsets = [request.topics[0].partitions[0].fetch_offset for request in state.fetches]
    assert offsets == [0, 4, 8, 12, 16]


def fill_from(state: FakeCluster, start: int, end: int) -> None:
    """Append batches of four records from one offset to another."""
    for base in range(start, end, 4):
        log(state).append(batch(base, [b"%d" % offset for offset in range(base, base + 4)]))


def test_a_broken_batch_after_the_end(state: FakeCluster, connect: Connect) -> None:
    """The broken batch belongs to the next split; the offsets before it are a gap."""
    fill(state, batches=1)
    log(state).append(batch(6, [b"6"]))
    log(state).log[1].data = damage(log(state).log[1], 60)
    values, outcome = read(connect(), split(state, to_offset=6))
    assert (list(values), outcome.counts.compacted, outcome.problems) == ([0, 1, 2, 3], 2, ())


@pytest.mark.parametrize("position", [8, 0])
def test_a_header_that_cannot_be(state: FakeCluster, connect: Connect, position: int) -> None:
    """After a wrong length or base offset nothing can be read: the records before it are kept."""
    fill(state)
    log(state).log[2].data = damage(log(state).log[2], position)
    values, outcome = read(connect(), split(state))
    assert list(values) == list(range(8))
    assert (outcome.failure, outcome.next_offset) == ("CORRUPT_LOG", 8)
