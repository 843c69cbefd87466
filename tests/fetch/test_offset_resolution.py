"""Specs are resolved to offsets of a fake cluster's logs, equally for all callers."""

from collections.abc import Callable

import pytest

from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.clock import Deadline
from kafka_lagoon.fetch.log_bounds import ask_log_bounds
from kafka_lagoon.fetch.offset_resolution import ResolvedOffsets, resolve
from kafka_lagoon.fetch.offset_specs import (
    EARLIEST,
    LATEST,
    AtOffset,
    AtTime,
    BeforeEnd,
    OffsetSpec,
    OffsetSpecs,
)
from kafka_lagoon.fetch.split import READ_COMMITTED, READ_UNCOMMITTED
from kafka_lagoon.protocol.messages.list_offsets import LIST_OFFSETS
from kafka_lagoon.topic_partition import TopicPartition
from tests.clock import CLOCK
from tests.fake.cluster import FakeCluster

Connect = Callable[..., Cluster]
PARTITION = TopicPartition("t", 0)


def resolved(connect: Connect, spec: OffsetSpec, isolation_level: str = READ_UNCOMMITTED) -> ResolvedOffsets:
    """Resolve a spec for the only partition."""
    cluster, deadline = connect(), Deadline.after(CLOCK, 5_000)
    logs, failures = ask_log_bounds(cluster, [PARTITION], isolation_level, deadline)
    assert not failures
    return resolve(cluster, OffsetSpecs(name="--from", default=spec), logs, deadline)


@pytest.mark.parametrize(
    ("spec", "uncommitted", "committed"),
    [
        (EARLIEST, 10, 10),
        (LATEST, 100, 70),
        (BeforeEnd(20), 80, 50),
        (BeforeEnd(0), 100, 70),
        (BeforeEnd(1_000), 10, 10),
        (BeforeEnd(5, 2_000), 85, 85),
        (BeforeEnd(15, 1_000), 10, 10),
        (AtOffset(35), 35, 35),
        (AtTime(1_000), 20, 20),
        (AtTime(2_000), 90, 90),
        (AtTime(9_000), 100, 70),
        (AtTime(0), 20, 20),
        (AtTime(-1), 10, 10),
        (AtTime(-3), 10, 10),
        (AtTime(-1_000), 10, 10),
    ],
)
def test_offsets(state: FakeCluster, connect: Connect, spec: OffsetSpec, uncommitted: int, committed: int) -> None:
    """The end depends on the isolation level: with read_committed it is before open transactions. Times do not depend on it.

    All records are later than a time before 1970, whose number would stand for another offset.
    """
    log = state.topics["t"].partitions[0]
    log.log_start_offset, log.high_watermark, log.last_stable_offset = 10, 100, 70
    log.times = ((1_000, 20), (2_000, 90))
    for level, expected in ((READ_UNCOMMITTED, uncommitted), (READ_COMMITTED, committed)):
        result = resolved(connect, spec, level)
        assert result.offsets == {PARTITION: expected}
        assert not result.outside
        assert not result.failures
        assert result.without_record == ({PARTITION: 9_000} if spec == AtTime(9_000) else {})


@pytest.mark.parametrize("spec", [AtTime(500), BeforeEnd(5, 500)])
def test_the_first_record_of_a_log_is_a_record(state: FakeCluster, connect: Connect, spec: OffsetSpec) -> None:
    """Offset 0 is a response like any other, not the lack of a record."""
    log = state.topics["t"].partitions[0]
    log.log_start_offset, log.high_watermark, log.times = 0, 100, ((1_000, 0),)
    result = resolved(connect, spec)
    assert (result.offsets, result.without_record) == ({PARTITION: 0}, {})


@pytest.mark.parametrize(("offset", "is_outside"), [(9, True), (10, False), (70, False), (71, True)])
def test_offsets_outside_of_the_log(state: FakeCluster, connect: Connect, offset: int, is_outside: bool) -> None:
    """They are returned unchanged and reported, because callers treat them differently. The end is inside."""
    log = state.topics["t"].partitions[0]
    log.log_start_offset, log.high_watermark, log.last_stable_offset = 10, 100, 70
    result = resolved(connect, AtOffset(offset), READ_COMMITTED)
    assert result.offsets == {PARTITION: offset}
    assert result.outside == ({PARTITION: offset} if is_outside else {})


def test_brokers_are_asked_about_times_only(state: FakeCluster, connect: Connect) -> None:
    """Times are requested with one request per leader, for any specs of the other partitions."""
    state.topics["t"].partitions *= 3
    for log in state.topics["t"].partitions:
        log.high_watermark, log.times = 100, ((1_000, 20),)
    cluster, deadline = connect(), Deadline.after(CLOCK, 5_000)
    partitions = [TopicPartition("t", number) for number in range(3)]
    logs, _ = ask_log_bounds(cluster, partitions, READ_UNCOMMITTED, deadline)
    state.requests.clear()
    assert resolve(cluster, OffsetSpecs(name="x", default=LATEST), logs, deadline).offsets == dict.fromkeys(
        partitions, 100
    )
    assert not state.requests
    mixed = OffsetSpecs(name="x", default=AtTime(1_000), by_partition={("t", 1): BeforeEnd(1)})
    assert list(resolve(cluster, mixed, logs, deadline).offsets.values()) == [20, 99, 20]
    assert state.count(LIST_OFFSETS.key) == 1


def test_a_leader_that_refuses_a_time(state: FakeCluster, connect: Connect) -> None:
    """The partition is a failure, and has no offset that looks like a result."""
    log = state.topics["t"].partitions[0]
    log.refused[1_000, 0] = 29
    result = resolved(connect, AtTime(1_000))
    assert (result.offsets, result.failures[PARTITION].name) == ({}, "TOPIC_AUTHORIZATION_FAILED")
