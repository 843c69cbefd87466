"""Writes the records of one Spark task, on an executor.

All records are written, or the task fails with the reason. Which attempt of a task counts is decided by transactions, or by
refusing every attempt but the first.
"""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc
from pyspark import TaskContext

from kafka_lagoon import log
from kafka_lagoon.client.cluster import Cluster, TopicPartition
from kafka_lagoon.client.failures import Failure
from kafka_lagoon.errors import BrokerError, ConfigError, PipelineError
from kafka_lagoon.produce.arrow_writer import ArrowWriter, TargetTopic, WriteOptions, describe_targets
from kafka_lagoon.produce.producer_state import ProducerState
from kafka_lagoon.produce.sequences import init_producer_id
from kafka_lagoon.produce.transaction_requests import explain
from kafka_lagoon.produce.transactions import Transaction, abort, add_partitions, init_transactions
from kafka_lagoon.protocol.error_codes import OUT_OF_ORDER_SEQUENCE_NUMBER
from kafka_lagoon.protocol.messages.produce import ALL_ACKS
from kafka_lagoon.source.sink import CURE_OF_SHARING, MicroBatch, Sink, SparkTask, TaskWritten
from kafka_lagoon.source.write_options import NO_TRANSACTIONS, OF_TASKS, OF_THE_RUN, written_columns

_NO_CODE = -1
_QUERY_ID, _BATCH_ID = "sql.streaming.queryId", "streaming.sql.batchId"  # what Spark tells the tasks of a micro-batch
_INT32 = pa.int32()


def this_task() -> SparkTask:
    """The attempt that this process works for."""
    context = TaskContext.get()
    if context is None:
        raise RuntimeError("not in a task of Spark")
    query_id, number = context.getLocalProperty(_QUERY_ID), context.getLocalProperty(_BATCH_ID)
    return SparkTask(
        partition=context.partitionId(),
        attempt=context.attemptNumber(),
        attempt_id=context.taskAttemptId(),
        batch=MicroBatch(query_id, int(number)) if query_id and number else None,
    )


def transactional_id(sink: Sink, partition: int, attempt: int) -> str:
    """Under which an attempt of a task writes. A query uses the same ones again, which aborts what an earlier run left open."""
    return f"{sink.task_prefix}{partition}-{attempt}"


def write_task(
    sink: Sink, shared: Transaction | None, task: SparkTask, batches: Iterator[pa.RecordBatch]
) -> TaskWritten:
    """Write all records of a task, in the transaction that all tasks share, in one of its own, or in none."""
    log.configure()
    _refuse_second_attempt(sink, task)
    deadline = sink.deadline()
    with sink.connect(deadline) as cluster:
        transaction = shared
        if sink.options.transactions == OF_TASKS:
            name = transactional_id(sink, task.partition, task.attempt)
            transaction = init_transactions(cluster, name, sink.options.transaction_timeout_ms, deadline)
        try:
            records = _Writing(cluster, sink, transaction).write(batches)
        except BaseException:
            if transaction and transaction is not shared:
                with suppress(PipelineError):  # else its timeout aborts it
                    abort(cluster, transaction, sink.deadline())
            raise
    return TaskWritten(task=task, transaction=transaction, records=records)


def _refuse_second_attempt(sink: Sink, task: SparkTask) -> None:
    if task.attempt and sink.options.transactions != OF_TASKS:
        repeats = (
            f"task {task.partition}: attempt {task.attempt + 1} would write again what an earlier one may have written"
        )
        raise ConfigError([f"{repeats}; with transactions=task Spark may repeat tasks, and run them twice"])


@dataclass(frozen=True, slots=True)
class _Writing:
    """The records of one task on their way."""

    cluster: Cluster
    sink: Sink
    transaction: Transaction | None

    def write(self, batches: Iterator[pa.RecordBatch]) -> Mapping[TopicPartition, int]:
        """How many records were written to each partition."""
        options, targets = self.sink.options, dict[str, TargetTopic]()
        places = written_columns(self.sink.columns, options.topic)
        records: dict[TopicPartition, int] = {}
        if options.topic is not None:
            self._describe({options.topic}, targets)
        with ArrowWriter(
            self.cluster, targets, self._state(), self._options(), on_new_partitions=self._add_partitions
        ) as writer:
            for batch in batches:
                named = _named(batch, places)
                if "topic" in places:
                    self._describe(_topics(named), targets)
                writer.write(named, topic=options.topic)
                self._count(writer, records)
            writer.flush()
            self._count(writer, records)
        return records

    def _state(self) -> ProducerState:
        if self.transaction:
            return ProducerState(self.transaction.producer)
        if self.sink.options.acks != ALL_ACKS:
            return ProducerState()
        producer = init_producer_id(self.cluster, self.sink.deadline()).producer
        return ProducerState(producer._replace(sequence=0))

    def _options(self) -> WriteOptions:
        options = self.sink.options
        return WriteOptions(
            acks=options.acks,
            codec=options.codec,
            target_batch_bytes=options.batch_bytes,
            buffer_bytes=options.buffer_bytes,
            delivery_timeout_ms=options.delivery_timeout_ms,
            transaction=self.transaction,
        )

    def _describe(self, topics: set[str], targets: dict[str, TargetTopic]) -> None:
        new = topics - targets.keys()
        if new:
            targets |= describe_targets(self.cluster, new, self.sink.deadline())

    def _add_partitions(self, partitions: Iterator[TopicPartition]) -> None:
        if self.transaction:
            failures = add_partitions(self.cluster, self.transaction, list(partitions), self.sink.deadline())
            for failure in failures.values():
                raise self._error(failure)

    def _count(self, writer: ArrowWriter, records: dict[TopicPartition, int]) -> None:
        for written in writer.take_written():
            records[written.partition] = records.get(written.partition, 0) + written.count
        for unwritten in writer.failures:
            raise self._error(unwritten.failure)

    def _error(self, failure: Failure) -> BrokerError:
        remarks = [failure.message or explain(failure.code, self.sink.options.transaction_timeout_ms)]
        if self.sink.options.transactions == OF_THE_RUN and failure.code == OUT_OF_ORDER_SEQUENCE_NUMBER:
            remarks.append(f"another task writes to this partition: {CURE_OF_SHARING}")
        if self.sink.options.transactions == NO_TRANSACTIONS:
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


def _topics(batch: pa.RecordBatch) -> set[str]:
    names = set(pc.unique(batch.column("topic")).to_pylist())
    if None in names:
        raise ConfigError(["column topic: null, and option topic is not set"])
    return names
