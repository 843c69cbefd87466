"""Asks the leaders where logs start and end, and how many bytes a part of them has.

If a leader does not answer, its partitions are failures, or their sizes are guessed and marked as guesses.
"""

from collections.abc import Iterator, Mapping, Sequence

from kafka_lagoon.admin.log_dirs import replica_sizes
from kafka_lagoon.admin.offsets import (
    HIGH_WATERMARK,
    LAST_STABLE,
    LOCAL_START,
    LOG_START,
    OffsetColumns,
    columns_of,
    list_offsets,
)
from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.client.failures import Failure
from kafka_lagoon.clock import Deadline
from kafka_lagoon.fetch.ranges import LogBounds, PlannedRange
from kafka_lagoon.fetch.split import READ_COMMITTED
from kafka_lagoon.topic_partition import TopicPartition

_KINDS = (LOG_START, HIGH_WATERMARK, LAST_STABLE)
_GUESSED_BYTES = 512  # of a record, where the brokers do not say how large their logs are


class LogsByPartition(Mapping[TopicPartition, LogBounds]):
    """The bounds of logs, by partition. They are kept by column: of a million partitions 24 MB, as objects 250."""

    def __init__(
        self, columns: Sequence[OffsetColumns], failed: Mapping[TopicPartition, Failure], isolation_level: str
    ) -> None:
        self._order = columns[0].order
        self._starts, self._high_watermarks, self._stable = (column.offsets for column in columns)
        self._failed, self._is_committed = failed, isolation_level == READ_COMMITTED

    def __getitem__(self, partition: TopicPartition) -> LogBounds:
        if partition in self._failed:
            raise KeyError(partition)
        place = self._order.place(partition)
        high, stable = self._high_watermarks[place], self._stable[place]
        return LogBounds(
            log_start_offset=self._starts[place],
            high_watermark=high,
            last_stable_offset=stable,
            end=min(stable, high) if self._is_committed else high,
        )

    def __iter__(self) -> Iterator[TopicPartition]:
        return (partition for partition in self._order.partitions if partition not in self._failed)

    def __len__(self) -> int:
        return len(self._order.partitions) - len(self._failed)


def ask_log_bounds(
    cluster: Cluster, partitions: Sequence[TopicPartition], isolation_level: str, deadline: Deadline
) -> tuple[LogsByPartition, dict[TopicPartition, Failure]]:
    """The bounds of each log, and the failures of the others.

    For readers of committed records a log ends at the last stable offset.
    """
    gathered = list_offsets(cluster, partitions, _KINDS, deadline)
    failures: dict[TopicPartition, Failure] = {}
    for kind in reversed(_KINDS):
        failures |= gathered[kind].failures
    columns = [columns_of(gathered[kind].answers, gathered[kind].sources, partitions) for kind in _KINDS]
    return LogsByPartition(columns, failures, isolation_level), failures


def range_bytes(
    cluster: Cluster, ranges: Sequence[PlannedRange], logs: Mapping[TopicPartition, LogBounds], deadline: Deadline
) -> dict[TopicPartition, int]:
    """Estimate the bytes of each range: its share of the log's size on the leader's disk, or a guess by its number of offsets.

    The disk has only the end of a log in remote storage (KIP-405), which begins at the local start. Leaders too old to return a
    local start have the whole log on disk.
    """
    offsets = {planned.topic_partition: planned.to_offset - planned.first_readable for planned in ranges}
    if not offsets:
        return {}
    sizes = replica_sizes(cluster, list(offsets), deadline).answers
    local_starts = _local_starts(cluster, ranges, logs, deadline)
    return {
        partition: _share(sizes.get(partition), logs[partition], local_starts.get(partition, -1), count)
        for partition, count in offsets.items()
    }


def _local_starts(
    cluster: Cluster, ranges: Sequence[PlannedRange], logs: Mapping[TopicPartition, LogBounds], deadline: Deadline
) -> dict[TopicPartition, int]:
    """The local starts of logs (the first offsets on the leaders' disks), for topics with a log in remote storage.

    The log with the highest offsets of each topic is asked about first. The others are asked about only if it has a part in
    remote storage, which spares an item of a request for nearly every partition.
    """
    highest: dict[str, PlannedRange] = {}
    for planned in ranges:
        if planned.topic not in highest or planned.to_offset > highest[planned.topic].to_offset:
            highest[planned.topic] = planned
    starts = _ask_local_starts(cluster, [planned.topic_partition for planned in highest.values()], deadline)
    topics = {partition.topic for partition, start in starts.items() if start > logs[partition].log_start_offset}
    others = [planned.topic_partition for planned in ranges if planned.topic in topics]
    return _ask_local_starts(cluster, others, deadline) if others else {}


def _ask_local_starts(
    cluster: Cluster, partitions: Sequence[TopicPartition], deadline: Deadline
) -> dict[TopicPartition, int]:
    gathered = list_offsets(cluster, partitions, (LOCAL_START,), deadline)[LOCAL_START]
    return dict(zip(partitions, columns_of(gathered.answers, gathered.sources, partitions).offsets, strict=True))


def _share(size: int | None, log: LogBounds, local_start: int, count: int) -> int:
    length = log.high_watermark - max(log.log_start_offset, local_start)
    return _GUESSED_BYTES * count if size is None or length <= 0 else size * count // length
