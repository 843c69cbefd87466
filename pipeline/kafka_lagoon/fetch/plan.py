"""Plans one run of an archive: the offsets to read of each partition, and the events of topics and logs since the last run.

Everything to read is planned or is a failure with its reason. A topic that was deleted or re-created ends its sequence of
ranges with an event before another sequence begins.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from kafka_lagoon.client.agreement import agreed_metadata
from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.client.failures import Failure, Scope, failure_of, own_failure
from kafka_lagoon.clock import Deadline
from kafka_lagoon.errors import ConfigError
from kafka_lagoon.fetch.archived import Archived
from kafka_lagoon.fetch.log_bounds import ask_log_bounds, range_bytes
from kafka_lagoon.fetch.offset_resolution import resolve
from kafka_lagoon.fetch.offset_specs import EARLIEST, AtTime, BeforeEnd, Latest, OffsetSpec, OffsetSpecs
from kafka_lagoon.fetch.ranges import (
    END_BEFORE_POSITION,
    TOPIC_DELETED,
    TOPIC_RECREATED,
    Event,
    LogBounds,
    PlannedRange,
    Position,
    limited,
    next_range,
)
from kafka_lagoon.fetch.read_spec import ReadSpec
from kafka_lagoon.fetch.topic_identity import (
    NOT_CONFIRMED,
    BelievedTopics,
    believed_topics,
    is_same_id,
    missing_partitions,
    same_for_leaders,
)
from kafka_lagoon.fetch.truncation_checks import CheckedEpochs, check_positions
from kafka_lagoon.frozen import frozen
from kafka_lagoon.protocol.error_codes import (
    INVALID_TOPIC_EXCEPTION,
    OFFSET_OUT_OF_RANGE,
    UNKNOWN_TOPIC_OR_PARTITION,
    error_code,
)
from kafka_lagoon.protocol.messages.list_offsets import LIST_OFFSETS
from kafka_lagoon.protocol.messages.metadata import METADATA, MetadataResponse, MetadataTopic
from kafka_lagoon.text import did_you_mean
from kafka_lagoon.topic_partition import TopicPartition
from kafka_lagoon.wire.primitives import uuid_text


@frozen
class Plan:
    """The plan of one run: `archived` is where it starts from, `topic_ids` those of its topics, `sizes` bytes by partition.

    `unstarted` has the starts of partitions that did not answer, of topics that are archived for the first time.
    """

    archived: Mapping[str, Archived]
    topic_ids: Mapping[str, str | None]
    ranges: Sequence[PlannedRange]
    events: Sequence[Event]
    failures: Sequence[Failure]
    sizes: Mapping[TopicPartition, int]
    planned_at_ms: int
    unstarted: Mapping[str, Mapping[int, OffsetSpec]] = field(default_factory=dict)

    def bytes_of(self, planned: PlannedRange) -> int:
        """About how many bytes a range has on its leader's disk."""
        return self.sizes[TopicPartition(planned.topic, planned.partition)]


@dataclass(slots=True)
class _Draft:
    """A plan in the making; the archived positions of a topic are those of its present id."""

    archived: dict[str, Archived]
    ids: dict[str, str | None] = field(default_factory=dict)
    partitions: list[TopicPartition] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)

    def position(self, partition: TopicPartition) -> Position | None:
        """The next offset of a partition, None if it is not archived."""
        known = self.archived.get(partition.topic)
        return known.partitions.get(partition.partition) if known else None

    def fail(self, failures: Mapping[TopicPartition, Failure]) -> None:
        """Record the reason why partitions cannot be planned, in their ranges, too, if they have any."""
        for partition, failure in failures.items():
            self.failures.append(failure)
            position = self.position(partition)
            if position is not None:
                self.events.append(_pause(partition, self.ids[partition.topic], position, failure.name))


def plan(cluster: Cluster, spec: ReadSpec, archived: Mapping[str, Archived], deadline: Deadline) -> Plan:
    """Ask the brokers and plan one run.

    ConfigError names topics that never existed, and starting offsets outside of their logs.
    """
    planned_at_ms = cluster.clock.now_ms()
    draft = _select(cluster, spec, archived, deadline)
    whole = _logs(cluster, spec, draft, deadline)
    logs = _until(cluster, spec, draft, whole, deadline)
    starts = _starts(cluster, spec, draft, logs.keys(), whole, deadline)
    ranges = limited(list(_ranges(cluster, draft, starts, logs, deadline)), spec.max_offsets)
    return Plan(
        archived=draft.archived,
        topic_ids=draft.ids,
        ranges=ranges,
        events=draft.events,
        failures=[*draft.failures, *cluster.refusals],
        sizes=range_bytes(cluster, ranges, logs, deadline),
        planned_at_ms=planned_at_ms,
        unstarted=_unstarted(spec, draft, archived, starts, planned_at_ms),
    )


def _select(cluster: Cluster, spec: ReadSpec, archived: Mapping[str, Archived], deadline: Deadline) -> _Draft:
    """The selected topics that exist, and the ends of those that were archived and do not exist any more."""
    topics: dict[str, MetadataTopic] = {}
    for answer in _metadata(cluster, spec, archived, deadline):
        topics |= {topic.name: topic for topic in answer.topics if topic.name is not None}
    internal = [name for name, topic in topics.items() if topic.is_internal]
    selected = spec.select(topics, internal)
    believed = believed_topics(cluster, {name: topics[name] for name in selected}, archived, deadline)
    _refuse_unknown(believed, topics, archived)
    draft = _Draft(dict(archived))
    for name in selected:
        if name in believed.unconfirmed:
            _leave_topic(draft, name, believed.unconfirmed[name])
        else:
            _take_topic(draft, name, believed.topics[name])
    return draft


def _metadata(
    cluster: Cluster, spec: ReadSpec, archived: Mapping[str, Archived], deadline: Deadline
) -> Iterator[MetadataResponse]:
    """Metadata of all topics if there is a pattern; by name of named topics, and of archived topics that the list lacks.

    A list that lacks a topic proves nothing (permissions, a broker with older metadata): a request by name does. Two brokers
    have to list all topics alike, or else a third one decides: a pattern leaves out topics that are said to be internal.
    """
    listed: set[str] = set()
    if spec.pattern:
        everything = agreed_metadata(cluster, None, deadline)
        listed = {topic.name for topic in everything.topics if topic.name is not None}
        yield everything
    continued = [name for name, known in archived.items() if known.partitions]
    by_name = (set(spec.topics) | set(spec.select(continued))) - listed
    if by_name:
        yield cluster.refresh(by_name, deadline)


def _refuse_unknown(
    believed: BelievedTopics, topics: Mapping[str, MetadataTopic], archived: Mapping[str, Archived]
) -> None:
    real = [name for name, topic in topics.items() if not topic.error_code]
    problems = []
    for name, topic in believed.topics.items():
        code = topic.error_code
        if code == UNKNOWN_TOPIC_OR_PARTITION and name not in archived and name not in believed.unconfirmed:
            problems.append(f"there is no topic {name}{did_you_mean(name, real)}")
        elif code == INVALID_TOPIC_EXCEPTION:
            problems.append(f"topic {name}: {error_code(code).name}")
    if problems:
        raise ConfigError(problems)


def _leave_topic(draft: _Draft, name: str, said: str) -> None:
    """Leave out a topic about which brokers disagree: its positions stay, and the next run asks again."""
    known = draft.archived.get(name)
    draft.ids[name] = known.topic_id if known else None
    draft.failures.append(own_failure(METADATA, Scope.of_topic(name), NOT_CONFIRMED, said))
    _end_sequences(draft, name, NOT_CONFIRMED)


def _take_topic(draft: _Draft, name: str, topic: MetadataTopic) -> None:
    known = draft.archived.get(name)
    if topic.error_code:
        draft.ids[name] = known.topic_id if known else None
        draft.failures.append(failure_of(METADATA, Scope.of_topic(name), topic.error_code))
        is_deleted = topic.error_code == UNKNOWN_TOPIC_OR_PARTITION
        _end_sequences(draft, name, TOPIC_DELETED if is_deleted else error_code(topic.error_code).name)
        if known and is_deleted:
            draft.archived[name] = known.deleted()
        return
    draft.ids[name] = uuid_text(topic.topic_id)
    if known:
        _continue_topic(draft, name, known, topic)
    numbers = sorted(partition.partition_index for partition in topic.partitions)
    draft.partitions += [TopicPartition(name, number) for number in numbers]


def _continue_topic(draft: _Draft, name: str, known: Archived, topic: MetadataTopic) -> None:
    """Continue an archived topic: under its id, under the id that its brokers give it now, or as another topic."""
    topic_id = draft.ids[name]
    if not known.partitions or not is_same_id(topic_id, known.topic_id):
        _end_sequences(draft, name, TOPIC_RECREATED)
        draft.archived[name] = known.re_created(topic_id)
    elif known.topic_id is None and topic_id is not None:
        _begin_under_id(draft, name, known, topic_id)
    else:
        draft.ids[name] = known.topic_id  # a broker before Kafka 2.8 gives none
    missing = missing_partitions(topic, draft.archived[name])
    reason = error_code(UNKNOWN_TOPIC_OR_PARTITION).name
    for number in missing:
        partition = TopicPartition(name, number)
        draft.fail({partition: own_failure(METADATA, Scope.of_partition(name, number), reason, "no broker lists it")})


def _begin_under_id(draft: _Draft, name: str, known: Archived, topic_id: str) -> None:
    """Continue a topic's ranges under the id that upgraded brokers gave it, at the same offsets."""
    draft.archived[name] = replace(known, topic_id=topic_id)
    for number, position in known.partitions.items():
        draft.events.append(_pause(TopicPartition(name, number), topic_id, position, None))


def _end_sequences(draft: _Draft, name: str, problem: str) -> None:
    known = draft.archived.get(name)
    if known:
        for partition, position in known.partitions.items():
            draft.events.append(_pause(TopicPartition(name, partition), known.topic_id, position, problem))


def _pause(partition: TopicPartition, topic_id: str | None, position: Position, problem: str | None) -> Event:
    """A range of no length where a sequence ends or waits; without a problem, where it begins."""
    return Event(
        topic=partition.topic,
        topic_id=topic_id,
        partition=partition.partition,
        from_offset=position.next_offset,
        to_offset=position.next_offset,
        problem=problem,
        leader_epoch=position.leader_epoch,
    )


def _logs(cluster: Cluster, spec: ReadSpec, draft: _Draft, deadline: Deadline) -> Mapping[TopicPartition, LogBounds]:
    """The bounds of each log; partitions whose leader did not answer become failures."""
    logs, failures = ask_log_bounds(cluster, draft.partitions, spec.isolation_level, deadline)
    draft.fail(failures)
    return logs


def _until(
    cluster: Cluster, spec: ReadSpec, draft: _Draft, logs: Mapping[TopicPartition, LogBounds], deadline: Deadline
) -> Mapping[TopicPartition, LogBounds]:
    """The bounds of each log for this run, which may end before the log."""
    if spec.reads_to_the_end:
        return logs
    ends = resolve(cluster, spec.end, logs, deadline)
    draft.fail(ends.failures)
    return {
        partition: logs[partition] if end >= logs[partition].end else replace(logs[partition], end=end)
        for partition, end in ends.offsets.items()
    }


def _starts(
    cluster: Cluster,
    spec: ReadSpec,
    draft: _Draft,
    partitions: Iterable[TopicPartition],
    logs: Mapping[TopicPartition, LogBounds],
    deadline: Deadline,
) -> dict[TopicPartition, Position]:
    """The offset at which each partition continues, or starts; a start before the end counts from that of the whole log."""
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
    cluster: Cluster, draft: _Draft, logs: Mapping[TopicPartition, LogBounds], deadline: Deadline
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


def _unstarted(
    spec: ReadSpec,
    draft: _Draft,
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


def _specified_starts(
    cluster: Cluster,
    spec: ReadSpec,
    draft: _Draft,
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


def _unknown_partitions(spec: ReadSpec, draft: _Draft) -> list[TopicPartition]:
    """Partitions that the start names and that do not exist, in new topics that exist. It may name topics of the future."""
    existing: set[tuple[str, int]] = set(draft.partitions)
    new = {partition.topic for partition in draft.partitions if partition.topic not in draft.archived}
    return [TopicPartition(*named) for named in spec.start.by_partition if named[0] in new and named not in existing]


def _ranges(
    cluster: Cluster,
    draft: _Draft,
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
            draft.events.append(_pause(partition, topic_id, position, None))
        elif not events and log.high_watermark < position.next_offset:
            draft.events.append(_pause(partition, topic_id, position, END_BEFORE_POSITION))


def _doubted(
    cluster: Cluster, draft: _Draft, checked: CheckedEpochs, deadline: Deadline
) -> dict[TopicPartition, Failure]:
    """Truncations that may belong to another topic: leaders are asked by name, and a leader may have a re-created topic."""
    diverged: Collection[TopicPartition] = checked.divergences.keys()
    same = same_for_leaders(cluster, diverged, draft.ids, deadline) if diverged else set()
    return {
        partition: own_failure(
            METADATA,
            Scope.of_partition(*partition),
            NOT_CONFIRMED,
            "its log was truncated, if its leader has the topic that is archived",
        )
        for partition in diverged
        if partition not in same
    }
