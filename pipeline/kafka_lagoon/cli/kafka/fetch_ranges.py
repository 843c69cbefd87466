"""Plans the offsets that `lagoon kafka fetch` reads of each partition, and collects failures.

If the leader of a partition does not answer, the other partitions are still read, and the failure is reported.
"""

from argparse import Namespace
from collections.abc import Sequence
from dataclasses import dataclass, field

from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.client.failures import Failure, Scope, own_failure
from kafka_lagoon.clock import Deadline
from kafka_lagoon.fetch.log_bounds import ask_log_bounds
from kafka_lagoon.fetch.offset_resolution import resolve
from kafka_lagoon.fetch.offset_specs import BeforeEnd, OffsetSpecs, parse_offset_specs
from kafka_lagoon.frozen import frozen
from kafka_lagoon.protocol.messages.fetch import FETCH
from kafka_lagoon.topic_partition import TopicPartition


@frozen(kw_only=False)
class FetchRange:
    """Offsets from `start` to `end`, which is not included; from `stable_end` on there may be open transactions."""

    start: int
    end: int
    stable_end: int


@dataclass(slots=True)
class Missing:
    """Failures and notes about records that were not read."""

    failures: list[Failure] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def fail(self, scope: Scope, name: str, message: str | None) -> None:
        """Add a failure."""
        self.failures.append(own_failure(FETCH, scope, name, message))


def start_specs(options: Namespace, now_ms: int) -> OffsetSpecs:
    """Return the start offsets of `--from`, `--last` and `--follow`; ValueError if `--from` cannot be parsed."""
    if options.last is not None:
        return OffsetSpecs(name="--last", default=BeforeEnd(options.last))
    return parse_offset_specs("--from", options.start or ("latest" if options.follow else "earliest"), now_ms)


def whole_logs(
    cluster: Cluster, partitions: Sequence[TopicPartition], isolation_level: str, missing: Missing, deadline: Deadline
) -> dict[TopicPartition, FetchRange]:
    """Return the range of all offsets of each log, at this isolation level."""
    logs, failures = ask_log_bounds(cluster, partitions, isolation_level, deadline)
    missing.failures += failures.values()
    return {
        partition: FetchRange(log.log_start_offset, log.end, log.last_stable_offset) for partition, log in logs.items()
    }


def fetch_ranges(
    cluster: Cluster,
    partitions: Sequence[TopicPartition],
    start: OffsetSpecs,
    isolation_level: str,
    missing: Missing,
    deadline: Deadline,
) -> dict[TopicPartition, FetchRange]:
    """Return the offsets to read of each partition. An offset outside its log gives a note.

    One before the log is replaced by the log's start; from one after its end there is nothing to read.
    """
    logs, failures = ask_log_bounds(cluster, partitions, isolation_level, deadline)
    resolved = resolve(cluster, start, logs, deadline)
    missing.failures += [*failures.values(), *resolved.failures.values()]
    missing.notes += [
        f"{partition.topic}-{partition.partition}: offset {offset} is outside of {log.log_start_offset} to {log.end}: "
        f"{'nothing to read' if offset > log.end else f'read from {log.log_start_offset}'}"
        for partition, offset in resolved.outside.items()
        for log in [logs[partition]]
    ]
    return {
        partition: FetchRange(
            max(offset, logs[partition].log_start_offset), logs[partition].end, logs[partition].last_stable_offset
        )
        for partition, offset in resolved.offsets.items()
    }
