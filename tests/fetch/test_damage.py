"""Splits with batches that are too large or broken: what can be read is, and what cannot is named."""

from typing import Any

import pytest

from pipeline.protocol.messages.fetch import FETCH
from tests.fake.batches import batch
from tests.fake.cluster import FakeBatch, FakeCluster
from tests.fake.faults import Fault
from tests.fetch.reading import Connect, altered, damage, fill, log, read, small, split


@pytest.mark.parametrize("version", [2, 4])
def test_a_batch_beyond_the_limit(state: FakeCluster, connect: Connect, version: int) -> None:
    """Old brokers cut it off: then the limit is raised for it. Others send it whole."""
    log(state).append(batch(0, [bytes(10_000)]), batch(1, [b"a"]))
    state.highest[FETCH.key] = version
    values, outcome = read(connect(), split(state), small())
    assert (list(values), outcome.failure) == ([0, 1], None)
    limits = [request.topics[0].partitions[0].partition_max_bytes for request in state.fetches]
    assert max(limits) > 10_000 if version == 2 else set(limits) == {150}
    assert limits[-1] == 150


@pytest.mark.parametrize("version", [2, 4])
def test_a_batch_that_no_answer_may_hold(state: FakeCluster, connect: Connect, version: int) -> None:
    """Beyond the largest answer the split ends and names the setting."""
    log(state).append(batch(0, [b"a"]), batch(1, [bytes(200_000)]), batch(2, [b"a"]))
    state.highest[FETCH.key] = version
    values, outcome = read(connect(receive_message_max_bytes=150_000), split(state), small())
    assert (list(values), outcome.failure, outcome.next_offset) == ([0], "BATCH_TOO_LARGE", 1)
    assert "receive_message_max_bytes" in str(outcome.detail)


def test_a_corrupt_batch(state: FakeCluster, connect: Connect) -> None:
    """It is asked for once more, then it is a problem, and reading goes on behind it."""
    fill(state)
    log(state).log[2].data = damage(log(state).log[2], 70)
    values, outcome = read(connect(), split(state), small())
    assert list(values) == [*range(8), *range(12, 20)]
    assert (outcome.counts.corrupt, outcome.failure) == (4, None)
    assert [(one.base_offset, one.last_offset) for one in outcome.problems] == [(8, 11)]
    asked = [request.topics[0].partitions[0].fetch_offset for request in state.fetches]
    assert asked.count(8) == 2


def test_a_batch_that_suffered_on_the_way(state: FakeCluster, connect: Connect) -> None:
    """If it is whole the second time, nothing is lost and nothing is doubled."""

    def damaged(partition: Any) -> None:
        partition.records = damage(FakeBatch(0, 0, bytes(partition.records)), 200)

    fill(state)
    state.faults.append(Fault(FETCH.key, altered(damaged)))
    values, outcome = read(connect(), split(state))
    assert sorted(values) == list(range(20))
    assert (outcome.counts.corrupt, outcome.counts.records, outcome.problems) == (0, 20, ())


@pytest.mark.parametrize("position", [23, 24])
def test_a_last_offset_that_cannot_be(state: FakeCluster, connect: Connect, position: int) -> None:
    """A batch that lies about its end, and so has another checksum, reaches to the next one."""
    fill(state)
    log(state).log[2].data = damage(log(state).log[2], position)
    values, outcome = read(connect(), split(state))
    assert list(values) == [*range(8), *range(12, 20)]
    assert (outcome.failure, outcome.counts.corrupt) == (None, 4)


def test_a_broken_batch_behind_the_end(state: FakeCluster, connect: Connect) -> None:
    """It is for whoever reads there; what it leaves open before it is a gap."""
    fill(state, batches=1)
    log(state).append(batch(6, [b"6"]))
    log(state).log[1].data = damage(log(state).log[1], 60)
    values, outcome = read(connect(), split(state, to_offset=6))
    assert (list(values), outcome.counts.compacted, outcome.problems) == ([0, 1, 2, 3], 2, ())


@pytest.mark.parametrize("position", [8, 0])
def test_a_header_that_cannot_be(state: FakeCluster, connect: Connect, position: int) -> None:
    """Behind a wrong length or base offset nothing can be found: what was read before stands."""
    fill(state)
    log(state).log[2].data = damage(log(state).log[2], position)
    values, outcome = read(connect(), split(state))
    assert list(values) == list(range(8))
    assert (outcome.failure, outcome.next_offset) == ("CORRUPT_LOG", 8)
