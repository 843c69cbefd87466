"""Partitions in, where their logs begin and end, and how large parts of them are, out.

Guards one rule: of what a leader does not tell there is a failure or a guess that is called one, never a number that
looks like an answer.
"""

from collections.abc import Mapping, Sequence

from kafka_lagoon.admin.log_dirs import replica_sizes
from kafka_lagoon.admin.offsets import HIGH_WATERMARK, LAST_STABLE, LOG_START, list_offsets
from kafka_lagoon.client.cluster import Cluster, TopicPartition
from kafka_lagoon.client.failures import Failure
from kafka_lagoon.clock import Deadline
from kafka_lagoon.fetch.ranges import LogNow, PlannedRange
from kafka_lagoon.fetch.split import READ_COMMITTED

_KINDS = (LOG_START, HIGH_WATERMARK, LAST_STABLE)
_GUESSED_BYTES = 512  # of a record, where the brokers do not tell how large their logs are


def ask_logs(
    cluster: Cluster, partitions: Sequence[TopicPartition], isolation_level: str, deadline: Deadline
) -> tuple[dict[TopicPartition, LogNow], dict[TopicPartition, Failure]]:
    """Each log as it is now, and why others are not known; readers of what is committed end at the last stable offset."""
    found = list_offsets(cluster, partitions, _KINDS, deadline)
    failures: dict[TopicPartition, Failure] = {}
    for kind in reversed(_KINDS):
        failures |= found[kind].failures
    logs = {}
    for at in partitions:
        if at in failures:
            continue
        start, high, stable = (found[kind].answers[at].offset for kind in _KINDS)
        logs[at] = LogNow(
            log_start_offset=start,
            high_watermark=high,
            last_stable_offset=stable,
            end=min(stable, high) if isolation_level == READ_COMMITTED else high,
        )
    return logs, failures


def range_bytes(
    cluster: Cluster, ranges: Sequence[PlannedRange], logs: Mapping[TopicPartition, LogNow], deadline: Deadline
) -> dict[TopicPartition, int]:
    """About how many bytes each range has on its leader's disk: its share of the log, or a guess by its offsets."""
    wanted = {TopicPartition(one.topic, one.partition): one.to_offset - one.first_readable for one in ranges}
    told = replica_sizes(cluster, list(wanted), deadline).answers if wanted else {}
    lengths = {at: logs[at].high_watermark - logs[at].log_start_offset for at in wanted}
    return {
        at: told[at] * offsets // lengths[at] if at in told and lengths[at] > 0 else _GUESSED_BYTES * offsets
        for at, offsets in wanted.items()
    }
