"""Writes archived records to partitions of the target, on an executor, each record once.

A task may die anywhere, and another attempt of it may still be running. Each begins by looking for what earlier ones have
written, and goes on after that. Which record has which sequence number follows from the plan, and brokers refuse every batch
that is not the next one of its producer, so no attempt can write what another one has written.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.client.failures import Failure
from kafka_lagoon.client.request_stats import RequestStats
from kafka_lagoon.clock import Clock, Deadline, backoff
from kafka_lagoon.errors import BrokerError, OtherAttempt, PipelineError, TargetChanged, TransactionFailed
from kafka_lagoon.fetch.ranges import LogBounds
from kafka_lagoon.fetch.split import ReadOptions
from kafka_lagoon.frozen import frozen
from kafka_lagoon.kafka_settings import KafkaSettings
from kafka_lagoon.produce.targets import TargetTopic, describe_targets
from kafka_lagoon.produce.transaction_requests import FENCED
from kafka_lagoon.produce.transactions import OffsetToCommit, Transaction, TransactionalProducer
from kafka_lagoon.protocol.error_codes import UNKNOWN_TOPIC_OR_PARTITION
from kafka_lagoon.records.digests import record_hashes
from kafka_lagoon.records.encoding import Producer
from kafka_lagoon.restore.archive_reader import read_archived
from kafka_lagoon.restore.asked_together import AskedTogether, logs_of
from kafka_lagoon.restore.committed_records import check_committed, may_be_forgotten, refuse_forgotten, refused
from kafka_lagoon.restore.offset_map import OffsetRange, batch_ranges, joined
from kafka_lagoon.restore.open_files import OpenFiles, SourceFile
from kafka_lagoon.restore.own_records import OwnRecords, find_own_records, last_sequences
from kafka_lagoon.restore.partition_writer import PartitionWriter, SendOptions
from kafka_lagoon.restore.plan import PlannedPartition, RestorePlan
from kafka_lagoon.restore.progress import Position
from kafka_lagoon.restore.recent_topics import RecentTopics
from kafka_lagoon.topic_partition import TopicPartition

_PAUSE_S = 0.5
_LONGEST_PAUSE_MS = 16_000
_UNKNOWN_FOR_MS = 10_000
_TRANSACTION_BYTES = 64 << 20
_SEQUENCES = 1 << 31


@frozen
class Work:
    """A partition to restore from a position on, and the data files that may have its records."""

    planned: PlannedPartition
    position: Position
    files: Sequence[SourceFile]


@frozen
class TaskSettings:
    """Settings that all tasks of a round share; `plan` is without its partitions.

    `ends_at_ms` is the end of the round, as wall time.
    """

    kafka: KafkaSettings
    clock: Clock
    plan: RestorePlan
    reading: ReadOptions
    memory_bytes: int
    timeout_ms: int
    ends_at_ms: int


@frozen
class WorkResult:
    """The progress of a partition, the records found or written for it, and a failure if it did not only run out of time."""

    target: TopicPartition
    position: Position
    ranges: Sequence[OffsetRange] = ()
    failure: str | None = None


def restore_partitions(settings: TaskSettings, works: Sequence[Work]) -> list[WorkResult]:
    """Write the remaining records of partitions, one after the other, until the round ends; a failure is a result.

    It may be called again with the same works, at any time and on any executor.
    """
    with Cluster(settings.kafka, settings.clock, RequestStats(), waits=True) as cluster:
        task = _Task(cluster, settings, [work.planned.target for work in works])
        return [_restore(task, work) for work in works]


class _Task:
    """The cluster that a task writes to, and what its partitions share: open data files, and answers about the target."""

    def __init__(self, cluster: Cluster, settings: TaskSettings, targets: Sequence[TopicPartition]) -> None:
        self.cluster, self.settings = cluster, settings
        self.opened = OpenFiles()
        self.topics = RecentTopics(settings.clock, lambda topic: _described(cluster, settings, topic))
        self.logs = logs_of(cluster, targets)
        self.last_sequences = AskedTogether(
            cluster,
            targets,
            lambda some, deadline: last_sequences(cluster, some, settings.plan.producer_id, deadline),
        )

    def deadline(self) -> Deadline:
        """The time that requests about one partition have from now on."""
        return Deadline.after(self.settings.clock, self.settings.timeout_ms)


def _restore(task: _Task, work: Work) -> WorkResult:
    written, settings = _Written(work), task.settings
    if settings.clock.now_ms() >= settings.ends_at_ms:
        return written.result()
    try:
        written.topics = task.topics.of(work.planned.target.topic)
        if not task.cluster.topics.may_be(work.planned.target.topic, work.planned.target_topic_id):
            raise TargetChanged(*work.planned.target, "is of another topic: it was re-created since the restore began")
        return _go_on_after_others(task, written)
    except PipelineError as error:
        return written.result(str(error))


def _described(cluster: Cluster, settings: TaskSettings, topic: str) -> dict[str, TargetTopic]:
    """Describe the topic; brokers that do not know it yet, as after its creation, are asked again."""
    deadline = Deadline.after(settings.clock, settings.timeout_ms)
    waiting = deadline.within(_UNKNOWN_FOR_MS)
    while True:
        try:
            return dict(describe_targets(cluster, {topic}, deadline))
        except BrokerError as error:
            if error.code != UNKNOWN_TOPIC_OR_PARTITION or not waiting.pause(_PAUSE_S):
                raise


@dataclass(slots=True)
class _Written:
    """The written records of a partition."""

    work: Work
    topics: dict[str, TargetTopic] = field(default_factory=dict)
    position: Position = field(init=False)
    ranges: list[OffsetRange] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.position = self.work.position

    def add(self, records: pa.RecordBatch, ranges: Sequence[OffsetRange]) -> None:
        """Count written records and their offsets. TargetChanged if the offsets are not after those of earlier records."""
        *before, last = [*self.ranges[-1:], *ranges]
        try:
            following = joined([*before, last])
        except ValueError as error:  # an unclean election has lost records that were written
            raise TargetChanged(*self.work.planned.target, f"was truncated since the restore began: {error}") from error
        self.ranges[-1:] = following  # without a copy: a compacted log has as many ranges as records
        self.position = replace(
            self.position,
            next_offset=last.source_end,
            target_offset=last.target_end,
            digest=self.position.digest.then(record_hashes(records, self.work.planned.digested)),
        )

    def add_all(self, pieces: Iterable[tuple[pa.RecordBatch, Sequence[OffsetRange]]]) -> None:
        """Count several lists of written records."""
        for records, ranges in pieces:
            self.add(records, ranges)

    def finish(self) -> None:
        """Mark that no records are left."""
        self.position = replace(self.position, next_offset=self.work.planned.source.to_offset, is_done=True)

    def result(self, failure: str | None = None) -> WorkResult:
        """The result for the driver."""
        target = self.work.planned.target
        return WorkResult(target=target, position=self.position, ranges=self.ranges, failure=failure)


def _go_on_after_others(task: _Task, written: _Written) -> WorkResult:
    """Write as `_go_on`; where another attempt writes, wait for it and go on after its records.

    A failure would be the task's result for Spark, although the other attempt may yet succeed. Pauses grow, because an attempt
    with transactions aborts that of the other one when it goes on. If the round ends meanwhile, the next round goes on.
    """
    waiting, pauses = task.deadline(), backoff(int(_PAUSE_S * 1000), _LONGEST_PAUSE_MS)
    while True:
        before = written.position
        try:
            return _go_on(task, written)
        except OtherAttempt:
            if written.position != before:
                waiting = task.deadline()  # writing was no waiting
            if not waiting.pause(next(pauses)):
                raise
            if task.settings.plan.is_transactional and task.settings.clock.now_ms() >= task.settings.ends_at_ms:
                return written.result()


def _go_on(task: _Task, written: _Written) -> WorkResult:
    """Find the records written after the position, and write those that follow until the round ends."""
    write = _write_in_transactions if task.settings.plan.is_transactional else _write
    rows = _Rows(task, written)
    write(task, written, rows)
    if rows.at_end:
        written.finish()
    return written.result()


class _Rows:
    """The archived records after a position, in batches; `at_end` when there are no more."""

    def __init__(self, task: _Task, written: _Written) -> None:
        source = written.work.planned.source
        wanted = replace(source, from_offset=written.position.next_offset)
        self._batches = read_archived(written.work.files, wanted, task.settings.memory_bytes, opened=task.opened)
        self._settings = task.settings
        self._rest: pa.RecordBatch | None = None
        self.at_end = False

    def take(self, count: int) -> Iterator[pa.RecordBatch]:
        """The next `count` records; fewer if the archive has no more."""
        while count:
            batch = self._next()
            if batch is None:
                return
            self._rest = batch.slice(count) if batch.num_rows > count else None
            batch = batch.slice(0, count)
            count -= batch.num_rows
            yield batch

    def until_round_ends(self) -> Iterator[pa.RecordBatch]:
        """The remaining records until the round ends, and at least one batch, so that short rounds make progress."""
        while (batch := self._next()) is not None:
            yield batch
            if self._settings.clock.now_ms() >= self._settings.ends_at_ms:
                return

    def _next(self) -> pa.RecordBatch | None:
        batch, self._rest = self._rest, None
        while batch is None or not batch.num_rows:
            batch = next(self._batches, None)
            if batch is None:
                self.at_end = True
                return None
        return batch


def _bounds(log: LogBounds | Failure) -> LogBounds:
    """The bounds of a log; BrokerError if its leader did not return them."""
    if isinstance(log, Failure):
        raise refused(log)
    return log


def _find(task: _Task, written: _Written, log: LogBounds, producer_ids: Collection[int]) -> OwnRecords:
    """Find the records that earlier attempts wrote after the position; `log` has the bounds of the partition now."""
    work, plan = written.work, task.settings.plan
    return find_own_records(
        task.cluster,
        work.planned.target,
        work.planned.target_topic_id,
        written.position.target_offset,
        log,
        producer_ids,
        task.settings.reading,
        in_transactions=plan.is_transactional,
    )


def _take_found(written: _Written, rows: _Rows, offsets: NDArray[np.int64]) -> None:
    """Count the records that earlier attempts wrote at these offsets. TargetChanged if they are more than are archived."""
    done = 0
    for records in rows.take(len(offsets)):
        where = offsets[done : done + records.num_rows]
        done += records.num_rows
        written.add(records, _ranges_between(records, where))
    if done < len(offsets):
        raise TargetChanged(*written.work.planned.target, "has more records of this restore than the archive")


def _write(task: _Task, written: _Written, rows: _Rows) -> None:
    """Write without transactions: the number of a record in its partition is its sequence number.

    OtherAttempt if sequence numbers show that another attempt is still writing, now or when a batch is refused.
    """
    settings, plan, target = task.settings, task.settings.plan, written.work.planned.target
    log = _bounds(task.logs.of(target, task.deadline()))
    own = _find(task, written, log, {plan.producer_id})
    last = task.last_sequences.of(target, task.deadline())
    is_last = last == (written.position.written + len(own.offsets) - 1) % _SEQUENCES
    if own.compacted and not is_last:
        raise TargetChanged(
            *target,
            f"has {own.compacted} offsets without records from {written.position.target_offset} on: compaction may have "
            "removed records of the restore before they were counted; start another restore with --new",
        )
    _take_found(written, rows, own.offsets)
    if isinstance(last, int) and not is_last:
        raise OtherAttempt(*target)
    producer = Producer(plan.producer_id, plan.producer_epoch, written.position.written % _SEQUENCES)
    with PartitionWriter(task.cluster, target, written.topics, _options(settings, written.work), producer) as writer:
        for records in rows.until_round_ends():
            writer.write(records)
            written.add_all(writer.written())
        writer.flush()
        written.add_all(writer.written())


def _write_in_transactions(task: _Task, written: _Written, rows: _Rows) -> None:
    """Write in transactions, each of which commits the number of the next record as the offset of a group.

    OtherAttempt if another attempt has begun a transaction since, which fences this one.
    """
    try:
        _begin_and_write(task, written, rows)
    except (BrokerError, TransactionFailed) as error:
        if error.code in FENCED:
            raise OtherAttempt(*written.work.planned.target) from error
        raise


def _begin_and_write(task: _Task, written: _Written, rows: _Rows) -> None:
    cluster, settings, plan = task.cluster, task.settings, task.settings.plan
    target = written.work.planned.target
    name, age_ms = plan.transactional_id(target), settings.clock.now_ms() - plan.planned_at_ms
    is_in_doubt = not written.position.written and may_be_forgotten(cluster, name, age_ms, task.deadline())
    if is_in_doubt:  # checked before the id is known again: then the next run would write the records once more
        log = _bounds(task.logs.afresh(target, task.deadline()))
        refuse_forgotten(target, _find(task, written, log, {plan.producer_id}).others)
    producer = TransactionalProducer(cluster, name)
    first = producer.begin(task.deadline())  # fences other attempts, and aborts their open transactions
    log = _bounds(task.logs.afresh(target, task.deadline()))
    own = _find(task, written, log, {first.producer_id, plan.producer_id})
    in_target = written.position.written + len(own.offsets)
    try:
        check_committed(cluster, plan.group_id, target, in_target, log, task.deadline())
    except TargetChanged:
        producer.abort(task.deadline())  # refused if another attempt has fenced this one, and has committed more since
        raise
    if is_in_doubt is None and not in_target:
        refuse_forgotten(target, own.others)
    _take_found(written, rows, own.offsets)
    transaction: Transaction | None = first
    batches = rows.until_round_ends()
    while some := _of_a_transaction(batches):
        transaction = transaction or producer.begin(task.deadline())
        options = _options(settings, written.work)
        with PartitionWriter(cluster, target, written.topics, options, transaction.producer, transaction) as writer:
            for records in some:
                writer.write(records)
            writer.flush()
            sent = list(writer.written())
        count = sum(piece.num_rows for piece, _ in sent)
        offsets = {target: OffsetToCommit(committed_offset=written.position.written + count)}
        for failure in producer.commit_offsets(plan.group_id, offsets, task.deadline()).values():
            raise refused(failure)
        producer.commit(task.deadline())
        transaction = None
        written.add_all(sent)


def _ranges_between(records: pa.RecordBatch, target_offsets: NDArray[np.int64]) -> list[OffsetRange]:
    """The ranges of records, whose offsets in the target may have gaps, too."""
    source_offsets = records.column("offset").to_numpy()
    cuts = [0, *(np.flatnonzero(np.diff(target_offsets) != 1) + 1).tolist(), len(target_offsets)]
    return [
        one
        for first, end in pairwise(cuts)
        for one in batch_ranges(source_offsets[first:end], int(target_offsets[first]))
    ]


def _of_a_transaction(batches: Iterator[pa.RecordBatch]) -> list[pa.RecordBatch]:
    """The next batches, as many as a transaction has."""
    some: list[pa.RecordBatch] = []
    filled = 0
    for batch in batches:
        some.append(batch)
        filled += batch.nbytes
        if filled >= _TRANSACTION_BYTES:
            break
    return some


def _options(settings: TaskSettings, work: Work) -> SendOptions:
    return SendOptions(codec=settings.plan.codec, timeout_ms=settings.timeout_ms, escaped=work.planned.source.escaped)
