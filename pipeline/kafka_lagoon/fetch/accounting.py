"""Turns a plan and the outcomes of its tasks into rows of record_ranges and record_problems, and the next offsets.

A range ends where reading first stopped, or where a leader's log differs from the records that were read. Records that a later
task read after that offset are left out, with their files, so that ranges join and the next run reads them again.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from kafka_lagoon.fetch.archived import Archived
from kafka_lagoon.fetch.leader_epochs import Divergence, EpochRange
from kafka_lagoon.fetch.plan import Plan, sequence_event
from kafka_lagoon.fetch.ranges import (
    LOG_TRUNCATED,
    LOSSES,
    LOST,
    TOPIC_DELETED,
    Event,
    PlannedRange,
    Position,
    with_epochs,
)
from kafka_lagoon.fetch.split import SplitOutcome
from kafka_lagoon.fetch.tasks import TaskOutcome
from kafka_lagoon.fetch.topic_identity import NOT_CONFIRMED
from kafka_lagoon.fetch.truncation_checks import CheckedEpochs
from kafka_lagoon.frozen import frozen
from kafka_lagoon.records.decoding import Counts, Problem
from kafka_lagoon.tables.record_rows import RecordProblemRow, RecordRangeRow
from kafka_lagoon.topic_partition import TopicPartition

STOPPED = "STOPPED"  # a task gave no reason
FILE_LEFT_OUT = "FILE_LEFT_OUT"  # the records are in a file together with records that a truncation took back


def is_loss(row: RecordRangeRow) -> bool:
    """True if a range has offsets that no later run can read, whatever its problem: that may be why the range ended early."""
    return row.problem in LOSSES or row.lost > 0 or row.corrupt > 0


@frozen
class RunIdentity:
    """A run and its number among the runs of its cluster's archive, which orders runs whatever their clocks show."""

    ingest_id: str
    sequence: int
    cluster: str
    cluster_id: str


@frozen
class Reconciled:
    """A run's rows, the next offsets, the tasks whose files belong to it, and the number of planned offsets not read."""

    ranges: Sequence[RecordRangeRow]
    problems: Sequence[RecordProblemRow]
    topics: Mapping[str, Archived]
    kept: frozenset[int]
    unread: int = 0


@dataclass(slots=True)
class _PartitionRead:
    """The part of a range that its splits read, up to where reading first stopped."""

    reached: int
    counts: Counts
    epochs: list[EpochRange] = field(default_factory=list)
    leader_epoch: int = -1
    failure: str | None = None
    problems: dict[tuple[int, str], Problem] = field(default_factory=dict)
    tasks: list[int] = field(default_factory=list)


def reconcile(
    run: RunIdentity,
    plan: Plan,
    tasks: Sequence[TaskOutcome],
    checked: CheckedEpochs | None = None,
) -> Reconciled:
    """Put the tasks' outcomes together, in the order of the partitions' offsets.

    `checked` are the leaders' answers, after the reading, about the epochs that were read.
    """
    checked = checked or CheckedEpochs()
    left_out = {number for number, task in enumerate(tasks) if any(_is_left_out(one, checked) for one in task.outcomes)}
    read: dict[TopicPartition, list[tuple[int, SplitOutcome]]] = {}
    for number, task in enumerate(tasks):
        for outcome in task.outcomes:
            read.setdefault(outcome.split.topic_partition, []).append((number, outcome))
    rows = _Rows(run, plan.planned_at_ms)
    ranges = [rows.of_event(event) for event in plan.events]
    problems: list[RecordProblemRow] = []
    kept: set[int] = set()
    unread = 0
    positions: dict[TopicPartition, Position] = {}
    for planned in plan.ranges:
        partition = planned.topic_partition
        done = _joined_outcomes(planned, read.get(partition, []), left_out, _reason_to_leave_out(partition, checked))
        files = sum(tasks[number].files.get(partition, 0) for number in done.tasks)
        ranges.append(rows.of_range(planned, done, files))
        problems += rows.of_problems(planned, done)
        kept.update(done.tasks)
        positions[partition] = _position(planned, done, is_confirmed=partition in checked.confirmed)
        unread += planned.to_offset - done.reached
    topics = _next_topics(plan, positions)
    ended = _ended_without_id(plan, tasks)
    ranges += rows.of_ends(ranges, {name: topics[name] for name in ended})
    return Reconciled(
        ranges=ranges,
        problems=problems,
        topics={name: known.deleted() if name in ended else known for name, known in topics.items()},
        kept=frozenset(kept),
        unread=unread,
    )


def _ended_without_id(plan: Plan, tasks: Sequence[TaskOutcome]) -> set[str]:
    """Topics without an id that every broker denied while they were read.

    The next topic of the name has no id either, so only the end of all partitions tells it from this one.
    """
    outcomes = (outcome for task in tasks for outcome in task.outcomes)
    deleted = {outcome.split.topic for outcome in outcomes if outcome.failure == TOPIC_DELETED}
    return {name for name in deleted if plan.topic_ids[name] is None}


def _is_left_out(outcome: SplitOutcome, checked: CheckedEpochs) -> bool:
    """True if a split read records that its leader's log lacks or has replaced, or that belong to another topic."""
    partition = outcome.split.topic_partition
    divergence = checked.divergences.get(partition)
    is_gone = divergence is not None and outcome.next_offset > max(divergence.offset, outcome.split.from_offset)
    return is_gone or partition in checked.foreign


def _reason_to_leave_out(partition: TopicPartition, checked: CheckedEpochs) -> str:
    if partition in checked.foreign:
        return NOT_CONFIRMED
    return LOG_TRUNCATED if partition in checked.divergences else FILE_LEFT_OUT


def _joined_outcomes(
    planned: PlannedRange, read: Sequence[tuple[int, SplitOutcome]], left_out: set[int], reason: str
) -> _PartitionRead:
    done = _PartitionRead(planned.first_readable, Counts(lost=planned.first_readable - planned.from_offset))
    for number, outcome in sorted(read, key=lambda numbered: numbered[1].split.from_offset):
        if outcome.split.from_offset != done.reached:
            break
        if number in left_out:
            done.failure = reason
            break
        done.tasks.append(number)
        done.counts.add(outcome.counts)
        done.problems |= {(problem.base_offset, problem.reason): problem for problem in outcome.problems}
        done.reached = outcome.next_offset
        done.epochs += outcome.epochs
        done.leader_epoch = max(done.leader_epoch, outcome.leader_epoch)
        done.failure = outcome.failure
        if outcome.failure:
            break
    if done.reached < planned.to_offset and not done.failure:
        done.failure = STOPPED
    return done


def _position(planned: PlannedRange, done: _PartitionRead, *, is_confirmed: bool) -> Position:
    return Position(
        next_offset=done.reached,
        leader_epoch=done.leader_epoch if done.leader_epoch >= 0 else planned.last_epoch,
        epochs=with_epochs(planned.epochs, done.epochs),
        confirmed=planned.confirmed and is_confirmed,
    )


def _next_topics(plan: Plan, positions: Mapping[TopicPartition, Position]) -> dict[str, Archived]:
    """The next offsets of every topic: those of the plan, with the positions that this run has reached.

    A new topic of which no partition has answered is included, because it has the starts of its partitions.
    """
    topics = {name: dict(known.partitions) for name, known in plan.archived.items()}
    topics |= {name: {} for name in plan.unstarted}
    for event in plan.events:
        partitions = topics.setdefault(event.topic, {})
        if event.problem == LOG_TRUNCATED:
            divergence = Divergence(event.to_offset, event.leader_epoch)
            partitions[event.partition] = partitions[event.partition].back_at(divergence)
        elif event.problem is None:
            partitions.setdefault(event.partition, Position(next_offset=event.to_offset))
    for partition, position in positions.items():
        topics.setdefault(partition.topic, {})[partition.partition] = position
    return {
        name: _with_partitions(
            plan.archived.get(name)
            or Archived(topic_id=plan.topic_ids[name], partitions={}, unstarted=plan.unstarted.get(name, {})),
            partitions,
        )
        for name, partitions in topics.items()
    }


def _with_partitions(known: Archived, partitions: Mapping[int, Position]) -> Archived:
    unstarted = {number: start for number, start in known.unstarted.items() if number not in partitions}
    return replace(known, partitions=partitions, unstarted=unstarted)


@frozen(kw_only=False)
class _Rows:
    """Makes rows of one run."""

    run: RunIdentity
    planned_at_ms: int

    def of_event(self, event: Event) -> RecordRangeRow:
        return self._range(event, event.to_offset, Counts(), event.leader_epoch, 0, event.problem)

    def of_range(self, planned: PlannedRange, done: _PartitionRead, files: int) -> RecordRangeRow:
        epoch = done.leader_epoch if done.leader_epoch >= 0 else planned.last_epoch
        # A range may have lost offsets and also ended early. Column `lost` shows the loss, so `problem` has the other reason.
        problem = done.failure or (LOST if done.counts.lost else None)
        return self._range(planned, done.reached, done.counts, epoch, files, problem)

    def of_ends(self, ranges: Sequence[RecordRangeRow], ended: Mapping[str, Archived]) -> list[RecordRangeRow]:
        """Events that end the partitions of these topics, where no range of this run does so."""
        of_ranges = {(row.topic, row.partition) for row in ranges if row.problem == TOPIC_DELETED}
        return [
            self.of_event(sequence_event(TopicPartition(name, number), known.topic_id, position, TOPIC_DELETED))
            for name, known in ended.items()
            for number, position in known.partitions.items()
            if (name, number) not in of_ranges
        ]

    def of_problems(self, planned: PlannedRange, done: _PartitionRead) -> Iterator[RecordProblemRow]:
        for problem in done.problems.values():
            yield RecordProblemRow(
                ingest_id=self.run.ingest_id,
                cluster=self.run.cluster,
                cluster_id=self.run.cluster_id,
                topic=planned.topic,
                topic_id=planned.topic_id,
                partition=planned.partition,
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
            ingest_id=self.run.ingest_id,
            cluster=self.run.cluster,
            cluster_id=self.run.cluster_id,
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
            sequence=self.run.sequence,
        )
