"""A plan and what reading it came to in; the rows of record_ranges and record_problems, and where to go on, out.

Guards one rule: a range ends where reading first stopped. What a later task read behind that point is left out, files and
all, so that ranges tile and the next run reads it.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from pipeline.client.cluster import TopicPartition
from pipeline.fetch.plan import Archived, Plan
from pipeline.fetch.ranges import (
    LOG_TRUNCATED,
    LOST,
    TOPIC_DELETED,
    TOPIC_RECREATED,
    Event,
    PlannedRange,
    Position,
    with_epochs,
)
from pipeline.fetch.rows import RecordProblemRow, RecordRangeRow
from pipeline.fetch.split import Outcome
from pipeline.records.decoding import Counts, Problem

STOPPED = "STOPPED"  # a task gave no reason
LOSSES = frozenset({LOST, LOG_TRUNCATED, TOPIC_RECREATED, TOPIC_DELETED})


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskOutcome:
    """What one task came to: an outcome for each of its splits, and how many data files hold each partition's records."""

    outcomes: Sequence[Outcome]
    files: Mapping[TopicPartition, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Settled:
    """A run's rows, the positions it leaves, and which tasks' files belong to it."""

    ranges: Sequence[RecordRangeRow]
    problems: Sequence[RecordProblemRow]
    topics: Mapping[str, Archived]
    kept: frozenset[int]


@dataclass(slots=True)
class _Walk:
    """A partition on its way from split to split."""

    reached: int
    counts: Counts
    epochs: dict[int, int] = field(default_factory=dict)
    leader_epoch: int = -1
    failure: str | None = None
    problems: dict[tuple[int, str], Problem] = field(default_factory=dict)
    tasks: list[int] = field(default_factory=list)


def settle(
    ingest_id: str,
    cluster: str,
    cluster_id: str,
    plan: Plan,
    archived: Mapping[str, Archived],
    tasks: Sequence[TaskOutcome],
) -> Settled:
    """Put the tasks' outcomes together, in the order of the partitions' offsets."""
    read: dict[TopicPartition, list[tuple[int, Outcome]]] = {}
    for number, task in enumerate(tasks):
        for outcome in task.outcomes:
            read.setdefault(TopicPartition(outcome.split.topic, outcome.split.partition), []).append((number, outcome))
    rows = _Rows(ingest_id, cluster, cluster_id, plan.planned_at_ms)
    ranges = [rows.of_event(event) for event in plan.events]
    problems: list[RecordProblemRow] = []
    kept: set[int] = set()
    positions: dict[TopicPartition, Position] = {}
    for one in plan.ranges:
        at = TopicPartition(one.topic, one.partition)
        walk = _walk(one, read.get(at, []))
        files = sum(tasks[number].files.get(at, 0) for number in walk.tasks)
        ranges.append(rows.of_range(one, walk, files))
        problems += rows.of_problems(one, walk)
        kept.update(walk.tasks)
        positions[at] = _position(one, walk)
    return Settled(
        ranges=ranges,
        problems=problems,
        topics=_go_on(plan, archived, positions),
        kept=frozenset(kept),
    )


def _walk(one: PlannedRange, read: Sequence[tuple[int, Outcome]]) -> _Walk:
    walk = _Walk(one.first_readable, Counts(lost=one.first_readable - one.from_offset))
    for number, outcome in sorted(read, key=lambda numbered: numbered[1].split.from_offset):
        if outcome.split.from_offset != walk.reached:
            break
        walk.tasks.append(number)
        walk.counts.add(outcome.counts)
        walk.problems |= {(problem.base_offset, problem.reason): problem for problem in outcome.problems}
        walk.reached = outcome.next_offset
        for epoch, first in outcome.epochs.items():
            walk.epochs.setdefault(epoch, first)
        walk.leader_epoch = max(walk.leader_epoch, outcome.leader_epoch)
        walk.failure = outcome.failure
        if outcome.failure or outcome.next_offset < outcome.split.to_offset:
            break
    if walk.reached < one.to_offset and not walk.failure:
        walk.failure = STOPPED
    return walk


def _position(one: PlannedRange, walk: _Walk) -> Position:
    return Position(
        next_offset=walk.reached,
        leader_epoch=walk.leader_epoch if walk.leader_epoch >= 0 else one.last_epoch,
        epochs=with_epochs(one.epochs, walk.epochs),
    )


def _go_on(
    plan: Plan, archived: Mapping[str, Archived], positions: Mapping[TopicPartition, Position]
) -> dict[str, Archived]:
    """Where every topic goes on: as it was, but for what this run has moved, begun or ended."""
    topics = {name: dict(known.partitions) for name, known in archived.items()}
    ids = {name: known.topic_id for name, known in archived.items()}
    for event in plan.events:
        partitions = topics.setdefault(event.topic, {})
        if event.problem in (TOPIC_DELETED, TOPIC_RECREATED):
            partitions.pop(event.partition, None)
        elif event.problem in (LOG_TRUNCATED, None):
            partitions[event.partition] = Position(next_offset=event.to_offset, leader_epoch=event.leader_epoch)
    for at, position in positions.items():
        topics.setdefault(at.topic, {})[at.partition] = position
    ids |= {name: topic_id for name, topic_id in plan.topic_ids.items() if name in topics}
    return {name: Archived(topic_id=ids[name], partitions=partitions) for name, partitions in topics.items()}


@dataclass(frozen=True, slots=True)
class _Rows:
    """Makes rows of one run."""

    ingest_id: str
    cluster: str
    cluster_id: str
    planned_at_ms: int

    def of_event(self, event: Event) -> RecordRangeRow:
        return self._range(event, event.to_offset, Counts(), event.leader_epoch, 0, event.problem)

    def of_range(self, one: PlannedRange, walk: _Walk, files: int) -> RecordRangeRow:
        epoch = walk.leader_epoch if walk.leader_epoch >= 0 else one.last_epoch
        problem = walk.failure or (LOST if walk.counts.lost else None)
        return self._range(one, walk.reached, walk.counts, epoch, files, problem)

    def of_problems(self, one: PlannedRange, walk: _Walk) -> Iterator[RecordProblemRow]:
        for problem in walk.problems.values():
            yield RecordProblemRow(
                ingest_id=self.ingest_id,
                cluster=self.cluster,
                cluster_id=self.cluster_id,
                topic=one.topic,
                topic_id=one.topic_id,
                partition=one.partition,
                base_offset=problem.base_offset,
                last_offset=problem.last_offset,
                reason=problem.reason,
                detail=problem.detail,
                raw=problem.raw,
            )

    def _range(
        self,
        where: Event | PlannedRange,
        to_offset: int,
        counts: Counts,
        leader_epoch: int,
        files: int,
        problem: str | None,
    ) -> RecordRangeRow:
        return RecordRangeRow(
            ingest_id=self.ingest_id,
            cluster=self.cluster,
            cluster_id=self.cluster_id,
            topic=where.topic,
            topic_id=where.topic_id,
            partition=where.partition,
            from_offset=where.from_offset,
            to_offset=to_offset,
            records=counts.records,
            control=counts.control,
            aborted=counts.aborted,
            compacted=counts.compacted,
            lost=counts.lost,
            corrupt=counts.corrupt,
            bytes_fetched=counts.bytes_fetched,
            bytes_decoded=counts.bytes_decoded,
            codec=",".join(sorted(counts.codecs)) or None,
            files=files,
            leader_epoch=None if leader_epoch < 0 else leader_epoch,
            problem=problem,
            planned_at_ms=self.planned_at_ms,
        )
