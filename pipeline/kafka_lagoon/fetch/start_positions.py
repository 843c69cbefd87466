"""Finds the position at which each partition of an archive continues, or starts when it is archived for the first time.

The start that the settings give is for the first run of a topic. Partitions that did not answer then keep it for later runs.
"""

from collections.abc import Iterable, Mapping

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
    """The offset at which each partition continues, or starts; a start before the end counts from that of the whole log.

    ConfigError for starts outside of their logs, if none of the topics is archived.
    """
    positions = {partition: draft.position(partition) for partition in partitions}
    new = {partition: logs[partition] for partition, position in positions.items() if position is None}
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
    """The offsets at which partitions of archived topics start: those of the first run if they were there, else earliest.

    A number of the first run that is after the end of the log was never checked, because the partition did not answer. It is a
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

    ConfigError for offsets that no log has, if none of the topics is archived. Beside archived topics they cost their own topic
    only: a schedule keeps its start in the settings, and finds other topics in each run.
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
        # An offset in an open transaction is after the end for readers of committed records; later runs reach it.
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
    """Partitions that the start names and that do not exist, in new topics that exist; a pattern may find others later."""
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

    The end of a log is one at the time of this run, so that records after that are not left out.
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
