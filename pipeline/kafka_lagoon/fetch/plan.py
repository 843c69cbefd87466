"""What is wanted and what is archived in; for every partition, the offsets to read and what happened since, out.

Guards one rule: nothing that is wanted drops out in silence. A partition that cannot be planned is a failure with its
reason, a topic that was deleted or created anew ends its old sequence with an event, and only then begins another.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from kafka_lagoon.admin.offsets import offsets_at
from kafka_lagoon.client.cluster import Cluster, TopicPartition
from kafka_lagoon.client.failures import Failure, Scope, failure_of
from kafka_lagoon.clock import Deadline
from kafka_lagoon.errors import ConfigError
from kafka_lagoon.fetch.epoch_checks import check_positions
from kafka_lagoon.fetch.logs import ask_logs, range_bytes
from kafka_lagoon.fetch.offset_specs import Wanted
from kafka_lagoon.fetch.ranges import (
    END_BEFORE_POSITION,
    TOPIC_DELETED,
    TOPIC_RECREATED,
    Event,
    LogNow,
    PlannedRange,
    Position,
    limited,
    next_range,
)
from kafka_lagoon.fetch.split import READ_COMMITTED, READ_UNCOMMITTED
from kafka_lagoon.protocol.error_codes import INVALID_TOPIC_EXCEPTION, UNKNOWN_TOPIC_OR_PARTITION, error_code
from kafka_lagoon.protocol.messages.metadata import METADATA, MetadataResponse, MetadataTopic
from kafka_lagoon.text import did_you_mean
from kafka_lagoon.wire.primitives import uuid_text


@dataclass(frozen=True, slots=True, kw_only=True)
class Archived:
    """A topic of which something is archived: its id then, and where each partition goes on."""

    topic_id: str | None
    partitions: Mapping[int, Position]


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What a run will do; `topic_ids` are those of the topics that are there, `sizes` bytes by partition."""

    topic_ids: Mapping[str, str | None]
    ranges: Sequence[PlannedRange]
    events: Sequence[Event]
    failures: Sequence[Failure]
    sizes: Mapping[TopicPartition, int]
    planned_at_ms: int

    def bytes_of(self, one: PlannedRange) -> int:
        """About how many bytes a range has on its leader's disk."""
        return self.sizes[TopicPartition(one.topic, one.partition)]


@dataclass(slots=True)
class _Draft:
    """A plan in the making."""

    archived: Mapping[str, Archived]
    ids: dict[str, str | None] = field(default_factory=dict)
    partitions: list[TopicPartition] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)

    def position(self, at: TopicPartition) -> Position | None:
        """Where a partition goes on, if the topic is still the one that was archived."""
        known = self.archived.get(at.topic)
        if known is None or known.topic_id != self.ids[at.topic]:
            return None
        return known.partitions.get(at.partition)

    def fail(self, at: TopicPartition, failure: Failure) -> None:
        """Note why a partition cannot be planned, in its ranges too if it has any."""
        self.failures.append(failure)
        position = self.position(at)
        if position is not None:
            self.events.append(_ending(at, self.ids[at.topic], position, failure.name))


def plan(cluster: Cluster, wanted: Wanted, archived: Mapping[str, Archived], deadline: Deadline) -> Plan:
    """Ask the brokers and plan one run.

    ConfigError names topics that never were, and starting offsets outside of their logs.
    """
    planned_at_ms = cluster.clock.now_ms()
    draft = _choose(cluster, wanted, archived, deadline)
    logs = _logs(cluster, wanted, draft, deadline)
    starts = _starts(cluster, wanted, draft, logs, deadline)
    ranges = limited(list(_ranges(cluster, draft, starts, logs, deadline)), wanted.most_offsets)
    return Plan(
        topic_ids=draft.ids,
        ranges=ranges,
        events=draft.events,
        failures=draft.failures,
        sizes=range_bytes(cluster, ranges, logs, deadline),
        planned_at_ms=planned_at_ms,
    )


def _choose(cluster: Cluster, wanted: Wanted, archived: Mapping[str, Archived], deadline: Deadline) -> _Draft:
    """The topics that are wanted and there, and what became of those that were archived and are not there any more."""
    topics: dict[str, MetadataTopic] = {}
    for answer in _metadata(cluster, wanted, archived, deadline):
        topics |= {topic.name: topic for topic in answer.topics if topic.name is not None}
    internal = [name for name, topic in topics.items() if topic.is_internal]
    chosen = wanted.matching(topics, internal)
    _refuse_unknown(chosen, topics, archived)
    draft = _Draft(archived)
    for name in chosen:
        _take_topic(draft, name, topics[name])
    return draft


def _metadata(
    cluster: Cluster, wanted: Wanted, archived: Mapping[str, Archived], deadline: Deadline
) -> Iterator[MetadataResponse]:
    """All topics if there is a pattern; by name those that are named, and those archived that no list shows any more.

    A list that lacks a topic proves nothing (rights, a broker behind the others): a question by name does.
    """
    shown: set[str] = set()
    if wanted.pattern:
        everything = cluster.refresh(None, deadline)
        shown = {topic.name for topic in everything.topics if topic.name is not None}
        yield everything
    going_on = [name for name, one in archived.items() if one.partitions]
    by_name = (set(wanted.topics) | set(wanted.matching(going_on))) - shown
    if by_name:
        yield cluster.refresh(by_name, deadline)


def _refuse_unknown(
    chosen: Sequence[str], topics: Mapping[str, MetadataTopic], archived: Mapping[str, Archived]
) -> None:
    real = [name for name, topic in topics.items() if not topic.error_code]
    problems = []
    for name in chosen:
        code = topics[name].error_code
        if code == UNKNOWN_TOPIC_OR_PARTITION and name not in archived:
            problems.append(f"there is no topic {name}{did_you_mean(name, real)}")
        elif code == INVALID_TOPIC_EXCEPTION:
            problems.append(f"topic {name}: {error_code(code).name}")
    if problems:
        raise ConfigError(problems)


def _take_topic(draft: _Draft, name: str, topic: MetadataTopic) -> None:
    known = draft.archived.get(name)
    if topic.error_code:
        draft.ids[name] = known.topic_id if known else None
        draft.failures.append(failure_of(METADATA, Scope.of_topic(name), topic.error_code))
        gone = topic.error_code == UNKNOWN_TOPIC_OR_PARTITION
        _end_sequences(draft, name, TOPIC_DELETED if gone else error_code(topic.error_code).name)
        return
    draft.ids[name] = uuid_text(topic.topic_id)
    if known and known.topic_id != draft.ids[name]:
        _end_sequences(draft, name, TOPIC_RECREATED)
    for one in sorted(topic.partitions, key=lambda partition: partition.partition_index):
        draft.partitions.append(TopicPartition(name, one.partition_index))


def _end_sequences(draft: _Draft, name: str, problem: str) -> None:
    known = draft.archived.get(name)
    if known:
        for partition, position in known.partitions.items():
            draft.events.append(_ending(TopicPartition(name, partition), known.topic_id, position, problem))


def _ending(at: TopicPartition, topic_id: str | None, position: Position, problem: str | None) -> Event:
    """A range of no length: here a sequence ends, or waits; without a problem it begins here."""
    return Event(
        topic=at.topic,
        topic_id=topic_id,
        partition=at.partition,
        from_offset=position.next_offset,
        to_offset=position.next_offset,
        problem=problem,
        leader_epoch=position.leader_epoch,
    )


def _logs(cluster: Cluster, wanted: Wanted, draft: _Draft, deadline: Deadline) -> dict[TopicPartition, LogNow]:
    """Where each log begins and ends for this run; partitions whose leader did not say become failures."""
    level = READ_COMMITTED if wanted.read_committed else READ_UNCOMMITTED
    logs, failures = ask_logs(cluster, draft.partitions, level, deadline)
    for at, failure in failures.items():
        draft.fail(at, failure)
    if wanted.until_ms is None:
        return logs
    return _cut_at(cluster, draft, logs, wanted.until_ms, deadline)


def _cut_at(
    cluster: Cluster, draft: _Draft, logs: dict[TopicPartition, LogNow], until_ms: int, deadline: Deadline
) -> dict[TopicPartition, LogNow]:
    found = offsets_at(cluster, dict.fromkeys(logs, until_ms), deadline)
    for at, failure in found.failures.items():
        del logs[at]
        draft.fail(at, failure)
    return {
        at: log if found.answers[at].offset < 0 else replace(log, end=min(log.end, found.answers[at].offset))
        for at, log in logs.items()
    }


def _starts(
    cluster: Cluster, wanted: Wanted, draft: _Draft, logs: dict[TopicPartition, LogNow], deadline: Deadline
) -> dict[TopicPartition, Position]:
    """Where each partition goes on, or begins."""
    positions = {at: draft.position(at) for at in logs}
    new = [at for at, position in positions.items() if position is None]
    begin: dict[TopicPartition, int | None] = {at: logs[at].log_start_offset for at in new}
    fresh = [at for at in new if at.topic not in draft.archived]
    if wanted.start.latest:
        begin |= {at: logs[at].end for at in fresh}
    elif wanted.start.timestamp_ms is not None:
        begin |= _begin_at(cluster, draft, {at: logs[at] for at in fresh}, wanted.start.timestamp_ms, deadline)
    else:
        begin |= _named_offsets(wanted, fresh, logs)
    starts = {at: Position(next_offset=offset) for at, offset in begin.items() if offset is not None}
    return starts | {at: position for at, position in positions.items() if position is not None}


def _begin_at(
    cluster: Cluster, draft: _Draft, logs: Mapping[TopicPartition, LogNow], timestamp_ms: int, deadline: Deadline
) -> dict[TopicPartition, int | None]:
    """The first offset at or behind a time, the end of the log if there is none yet; None where nobody told it."""
    found = offsets_at(cluster, dict.fromkeys(logs, timestamp_ms), deadline)
    for at, failure in found.failures.items():
        draft.fail(at, failure)
    begun = {at: one.offset if one.offset >= 0 else logs[at].end for at, one in found.answers.items()}
    return {**dict.fromkeys(logs), **begun}


def _named_offsets(
    wanted: Wanted, fresh: Sequence[TopicPartition], logs: Mapping[TopicPartition, LogNow]
) -> dict[TopicPartition, int]:
    named = {at: wanted.start.offsets[at] for at in fresh if at in wanted.start.offsets}
    problems = [
        f"start: {at.topic}:{at.partition}={offset} is outside of its log, which has {logs[at].log_start_offset} "
        f"to {logs[at].high_watermark}"
        for at, offset in named.items()
        if not logs[at].log_start_offset <= offset <= logs[at].high_watermark
    ]
    problems += [f"start: there is no partition {at.topic}:{at.partition}" for at in _strangers(wanted, logs)]
    if problems:
        raise ConfigError(problems)
    return named


def _strangers(wanted: Wanted, logs: Mapping[TopicPartition, LogNow]) -> list[TopicPartition]:
    """Partitions that a start names and that are not there, in topics that are."""
    topics = {at.topic for at in logs}
    return [at for at in wanted.start.offsets if at.topic in topics and at not in logs]


def _ranges(
    cluster: Cluster,
    draft: _Draft,
    starts: Mapping[TopicPartition, Position],
    logs: Mapping[TopicPartition, LogNow],
    deadline: Deadline,
) -> Iterator[PlannedRange]:
    checked = check_positions(cluster, starts, deadline)
    for at, known in starts.items():
        position, parted = replace(known, confirmed=at in checked.confirmed), checked.divergences.get(at)
        events, found = next_range(at.topic, draft.ids[at.topic], at.partition, position, logs[at], parted)
        draft.events += events
        if found:
            yield found
        elif draft.position(at) is None:
            draft.events.append(_ending(at, draft.ids[at.topic], position, None))
        elif not events and logs[at].high_watermark < position.next_offset:
            draft.events.append(_ending(at, draft.ids[at.topic], position, END_BEFORE_POSITION))
