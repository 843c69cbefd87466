"""Plans one run of an archive: the offsets to read of each partition, and the events of topics and logs since the last run.

A partition with records to read has a range, or a failure with its reason. The steps: select topics (fetch/topic_selection.py),
ask for the bounds of their logs, find the starts (fetch/start_positions.py), let the leaders confirm them, and make the ranges.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace

from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.client.failures import Failure, Scope, own_failure
from kafka_lagoon.clock import Deadline
from kafka_lagoon.fetch.archived import Archived
from kafka_lagoon.fetch.log_bounds import ask_log_bounds, range_bytes
from kafka_lagoon.fetch.offset_resolution import resolve
from kafka_lagoon.fetch.plan import Plan, PlanDraft, sequence_event
from kafka_lagoon.fetch.ranges import END_BEFORE_POSITION, LogBounds, PlannedRange, Position, limited, next_range
from kafka_lagoon.fetch.read_spec import ReadSpec
from kafka_lagoon.fetch.start_positions import start_positions, unstarted_specs
from kafka_lagoon.fetch.topic_identity import NOT_CONFIRMED, same_for_leaders
from kafka_lagoon.fetch.topic_selection import select_topics
from kafka_lagoon.fetch.truncation_checks import CheckedEpochs, check_positions
from kafka_lagoon.protocol.messages.metadata import METADATA
from kafka_lagoon.topic_partition import TopicPartition


def plan(cluster: Cluster, spec: ReadSpec, archived: Mapping[str, Archived], deadline: Deadline) -> Plan:
    """Ask the brokers and plan one run.

    ConfigError names topics that never existed, and starting offsets outside of their logs.
    """
    planned_at_ms = cluster.clock.now_ms()
    draft = select_topics(cluster, spec, archived, deadline)
    whole = _logs(cluster, spec, draft, deadline)
    logs = _until(cluster, spec, draft, whole, deadline)
    starts = start_positions(cluster, spec, draft, logs.keys(), whole, deadline)
    ranges = limited(list(_ranges(cluster, draft, starts, logs, deadline)), spec.max_offsets)
    return Plan(
        archived=draft.archived,
        topic_ids=draft.ids,
        ranges=ranges,
        events=draft.events,
        failures=[*draft.failures, *cluster.refusals],
        sizes=range_bytes(cluster, ranges, logs, deadline),
        planned_at_ms=planned_at_ms,
        unstarted=unstarted_specs(spec, draft, archived, starts, planned_at_ms),
    )


def _logs(cluster: Cluster, spec: ReadSpec, draft: PlanDraft, deadline: Deadline) -> Mapping[TopicPartition, LogBounds]:
    """The bounds of each log; partitions whose leader did not answer become failures."""
    logs, failures = ask_log_bounds(cluster, draft.partitions, spec.isolation_level, deadline)
    draft.fail(failures)
    return logs


def _until(
    cluster: Cluster, spec: ReadSpec, draft: PlanDraft, logs: Mapping[TopicPartition, LogBounds], deadline: Deadline
) -> Mapping[TopicPartition, LogBounds]:
    """The bounds of each log, cut at the end that the spec gives."""
    if spec.reads_to_the_end:
        return logs
    ends = resolve(cluster, spec.end, logs, deadline)
    draft.fail(ends.failures)
    return {
        partition: logs[partition] if end >= logs[partition].end else replace(logs[partition], end=end)
        for partition, end in ends.offsets.items()
    }


def _ranges(
    cluster: Cluster,
    draft: PlanDraft,
    starts: Mapping[TopicPartition, Position],
    logs: Mapping[TopicPartition, LogBounds],
    deadline: Deadline,
) -> Iterator[PlannedRange]:
    checked = check_positions(cluster, starts, deadline)
    doubted = _doubted(cluster, draft, checked, deadline)
    draft.fail(doubted)
    for partition, start in starts.items():
        if partition in doubted:
            continue
        is_confirmed = partition in checked.confirmed
        position = start if start.confirmed == is_confirmed else replace(start, confirmed=is_confirmed)
        topic_id, log = draft.ids[partition.topic], logs[partition]
        divergence = checked.divergences.get(partition)
        events, planned = next_range(partition.topic, topic_id, partition.partition, position, log, divergence)
        draft.events += events
        if planned:
            yield planned
        elif draft.position(partition) is None:
            draft.events.append(sequence_event(partition, topic_id, position, None))
        elif not events and log.high_watermark < position.next_offset:
            draft.events.append(sequence_event(partition, topic_id, position, END_BEFORE_POSITION))


def _doubted(
    cluster: Cluster, draft: PlanDraft, checked: CheckedEpochs, deadline: Deadline
) -> dict[TopicPartition, Failure]:
    """Failures for truncations that may be of another topic: leaders are asked by name, and may have a re-created topic."""
    diverged: Collection[TopicPartition] = checked.divergences.keys()
    same = same_for_leaders(cluster, diverged, draft.ids, deadline) if diverged else set()
    return {
        partition: own_failure(
            METADATA,
            Scope.of_partition(*partition),
            NOT_CONFIRMED,
            "its log was truncated, or its leader has a re-created topic of this name",
        )
        for partition in diverged
        if partition not in same
    }
