"""Start and end of logs, and estimated sizes of ranges."""

from dataclasses import replace

import pytest

from kafka_lagoon.clock import Deadline
from kafka_lagoon.fetch.log_bounds import ask_log_bounds, range_bytes
from kafka_lagoon.fetch.ranges import LogBounds, PlannedRange
from kafka_lagoon.fetch.split import READ_COMMITTED, READ_UNCOMMITTED
from kafka_lagoon.protocol.error_codes import UNKNOWN_SERVER_ERROR
from kafka_lagoon.protocol.messages import list_offsets
from kafka_lagoon.protocol.messages.list_offsets import LIST_OFFSETS
from kafka_lagoon.topic_partition import TopicPartition
from tests.clock import CLOCK
from tests.fake.cluster import FakeCluster
from tests.fetch.reading import Connect

PARTITION = TopicPartition("t", 0)


def soon() -> Deadline:
    return Deadline.after(CLOCK, 5_000)


def planned(start: int, end: int) -> PlannedRange:
    return PlannedRange(
        topic="t", topic_id=None, partition=0, from_offset=start, to_offset=end, log_start_offset=20, stable_end=end
    )


def test_bounds_by_isolation_level(state: FakeCluster, connect: Connect) -> None:
    """With read_committed logs end at the last stable offset, which is at most the high watermark."""
    log = state.topics["t"].partitions[0]
    log.log_start_offset, log.high_watermark, log.last_stable_offset = 20, 100, 70
    cluster = connect()
    for level, end in ((READ_COMMITTED, 70), (READ_UNCOMMITTED, 100)):
        logs, failures = ask_log_bounds(cluster, [PARTITION], level, soon())
        assert (logs[PARTITION].end, logs[PARTITION].log_start_offset, failures) == (end, 20, {})


def test_a_partition_without_a_leader(state: FakeCluster, connect: Connect) -> None:
    """It is a failure and has no bounds; other partitions have theirs."""
    state.add_topic("led", 2, end=5)
    state.topics["led"].partitions[1].leader_id = -1
    partitions = [TopicPartition("led", 0), TopicPartition("led", 1)]
    logs, failures = ask_log_bounds(connect(), partitions, READ_COMMITTED, soon())
    assert (list(logs), [failures[partition].name for partition in failures]) == (
        partitions[:1],
        ["LEADER_NOT_AVAILABLE"],
    )
    assert len(logs) == 1
    assert logs.get(partitions[1]) is None
    assert TopicPartition("other", 0) not in logs


def test_each_partition_has_its_own_bounds(state: FakeCluster, connect: Connect) -> None:
    """Partitions may be given in any order, twice, and without a leader."""
    state.add_topic("some", 4)
    for number, partition in enumerate(state.topics["some"].partitions):
        partition.log_start_offset, partition.high_watermark, partition.last_stable_offset = (
            number,
            10 + number,
            5 + number,
        )
    state.topics["some"].partitions[2].leader_id = -1
    partitions = [TopicPartition("some", number) for number in (3, 1, 2, 3, 0)]
    logs, failures = ask_log_bounds(connect(), partitions, READ_COMMITTED, soon())
    assert list(failures) == [TopicPartition("some", 2)]
    assert logs == {
        TopicPartition("some", number): LogBounds(
            log_start_offset=number, high_watermark=10 + number, last_stable_offset=5 + number, end=5 + number
        )
        for number in (3, 1, 0)
    }


def test_bytes_of_a_range(state: FakeCluster, connect: Connect) -> None:
    """The size is the range's share of the leader's log, without lost offsets; for an empty log it is estimated by offsets."""
    state.topics["t"].partitions[0].size = 80_000
    cluster = connect()
    bounds = LogBounds(log_start_offset=20, high_watermark=100, last_stable_offset=100, end=100)
    assert range_bytes(cluster, [planned(10, 60)], {PARTITION: bounds}, soon()) == {PARTITION: 40_000}
    empty = LogBounds(log_start_offset=20, high_watermark=20, last_stable_offset=20, end=20)
    assert range_bytes(cluster, [planned(20, 22)], {PARTITION: empty}, soon()) == {PARTITION: 1_024}
    state.requests.clear()
    assert range_bytes(cluster, [], {}, soon()) == {}
    assert not state.requests


@pytest.mark.parametrize(("newest", "size"), [(8, 400_000), (7, 40_000)])
def test_bytes_of_a_range_in_remote_storage(state: FakeCluster, connect: Connect, newest: int, size: int) -> None:
    """The leader's disk has the last tenth of the log: its bytes are those of as many offsets, if the leader says so."""
    log = state.topics["t"].partitions[0]
    log.size, log.log_start_offset, log.local_log_start_offset, log.high_watermark = 80_000, 0, 900, 1000
    state.highest[LIST_OFFSETS.key] = newest
    bounds = LogBounds(log_start_offset=0, high_watermark=1000, last_stable_offset=1000, end=1000)
    wanted = replace(planned(0, 500), log_start_offset=0)
    assert range_bytes(connect(), [wanted], {PARTITION: bounds}, soon()) == {PARTITION: size}
    log.refused = {(list_offsets.EARLIEST_LOCAL, list_offsets.READ_UNCOMMITTED): UNKNOWN_SERVER_ERROR}
    assert range_bytes(connect(), [wanted], {PARTITION: bounds}, soon()) == {PARTITION: 40_000}


@pytest.mark.parametrize(("first_on_disk", "requests"), [(0, 1), (900, 3)])
def test_one_log_of_each_topic_is_asked_for_its_start_on_the_disk(
    state: FakeCluster, connect: Connect, first_on_disk: int, requests: int
) -> None:
    """The highest one. The others are asked for if a part of that one is in remote storage: here of both leaders."""
    state.add_topic("t", 2)
    for log, end in zip(state.topics["t"].partitions, (500, 1000), strict=True):
        log.size, log.log_start_offset, log.high_watermark = 80_000, 0, end
        log.local_log_start_offset = first_on_disk * end // 1000
    cluster = connect()
    bounds, _ = ask_log_bounds(
        cluster, partitions := [TopicPartition("t", 0), TopicPartition("t", 1)], READ_COMMITTED, soon()
    )
    ranges = [replace(planned(0, end), partition=number, log_start_offset=0) for number, end in enumerate((50, 1000))]
    state.requests.clear()
    sizes = range_bytes(cluster, ranges, bounds, soon())
    on_disk = 1 - first_on_disk / 1000
    assert sizes == {partitions[0]: round(8_000 / on_disk), partitions[1]: round(80_000 / on_disk)}
    assert state.count(LIST_OFFSETS.key) == requests
