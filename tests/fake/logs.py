"""Answers the APIs that read a partition's log, from the state of a fake cluster."""

from itertools import pairwise
from typing import Any

from kafka_lagoon.protocol.messages import describe_log_dirs, fetch, offset_for_leader_epoch
from tests.fake.cluster import FakeBatch, FakeCluster, FakePartition

OUT_OF_RANGE, UNKNOWN_TOPIC, NOT_LEADER, FENCED, UNKNOWN_EPOCH, UNKNOWN_ID = 1, 3, 6, 74, 75, 100


class _Room:
    """The remaining size of a response. The first batch is whole even if it exceeds the limits (KIP-74)."""

    def __init__(self, max_bytes: int) -> None:
        self._bytes, self._is_empty = max_bytes, True

    def take(self, batches: list[FakeBatch], partition_max_bytes: int) -> bytes:
        """Return the records of one partition, or none if its first batch does not fit."""
        records = b"".join(one.data for one in batches)
        first, limit = len(batches[0].data) if batches else 0, min(partition_max_bytes, self._bytes)
        if first > limit and not self._is_empty:
            return b""
        taken = records[: max(first, limit)]
        self._bytes, self._is_empty = max(0, self._bytes - len(taken)), self._is_empty and not taken
        return taken


def _fetch(state: FakeCluster, node: int, version: int, request: Any) -> fetch.FetchResponse:
    state.fetches.append(request)
    responses, room = [], _Room(request.max_bytes)
    for topic in request.topics:
        known = _topic(state, topic, version)
        some = tuple(_partition(known, node, version, request, one, room) for one in topic.partitions)
        response = fetch.FetchableTopicResponse(topic=topic.topic, topic_id=topic.topic_id, partitions=some)
        responses.append(response)
    return fetch.FetchResponse(responses=tuple(responses))


def _topic(state: FakeCluster, requested: Any, version: int) -> list[FakePartition] | None:
    if version < fetch.BY_ID.lowest:
        return state.topics[requested.topic].partitions if requested.topic in state.topics else None
    return next((one.partitions for one in state.topics.values() if one.topic_id == requested.topic_id), None)


def _partition(
    partitions: list[FakePartition] | None, node: int, version: int, request: Any, requested: Any, room: _Room
) -> fetch.PartitionData:
    refused = fetch.PartitionData(
        partition_index=requested.partition, high_watermark=-1, error_code=0, records=None, log_start_offset=-1
    )
    if partitions is None:
        refused.error_code = UNKNOWN_ID if version >= fetch.BY_ID.lowest else UNKNOWN_TOPIC
        return refused
    log = partitions[requested.partition]
    if node == log.leader_id and request.rack_id in log.preferred:
        refused.high_watermark, refused.preferred_read_replica = log.high_watermark, log.preferred[request.rack_id]
        return refused
    refused.error_code = _refusal(log, node, requested)
    if refused.error_code in (NOT_LEADER, FENCED) and version >= 12:
        leader = fetch.LeaderIdAndEpoch(leader_id=log.leader_id, leader_epoch=log.leader_epoch)
        refused.current_leader = leader
    return refused if refused.error_code else _data(log, version, request, requested, room)


def _refusal(log: FakePartition, node: int, requested: Any) -> int:
    if log.leader_id != node and node not in log.preferred.values():
        return NOT_LEADER
    if 0 <= requested.current_leader_epoch != log.leader_epoch:
        return FENCED if requested.current_leader_epoch < log.leader_epoch else UNKNOWN_EPOCH
    if not log.log_start_offset <= requested.fetch_offset <= _end(log):
        return OUT_OF_RANGE
    return 0


def _end(log: FakePartition) -> int:
    return max(log.high_watermark, log.log[-1].last_offset + 1 if log.log else 0)


def _data(log: FakePartition, version: int, request: Any, requested: Any, room: _Room) -> fetch.PartitionData:
    stable = log.high_watermark if log.last_stable_offset is None else log.last_stable_offset
    end = stable if request.isolation_level else log.high_watermark
    data = fetch.PartitionData(
        partition_index=requested.partition,
        error_code=0,
        high_watermark=log.high_watermark,
        last_stable_offset=stable,
        log_start_offset=log.log_start_offset if version >= 5 else -1,
        records=b"",  # type: ignore[arg-type]
    )
    epoch, parted = _end_of(log, requested.last_fetched_epoch)
    if 0 <= epoch < requested.last_fetched_epoch or 0 <= parted < requested.fetch_offset:
        data.diverging_epoch = fetch.EpochEndOffset(epoch=epoch, end_offset=parted)
        return data
    batches = _batches(log, requested.fetch_offset, end)
    data.records = room.take(batches, requested.partition_max_bytes)  # type: ignore[assignment]
    if request.isolation_level:
        data.aborted_transactions = tuple(_aborted(batches))
    return data


def _batches(log: FakePartition, fetch_offset: int, end: int) -> list[FakeBatch]:
    """Return the batches from the first one that should reach an offset to the end of its segment, as brokers do."""
    first = max(base for base in log.segments if base <= fetch_offset)
    for start, stop in pairwise([*(base for base in log.segments if base >= first), 2**63]):
        segment = [one for one in log.log if start <= one.base_offset < stop]
        if batches := [one for one in segment if one.last_offset >= fetch_offset and one.base_offset < end]:
            return segment[segment.index(batches[0]) : segment.index(batches[-1]) + 1]
    return []


def _aborted(batches: list[FakeBatch]) -> list[fetch.AbortedTransaction]:
    return [
        fetch.AbortedTransaction(producer_id=one.aborted_producer, first_offset=one.base_offset)
        for one in batches
        if one.aborted_producer is not None
    ]


def _epoch_ends(state: FakeCluster, node: int, version: int, request: Any) -> Any:
    topics = []
    for topic in request.topics:
        known = state.topics[topic.topic].partitions
        ends = tuple(_epoch_end(known[one.partition], node, version, one) for one in topic.partitions)
        topics.append(offset_for_leader_epoch.OffsetForLeaderTopicResult(topic=topic.topic, partitions=ends))
    return offset_for_leader_epoch.OffsetForLeaderEpochResponse(topics=tuple(topics))


def _epoch_end(log: FakePartition, node: int, version: int, requested: Any) -> offset_for_leader_epoch.EpochEndOffset:
    if log.leader_id != node:
        return offset_for_leader_epoch.EpochEndOffset(partition=requested.partition, error_code=NOT_LEADER)
    epoch, end = _end_of(log, requested.leader_epoch)
    return offset_for_leader_epoch.EpochEndOffset(
        partition=requested.partition, error_code=0, leader_epoch=epoch if version >= 1 else -1, end_offset=end
    )


def _end_of(log: FakePartition, requested: int) -> tuple[int, int]:
    """Do the same as LeaderEpochFileCache.endOffsetFor: find the largest epoch up to the requested one, and its end."""
    later = [epoch for epoch in log.epoch_ends if epoch > requested]
    floor = max((epoch for epoch in log.epoch_ends if epoch <= requested), default=None)
    if requested < 0 or (not later and floor != requested):
        return -1, -1
    if floor is None:
        return requested, log.log_start_offset
    return floor, log.epoch_ends[floor]


def _log_dirs(state: FakeCluster, node: int, version: int, request: Any) -> Any:
    """Return log directories; every second partition is being moved to the other directory."""
    if not state.cluster_operations:
        code = 31 if version >= 3 else 0
        return describe_log_dirs.DescribeLogDirsResponse(throttle_time_ms=0, error_code=code, results=())
    requested = _every_partition(state) if request.topics is None else request.topics
    results = tuple(
        describe_log_dirs.DescribeLogDirsResult(
            error_code=0,
            log_dir=name,
            topics=tuple(_sizes(state, node, one, future) for one in requested if one.topic in state.topics),
            total_bytes=1 << 40,
            usable_bytes=1 << 39,
        )
        for name, future in (("/one", False), ("/two", True))
    )
    return describe_log_dirs.DescribeLogDirsResponse(throttle_time_ms=0, results=results)


def _every_partition(state: FakeCluster) -> list[describe_log_dirs.DescribableLogDirTopic]:
    return [
        describe_log_dirs.DescribableLogDirTopic(topic=name, partitions=tuple(range(len(topic.partitions))))
        for name, topic in state.topics.items()
    ]


def _sizes(state: FakeCluster, node: int, requested: Any, future: bool) -> describe_log_dirs.DescribeLogDirsTopic:
    known = state.topics[requested.topic].partitions
    some = tuple(
        describe_log_dirs.DescribeLogDirsPartition(
            partition_index=index,
            partition_size=1 if future else known[index].size + (node - known[index].leader_id) % 10,
            offset_lag=0,
            is_future_key=future,
        )
        for index in requested.partitions
        if index < len(known) and node in known[index].replicas and (not future or index % 2)
    )
    return describe_log_dirs.DescribeLogDirsTopic(name=requested.topic, partitions=some)


ANSWERS = (
    (fetch.FETCH, _fetch),
    (offset_for_leader_epoch.OFFSET_FOR_LEADER_EPOCH, _epoch_ends),
    (describe_log_dirs.DESCRIBE_LOG_DIRS, _log_dirs),
)
