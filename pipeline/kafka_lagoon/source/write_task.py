"""Writes the records of one Spark task, on an executor.

All records are written, or the task fails with the reason. Transactions decide which attempt of a task counts, or every
attempt but the first is refused; that one returns why it failed, and the driver raises it when all tasks have ended.
"""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from itertools import chain, count

import pyarrow as pa
import pyarrow.compute as pc
from pyspark import TaskContext

from kafka_lagoon import log
from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.client.failures import Failure
from kafka_lagoon.clock import Deadline
from kafka_lagoon.errors import BrokerError, ConfigError, PipelineError
from kafka_lagoon.garbage import modules_kept
from kafka_lagoon.produce.arrow_writer import ArrowWriter, WriteOptions
from kafka_lagoon.produce.producer_state import ProducerState
from kafka_lagoon.produce.sequences import init_producer_id
from kafka_lagoon.produce.targets import describe_targets
from kafka_lagoon.produce.transaction_state import is_open, refuse_if_fenced, take_once
from kafka_lagoon.produce.transactions import Transaction, abort, init_transactions
from kafka_lagoon.protocol.error_codes import OUT_OF_ORDER_SEQUENCE_NUMBER
from kafka_lagoon.protocol.messages.produce import ALL_ACKS
from kafka_lagoon.source.sink import (
    CURE_OF_SHARING,
    GENERATIONS,
    MicroBatch,
    Sink,
    SparkTask,
    TaskFailed,
    TaskWritten,
    generation,
    transactional_id,
)
from kafka_lagoon.source.write_options import NO_TRANSACTIONS, OF_TASKS, OF_THE_RUN, written_columns
from kafka_lagoon.topic_partition import TopicPartition

_NO_CODE = -1
# Properties that Spark passes to the tasks of a micro-batch.
_QUERY_ID, _BATCH_ID = ("sql.streaming.queryId", "streaming.sql.batchId")
_INT32 = pa.int32()
_CLAIM_MS = 60_000
# Bytes of a topic's name.
_MOST_NAME = 249
_REPEATED = (
    "task {partition} was run before and may have written already, so it is not run again; "
    "with transactions=task Spark may repeat tasks, and run them twice"
)


def this_task() -> SparkTask:
    """The attempt that this process runs."""
    context = TaskContext.get()
    if context is None:
        raise RuntimeError("not in a task of Spark")
    query_id, number = context.getLocalProperty(_QUERY_ID), context.getLocalProperty(_BATCH_ID)
    return SparkTask(
        partition=context.partitionId(),
        attempt=context.attemptNumber(),
        batch=MicroBatch(query_id, int(number)) if query_id and number else None,
    )


def begin_attempt(
    cluster: Cluster, sink: Sink, driver: Transaction | None, task: SparkTask, deadline: Deadline
) -> Transaction:
    """Begin the transaction of an attempt, under the first of its ids that has no open transaction.

    An attempt that Spark has given up may be stopped here, and begin its transaction during a later micro-batch. So the ids of
    successive transactions of the driver differ: it would abort the transaction of a valid attempt, which may be decided.

    If Spark runs a stage again because shuffled data are lost, it counts the attempts of a task from 0 again, and may still use
    the result of an earlier attempt with the same number: the transaction of that attempt must not be aborted. The driver
    aborts those that are left.
    """
    repetitions = count(generation(driver), GENERATIONS)
    ids = (transactional_id(sink, task.partition, task.attempt, repetition) for repetition in repetitions)
    name = next(name for name in ids if not is_open(cluster, name, deadline))
    return init_transactions(cluster, name, sink.options.transaction_timeout_ms, deadline)


@modules_kept()
def write_task(
    sink: Sink, shared: Transaction | None, task: SparkTask, batches: Iterator[pa.RecordBatch]
) -> TaskWritten | TaskFailed:
    """Write all records of a task, in the transaction that the driver has begun, in one of its own, or in none."""
    log.configure()
    _refuse_second_attempt(sink, task)
    try:
        return _written(sink, shared, task, batches)
    except PipelineError as error:
        if sink.options.transactions == OF_TASKS:
            raise
        log.error("task_failed", task=task.partition, reason=str(error))
        return TaskFailed(task=task, reason=str(error))


def _written(sink: Sink, shared: Transaction | None, task: SparkTask, batches: Iterator[pa.RecordBatch]) -> TaskWritten:
    first = next(batches, None)
    if first is None:
        return TaskWritten(task=task, transaction=None)
    deadline = sink.deadline()
    with sink.connect(deadline, waits=True) as cluster:
        _claim(cluster, sink, shared, task, deadline)
        transaction = shared
        if sink.options.transactions == OF_TASKS:
            transaction = begin_attempt(cluster, sink, shared, task, deadline)
            if shared:
                refuse_if_fenced(cluster, shared, deadline)
        try:
            records = _Writing(cluster, sink, transaction).write(chain([first], batches))
        except BaseException:
            if transaction and transaction is not shared:
                with suppress(PipelineError):  # otherwise its timeout aborts it
                    abort(cluster, transaction, sink.deadline())
            raise
    return TaskWritten(task=task, transaction=transaction, deciding=shared, records=records)


def _refuse_second_attempt(sink: Sink, task: SparkTask) -> None:
    if task.attempt and sink.options.transactions != OF_TASKS:
        raise ConfigError([_REPEATED.format(partition=task.partition)])


def _claim(cluster: Cluster, sink: Sink, shared: Transaction | None, task: SparkTask, deadline: Deadline) -> None:
    """Make this the only attempt of a task in the transaction of all tasks.

    The attempt number is not enough: it begins again at 0 where Spark runs a stage again because shuffled data are lost.
    Brokers would take batches of the second attempt for repetitions, though its rows may come in another order: some would be
    missing, and others be there twice.

    The first user of a new transactional id gets epoch 0. A stream would use up an id for each task of each micro-batch: its
    tasks take the same ids again, for the driver's transaction, which has an epoch of its own for each micro-batch.
    """
    if sink.options.transactions != OF_THE_RUN or shared is None:
        return
    if task.batch is None:
        is_first = init_transactions(cluster, sink.claim(task.partition), _CLAIM_MS, deadline).epoch == 0
    else:
        # An attempt of an earlier driver, as on a machine that was frozen, would take the id from the attempt that has it, and
        # another one, of a stage that is run again, would not find it taken.
        refuse_if_fenced(cluster, shared, deadline)
        is_first = take_once(cluster, sink.claim_of_stream(task.partition), shared.epoch, deadline)
    if not is_first:
        raise ConfigError([_REPEATED.format(partition=task.partition)])


class _Writing:
    """The records of one task that are being sent, and the number written to each partition."""

    def __init__(self, cluster: Cluster, sink: Sink, transaction: Transaction | None) -> None:
        self._cluster, self._sink, self._transaction = cluster, sink, transaction
        self._places = written_columns(sink.columns, sink.options.topic)
        self._state = self._new_state()
        self._topics: set[str] = set()
        self._writer: ArrowWriter | None = None
        self._written: dict[TopicPartition, int] = {}

    def write(self, batches: Iterator[pa.RecordBatch]) -> Mapping[TopicPartition, int]:
        """Write all records; returns the number of records of each partition."""
        try:
            for batch in batches:
                named = _named(batch, self._places)
                writer = self._writer_to(self._topics_of(named))
                writer.write(named, topic=self._sink.options.topic)
                self._count(writer)
            self._flush()
        finally:
            if self._writer:
                self._writer.close()
        return self._written

    def _new_state(self) -> ProducerState:
        """Sequence numbers of the transaction's producer, of a producer of this task, or none."""
        if self._transaction:
            return ProducerState(self._transaction.producer)
        if self._sink.options.acks != ALL_ACKS:
            return ProducerState()
        producer = init_producer_id(self._cluster, self._sink.deadline()).producer
        return ProducerState(producer._replace(sequence=0))

    def _topics_of(self, named: pa.RecordBatch) -> set[str]:
        topic = self._sink.options.topic
        if topic is not None:
            return {topic}
        try:
            return {name for name in pc.unique(named.column("topic")).to_pylist() if name}
        except UnicodeDecodeError as error:
            # Spark makes strings of any bytes.
            raise ConfigError([f"column topic: {error.object[:_MOST_NAME]!r} is not UTF-8"]) from error

    def _writer_to(self, topics: set[str]) -> ArrowWriter:
        """The writer, which learns further topics when it has sent what it has: meanwhile the cluster must not be asked."""
        new = topics - self._topics
        if self._writer is None:
            self._writer = self._new_writer(new)
        elif new:
            self._flush()
            self._writer.add_topics(describe_targets(self._cluster, new, self._sink.deadline()))
        self._topics |= new
        return self._writer

    def _new_writer(self, topics: set[str]) -> ArrowWriter:
        described, options = describe_targets(self._cluster, topics, self._sink.deadline()), self._sink.options
        how = WriteOptions(
            acks=options.acks,
            codec=options.codec,
            target_batch_bytes=options.batch_bytes,
            buffer_bytes=options.buffer_bytes,
            delivery_timeout_ms=options.delivery_timeout_ms,
        )
        return ArrowWriter(self._cluster, described, self._state, how, self._transaction)

    def _flush(self) -> None:
        if self._writer:
            self._writer.flush()
            self._count(self._writer)

    def _count(self, writer: ArrowWriter) -> None:
        for written in writer.take_written():
            self._written[written.partition] = self._written.get(written.partition, 0) + written.count
        for unwritten in writer.failures:
            raise self._error(unwritten.failure)

    def _error(self, failure: Failure) -> BrokerError:
        remarks = [failure.message]
        if self._sink.options.transactions == OF_THE_RUN and failure.code == OUT_OF_ORDER_SEQUENCE_NUMBER:
            remarks.append(f"another task writes to this partition: {CURE_OF_SHARING}")
        if self._sink.options.transactions == NO_TRANSACTIONS:
            remarks.append("what was written before stays written")
        code = _NO_CODE if failure.code is None else failure.code
        return BrokerError(
            code, failure.name, failure.api, str(failure.scope), "; ".join(filter(None, remarks)) or None
        )


def _named(batch: pa.RecordBatch, places: Mapping[str, int]) -> pa.RecordBatch:
    """The columns that are written, under the writer's names."""
    arrays = [batch.column(place) for place in places.values()]
    arrays = [
        array.cast(_INT32) if name == "partition" and array.type != _INT32 else array
        for name, array in zip(places, arrays, strict=True)
    ]
    return pa.RecordBatch.from_arrays(arrays, names=list(places))
