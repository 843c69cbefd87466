"""Finds the position at which each partition of an archive continues, or starts when it is archived for the first time.

The start in the settings applies to the first run of a topic. Partitions that did not answer then use it in a later run.
"""

from collections.abc import Iterable, Mapping
from typing import cast

from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.client.failures import Failure, Scope, own_failure
from kafka_lagoon.clock import Deadline
from kafka_lagoon.errors import ConfigError
from kafka_lagoon.fetch.archived import Archived
from kafka_lagoon.fetch.offset_resolution import resolve
from kafka_lagoon.fetch.offset_specs import EARLIEST, AtTime, BeforeEnd, Latest, OffsetSpec, OffsetSpecs
from kafka_lagoon.fetch.plan import PlanDraft
from kafka_lagoon.fetch.ranges import LogBounds, Position
from kafka_lagoon.fetch.read_spec import ReadSpec
from kafka_lagoon.protocol.error_codes import OFFSET_OUT_OF_RANGE, UNKNOWN_TOPIC_OR_PARTITION, error_code
from kafka_lagoon.protocol.messages.list_offsets import LIST_OFFSETS
from kafka_lagoon.topic_partition import TopicPartition


def start_positions(
    cluster: Cluster,
    spec: ReadSpec,
    draft: PlanDraft,
    partitions: Iterable[TopicPartition],
    logs: Mapping[TopicPartition, LogBounds],
    deadline: Deadline,
) -> dict[TopicPartition, Position]:
    """The position at which each partition continues or starts. `logs` are whole logs, whatever end the spec gives.

    ConfigError for starts outside of their logs, if none of the topics is archived.
    """
    positions = {partition: draft.position(partition) for partition in partitions}
    new = {partition: logs[partition] for partition, position in positions.items() if position is None}
    if not new:  # a copy of a million positions takes 40 MB
        return cast("dict[TopicPartition, Position]", positions)
    starts = _later_starts(
        cluster,
        draft,
        {partition: log for partition, log in new.items() if partition.topic in draft.archived},
        deadline,
    )
    starts |= _specified_starts(
        cluster,
        spec,
        draft,
        {partition: log for partition, log in new.items() if partition.topic not in draft.archived},
        deadline,
    )
    positions |= {partition: Position(next_offset=offset) for partition, offset in starts.items()}
    return {partition: position for partition, position in positions.items() if position is not None}


def _later_starts(
    cluster: Cluster, draft: PlanDraft, logs: Mapping[TopicPartition, LogBounds], deadline: Deadline
) -> dict[TopicPartition, int]:
    """The starts of new partitions of archived topics: that of the first run if they existed then, else the earliest offset.

    An offset of the first run was not checked if the partition did not answer. If it is after the end of the log, that is a
    failure, and the partition starts at the earliest offset.
    """
    specs = {
        partition: draft.archived[partition.topic].unstarted.get(partition.partition, EARLIEST) for partition in logs
    }
    resolved = resolve(cluster, OffsetSpecs(name="the first run", by_partition=specs), logs, deadline)
    after_end = {
        partition: offset for partition, offset in resolved.outside.items() if offset > logs[partition].high_watermark
    }
    draft.fail(resolved.failures)
    draft.fail({partition: _after_end(partition, offset, logs[partition]) for partition, offset in after_end.items()})
    return {
        partition: logs[partition].log_start_offset if partition in after_end else offset
        for partition, offset in resolved.offsets.items()
    }


def _after_end(partition: TopicPartition, offset: int, log: LogBounds) -> Failure:
    return own_failure(
        LIST_OFFSETS,
        Scope.of_partition(*partition),
        error_code(OFFSET_OUT_OF_RANGE).name,
        f"its first run was to start at {offset}, which is after the end of its log, {log.high_watermark}: it starts at "
        f"{log.log_start_offset}",
    )


def _specified_starts(
    cluster: Cluster,
    spec: ReadSpec,
    draft: PlanDraft,
    logs: Mapping[TopicPartition, LogBounds],
    deadline: Deadline,
) -> Mapping[TopicPartition, int]:
    """The offsets of the spec for partitions of topics that were never archived.

    ConfigError for offsets outside of their logs, if none of the topics is archived. Otherwise only their own topics fail: a
    scheduled run keeps its start in the settings, and may find a new topic at any time.
    """
    resolved = resolve(cluster, spec.start, logs, deadline)
    refused: dict[TopicPartition, Failure] = {
        partition: _refused_start(
            spec,
            partition,
            OFFSET_OUT_OF_RANGE,
            f"{partition.topic}:{partition.partition}={offset} is outside of its log, which has "
            f"{logs[partition].log_start_offset} to {logs[partition].high_watermark}",
        )
        for partition, offset in resolved.outside.items()
        # An offset in an open transaction is after the last stable offset, which is the end here; later runs will reach it.
        if not logs[partition].log_start_offset <= offset <= logs[partition].high_watermark
    }
    for partition in _unknown_partitions(spec, draft):
        what = f"there is no partition {partition.topic}:{partition.partition}"
        refused[partition] = _refused_start(spec, partition, UNKNOWN_TOPIC_OR_PARTITION, what)
    if refused and not draft.archived.keys() & draft.ids.keys():
        raise ConfigError([failure.message or failure.name for failure in refused.values()])
    draft.fail({**refused, **resolved.failures})
    topics = {partition.topic for partition in refused}
    draft.partitions = [partition for partition in draft.partitions if partition.topic not in topics]
    return {partition: offset for partition, offset in resolved.offsets.items() if partition.topic not in topics}


def _refused_start(spec: ReadSpec, partition: TopicPartition, code: int, what: str) -> Failure:
    scope = Scope.of_partition(*partition)
    return own_failure(LIST_OFFSETS, scope, error_code(code).name, f"{spec.start.name}: {what}")


def _unknown_partitions(spec: ReadSpec, draft: PlanDraft) -> list[TopicPartition]:
    """Partitions in the spec's start that do not exist, of new topics that exist. Other topics may still be created."""
    existing: set[tuple[str, int]] = set(draft.partitions)
    new = {partition.topic for partition in draft.partitions if partition.topic not in draft.archived}
    return [TopicPartition(*named) for named in spec.start.by_partition if named[0] in new and named not in existing]


def unstarted_specs(
    spec: ReadSpec,
    draft: PlanDraft,
    archived: Mapping[str, Archived],
    starts: Mapping[TopicPartition, Position],
    planned_at_ms: int,
) -> dict[str, dict[int, OffsetSpec]]:
    """The starts of partitions that did not answer, in topics that were never archived.

    A start at the end of the log is stored as the time of this run, so that a later run does not skip the records since.
    """
    unstarted: dict[str, dict[int, OffsetSpec]] = {}
    for partition in draft.partitions:
        if partition.topic not in archived and partition not in starts:
            start = _as_of(spec.start.of(partition), planned_at_ms)
            unstarted.setdefault(partition.topic, {})[partition.partition] = start
    return unstarted


def _as_of(start: OffsetSpec, planned_at_ms: int) -> OffsetSpec:
    match start:
        case Latest():
            return AtTime(planned_at_ms)
        case BeforeEnd(offsets):
            return BeforeEnd(offsets, planned_at_ms)
    return start
