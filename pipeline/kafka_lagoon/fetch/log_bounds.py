"""Asks the leaders where logs start and end, and how many bytes a part of them has.

If a leader does not answer, its partitions are failures, or their sizes are guessed and marked as guesses.
"""

from collections.abc import Iterable, Mapping, Sequence

from kafka_lagoon.admin.log_dirs import replica_sizes
from kafka_lagoon.admin.offsets import HIGH_WATERMARK, LAST_STABLE, LOG_START, columns_of, list_offsets
from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.client.failures import Failure
from kafka_lagoon.clock import Deadline
from kafka_lagoon.fetch.ranges import LogBounds, PlannedRange
from kafka_lagoon.fetch.split import READ_COMMITTED
from kafka_lagoon.topic_partition import TopicPartition

_KINDS = (LOG_START, HIGH_WATERMARK, LAST_STABLE)
_GUESSED_BYTES = 512  # of a record, where the brokers do not say how large their logs are


def ask_log_bounds(
    cluster: Cluster, partitions: Sequence[TopicPartition], isolation_level: str, deadline: Deadline
) -> tuple[dict[TopicPartition, LogBounds], dict[TopicPartition, Failure]]:
    """The bounds of each log, and the failures of the others.

    For readers of committed records a log ends at the last stable offset.
    """
    distinct = list(dict.fromkeys(partitions))
    gathered = list_offsets(cluster, distinct, _KINDS, deadline)
    failures: dict[TopicPartition, Failure] = {}
    for kind in reversed(_KINDS):
        failures |= gathered[kind].failures
    columns = (columns_of(gathered[kind].answers, gathered[kind].sources, distinct).offsets for kind in _KINDS)
    logs = {}
    for partition, start, high, stable in zip(distinct, *columns, strict=True):
        if partition in failures:
            continue
        logs[partition] = LogBounds(
            log_start_offset=start,
            high_watermark=high,
            last_stable_offset=stable,
            end=min(stable, high) if isolation_level == READ_COMMITTED else high,
        )
    return logs, failures


def range_bytes(
    cluster: Cluster, ranges: Iterable[PlannedRange], logs: Mapping[TopicPartition, LogBounds], deadline: Deadline
) -> dict[TopicPartition, int]:
    """About how many bytes each range has on its leader's disk: its share of the log, or a guess by its offsets."""
    offsets = {
        TopicPartition(planned.topic, planned.partition): planned.to_offset - planned.first_readable
        for planned in ranges
    }
    sizes = replica_sizes(cluster, list(offsets), deadline).answers if offsets else {}
    lengths = {partition: logs[partition].high_watermark - logs[partition].log_start_offset for partition in offsets}
    return {
        partition: sizes[partition] * count // lengths[partition]
        if partition in sizes and lengths[partition] > 0
        else _GUESSED_BYTES * count
        for partition, count in offsets.items()
    }
