"""Turns a plan and the outcomes of its tasks into rows of record_ranges and record_problems, and the next offsets.

A range ends where reading first stopped, or where a leader's log turned out not to be what was read. What a later task read
after that point is left out, files and all, so that ranges tile and the next run reads it.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from kafka_lagoon.client.cluster import TopicPartition
from kafka_lagoon.fetch.epoch_checks import Checked
from kafka_lagoon.fetch.epochs import Divergence, EpochRange
from kafka_lagoon.fetch.plan import Archived, Plan
from kafka_lagoon.fetch.ranges import (
    LOG_TRUNCATED,
    LOST,
    TOPIC_DELETED,
    TOPIC_RECREATED,
    Event,
    PlannedRange,
    Position,
    with_epochs,
)
from kafka_lagoon.fetch.record_rows import RecordProblemRow, RecordRangeRow
from kafka_lagoon.fetch.split import Outcome
from kafka_lagoon.records.decoding import Counts, Problem

STOPPED = "STOPPED"  # a task gave no reason
FILE_LEFT_OUT = "FILE_LEFT_OUT"  # what was read is in one file with records that a truncation took back
LOSSES = frozenset({LOST, LOG_TRUNCATED, TOPIC_RECREATED, TOPIC_DELETED})


def is_loss(row: RecordRangeRow) -> bool:
    """Whether a range has something that no later run can read."""
    return row.problem in LOSSES or row.corrupt > 0


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskOutcome:
    """What one task came to: an outcome for each of its splits, and how many data files hold each partition's records."""

    outcomes: Sequence[Outcome]
    files: Mapping[TopicPartition, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reconciled:
    """A run's rows, the positions it leaves, which tasks' files belong to it, and how many planned offsets it left unread."""

    ranges: Sequence[RecordRangeRow]
    problems: Sequence[RecordProblemRow]
    topics: Mapping[str, Archived]
    kept: frozenset[int]
    unread: int = 0


@dataclass(slots=True)
class _Walk:
    """A partition on its way from split to split."""

    reached: int
    counts: Counts
    epochs: list[EpochRange] = field(default_factory=list)
    leader_epoch: int = -1
    failure: str | None = None
    problems: dict[tuple[int, str], Problem] = field(default_factory=dict)
    tasks: list[int] = field(default_factory=list)


def reconcile(
    ingest_id: str,
    cluster: str,
    cluster_id: str,
    plan: Plan,
    archived: Mapping[str, Archived],
    tasks: Sequence[TaskOutcome],
    checked: Checked | None = None,
) -> Reconciled:
    """Put the tasks' outcomes together, in the order of the partitions' offsets.

    `checked` is what leaders said, after the reading, of the epochs that were read.
    """
    checked = checked or Checked()
    left_out = {
        number for number, task in enumerate(tasks) if any(_diverged(one, checked.divergences) for one in task.outcomes)
    }
    read: dict[TopicPartition, list[tuple[int, Outcome]]] = {}
    for number, task in enumerate(tasks):
        for outcome in task.outcomes:
            read.setdefault(TopicPartition(outcome.split.topic, outcome.split.partition), []).append((number, outcome))
    rows = _Rows(ingest_id, cluster, cluster_id, plan.planned_at_ms)
    ranges = [rows.of_event(event) for event in plan.events]
    problems: list[RecordProblemRow] = []
    kept: set[int] = set()
    unread = 0
    positions: dict[TopicPartition, Position] = {}
    for one in plan.ranges:
        at = TopicPartition(one.topic, one.partition)
        walk = _walk(one, read.get(at, []), left_out, checked.divergences.get(at))
        files = sum(tasks[number].files.get(at, 0) for number in walk.tasks)
        ranges.append(rows.of_range(one, walk, files))
        problems += rows.of_problems(one, walk)
        kept.update(walk.tasks)
        positions[at] = _position(one, walk, is_confirmed=at in checked.confirmed)
        unread += one.to_offset - walk.reached
    return Reconciled(
        ranges=ranges,
        problems=problems,
        topics=_go_on(plan, archived, positions),
        kept=frozenset(kept),
        unread=unread,
    )


def _diverged(outcome: Outcome, divergences: Mapping[TopicPartition, Divergence]) -> bool:
    """Whether a split read offsets that its leader's log does not have any more, or has otherwise."""
    parted = divergences.get(TopicPartition(outcome.split.topic, outcome.split.partition))
    return parted is not None and outcome.next_offset > max(parted.offset, outcome.split.from_offset)


def _walk(
    one: PlannedRange, read: Sequence[tuple[int, Outcome]], left_out: set[int], parted: Divergence | None
) -> _Walk:
    walk = _Walk(one.first_readable, Counts(lost=one.first_readable - one.from_offset))
    for number, outcome in sorted(read, key=lambda numbered: numbered[1].split.from_offset):
        if outcome.split.from_offset != walk.reached:
            break
        if number in left_out:
            walk.failure = LOG_TRUNCATED if parted else FILE_LEFT_OUT
            break
        walk.tasks.append(number)
        walk.counts.add(outcome.counts)
        walk.problems |= {(problem.base_offset, problem.reason): problem for problem in outcome.problems}
        walk.reached = outcome.next_offset
        walk.epochs += outcome.epochs
        walk.leader_epoch = max(walk.leader_epoch, outcome.leader_epoch)
        walk.failure = outcome.failure
        if outcome.failure or outcome.next_offset < outcome.split.to_offset:
            break
    if walk.reached < one.to_offset and not walk.failure:
        walk.failure = STOPPED
    return walk


def _position(one: PlannedRange, walk: _Walk, *, is_confirmed: bool) -> Position:
    return Position(
        next_offset=walk.reached,
        leader_epoch=walk.leader_epoch if walk.leader_epoch >= 0 else one.last_epoch,
        epochs=with_epochs(one.epochs, walk.epochs),
        confirmed=one.confirmed and is_confirmed,
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
        elif event.problem == LOG_TRUNCATED:
            parted = Divergence(event.to_offset, event.leader_epoch)
            partitions[event.partition] = partitions[event.partition].back_at(parted)
        elif event.problem is None:
            partitions[event.partition] = Position(next_offset=event.to_offset)
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
