"""Writes Arrow batches to topics: chooses partitions, encodes, and sends batches while it encodes the next ones.

No record is dropped in silence: every row that is taken is in a `Written` or in an `Unwritten` once the writer is flushed.
Within a partition, records are written in the order of the rows, each once where the producer has an id.
"""

from collections.abc import Mapping
from functools import partial
from typing import Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.client.failures import Failure, Scope, own_failure
from kafka_lagoon.clock import Deadline
from kafka_lagoon.errors import RecordTooLarge, RowRefused
from kafka_lagoon.frozen import frozen
from kafka_lagoon.produce.batch_queues import Unwritten, Written
from kafka_lagoon.produce.batch_sender import BatchSender
from kafka_lagoon.produce.column_partitioner import ColumnPartitioner, Numbers, group_by_partition
from kafka_lagoon.produce.producer_state import ProducerState
from kafka_lagoon.produce.sending import Delivery
from kafka_lagoon.produce.targets import TargetTopic, describe_targets
from kafka_lagoon.produce.transactions import Transaction, add_partitions
from kafka_lagoon.protocol.messages.produce import ALL_ACKS, PRODUCE
from kafka_lagoon.records.compressing import NONE
from kafka_lagoon.records.encode_columns import (
    MAX_BATCH_BYTES,
    TARGET_BATCH_BYTES,
    ColumnEncoder,
    RecordColumns,
)
from kafka_lagoon.records.encoding import TRANSACTIONAL
from kafka_lagoon.topic_partition import TopicPartition

RECORD_TOO_LARGE = "RECORD_TOO_LARGE"


@frozen
class WriteOptions:
    """Options for making and sending batches; `acks` as in `Delivery`, `codec` one of records/compressing.py.

    At most `buffer_bytes` of batches wait or are on their way; small Arrow batches are collected, up to a quarter of that.
    `delivery_timeout_ms` is the time that a batch may be refused before its partition is given up; None is
    `default_api_timeout_ms` of the cluster's settings.
    """

    acks: int = ALL_ACKS
    codec: int = NONE
    target_batch_bytes: int = TARGET_BATCH_BYTES
    buffer_bytes: int = 32 << 20  # as buffer.memory of Kafka's producer
    delivery_timeout_ms: int | None = None


_DEFAULTS = WriteOptions()


class ArrowWriter:
    """Writes to topics; nobody else may ask the brokers of `cluster` between `write` and `flush`.

    `topics` are described already (describe_targets); other topics are described when they are first written to. `state` has
    the producer of each partition, and is advanced with the encoded records. With a `transaction` its producer writes, and
    partitions are added to it; the owner of the transaction ends it after `flush`. As a context manager it is flushed at
    the end, unless by an exception.
    """

    def __init__(
        self,
        cluster: Cluster,
        topics: Mapping[str, TargetTopic],
        state: ProducerState,
        options: WriteOptions = _DEFAULTS,
        transaction: Transaction | None = None,
    ) -> None:
        if options.acks != ALL_ACKS and state.is_idempotent:
            raise ValueError("batches with numbers need the acks of all in-sync replicas")
        self._cluster, self._options, self._state, self._transaction = cluster, options, state, transaction
        self._topic_ids: dict[str, bytes] = {}
        self._lanes: dict[str, _Lane] = {}
        self._timeout_ms = timeout_ms = options.delivery_timeout_ms or cluster.settings.default_api_timeout_ms
        self._sender = BatchSender(
            cluster,
            Delivery(
                acks=options.acks,
                timeout_ms=min(timeout_ms, cluster.settings.request_timeout_ms) * 3 // 4,  # REQUEST_TIMED_OUT arrives
                topic_ids=self._topic_ids,
                transaction=transaction,
            ),
            is_idempotent=state.is_idempotent,
            buffer_bytes=options.buffer_bytes,
            timeout_ms=timeout_ms,
            add_partitions=partial(_add_partitions, cluster, transaction, timeout_ms) if transaction else None,
        )
        self.add_topics(topics)
        self._counts: dict[TopicPartition, int] = {}
        self._collected: list[pa.RecordBatch] = []
        self._collected_bytes = self._rows_encoded = 0
        self._destination: tuple[str | None, int | None] = (None, None)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        try:
            if kind is None:
                self.flush()
        finally:
            self.close()

    @property
    def failures(self) -> list[Unwritten]:
        """Batches that were not written so far, and why."""
        return self._sender.failures

    def write(self, arrow_batch: pa.RecordBatch, *, topic: str | None = None, partition: int | None = None) -> None:
        """Take rows; waits while the buffer is full.

        Columns are `key`, `value`, `headers`, and `timestamp_ms` or `timestamp`, as RecordColumns takes them; `topic` and
        `partition` unless they are given here. All may be missing; where there is no partition the key chooses it, and a record
        without a timestamp gets the current time. RowRefused for a row that has no place or that no record can carry,
        BrokerError for a topic that cannot be described: before a row that comes with it is written.
        """
        destination = (topic, partition)
        if self._collected and (destination != self._destination or arrow_batch.schema != self._collected[0].schema):
            self._encode_collected()
        self._destination = destination
        self._collected.append(arrow_batch)
        self._collected_bytes += arrow_batch.nbytes
        if self._collected_bytes >= self._enough():
            self._encode_collected()

    def add_topics(self, topics: Mapping[str, TargetTopic]) -> None:
        """Take the descriptions of further topics, of which the cluster was asked after `flush`."""
        for name, topic in topics.items():
            self._lanes[name] = _Lane(self._cluster, topic, self._options, self._transaction)
            if any(topic.topic_id):
                self._topic_ids[name] = topic.topic_id

    def take_written(self) -> list[Written]:
        """Batches that were written since the last call, in order within each partition."""
        return self._sender.take_written()

    def flush(self) -> None:
        """Wait until every row is written or in `failures`."""
        self._encode_collected()
        self._sender.flush()

    def close(self) -> None:
        """End sending. Rows that were not flushed may be written or not."""
        self._sender.close()

    def _enough(self) -> int:
        """Bytes to collect: enough for a batch of each partition, up to the limit."""
        topic, partition = self._destination
        lanes = self._lanes.values() if topic is None else [self._lane(topic)]
        partitions = sum(lane.partitions for lane in lanes) if partition is None else 1
        return min(partitions * self._options.target_batch_bytes, self._options.buffer_bytes // 4)

    def _encode_collected(self) -> None:
        collected, self._collected, self._collected_bytes = self._collected, [], 0
        if len(collected) > 1:
            collected = pa.Table.from_batches(collected).combine_chunks().to_batches()
        for arrow_batch in collected:
            if arrow_batch.num_rows:
                self._encode(arrow_batch, *self._destination)
            self._rows_encoded += arrow_batch.num_rows

    def _encode(self, arrow_batch: pa.RecordBatch, topic: str | None, partition: int | None) -> None:
        columns = _columns(arrow_batch, self._cluster.clock.now_ms(), self._rows_encoded)
        given = _given_partitions(arrow_batch, partition, self._rows_encoded)
        groups = [
            (name, group)
            for name, rows in self._by_topic(arrow_batch, topic)
            for group in self._lane(name).group(columns, rows, given, self._rows_encoded)
        ]
        for name, (number, rows) in groups:
            self._send(TopicPartition(name, number), columns, rows)

    def _by_topic(self, arrow_batch: pa.RecordBatch, topic: str | None) -> list[tuple[str, Numbers | None]]:
        """The rows of each topic, None for all."""
        if topic is not None:
            return [(topic, None)]
        if "topic" not in arrow_batch.schema.names:
            raise RowRefused(self._rows_encoded, "there is no topic")
        encoded = arrow_batch.column("topic").dictionary_encode()
        codes, names = encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False), encoded.dictionary.to_pylist()
        if encoded.null_count:
            raise RowRefused(self._rows_encoded + int(np.argmin(codes)), "there is no topic")
        if len(names) == 1:
            return [(names[0], None)]
        return [(names[code], rows) for code, rows in group_by_partition(codes.astype(np.int64), len(names))]

    def _lane(self, topic: str) -> "_Lane":
        """The lane of a topic; a new topic is described when no batch is on its way. BrokerError if it cannot be described."""
        if topic not in self._lanes:
            self._sender.flush()
            deadline = Deadline.after(self._cluster.clock, self._timeout_ms)
            self.add_topics(describe_targets(self._cluster, {topic}, deadline))
        return self._lanes[topic]

    def _send(self, partition: TopicPartition, columns: RecordColumns, rows: Numbers) -> None:
        """Encode rows of one partition and send them, unless one before them was not written."""
        first = self._counts.get(partition, 0)
        self._counts[partition] = first + len(rows)
        if self._sender.has_failed(partition):
            self._sender.refuse(partition, first, len(rows), _too_late(partition))
            return
        encoder = self._lane(partition.topic).encoder
        try:
            for batch in encoder.encode(columns, rows, self._state.of(partition)):
                self._state.advance(partition, batch.count)
                self._sender.put(partition, first + batch.first, batch.count, batch.data)
        except RecordTooLarge as error:
            failure = own_failure(PRODUCE, Scope.of_partition(*partition), RECORD_TOO_LARGE, error.reason)
            self._sender.refuse(partition, first + error.index, len(rows) - error.index, failure)


class _Lane:
    """The choice of partitions for the rows of one topic, and the encoder for its largest batch."""

    def __init__(
        self, cluster: Cluster, topic: TargetTopic, options: WriteOptions, transaction: Transaction | None
    ) -> None:
        self._topic, self.partitions = topic, topic.partitions
        self._partitioner = ColumnPartitioner(
            topic.partitions, partial(topic.available, cluster), options.target_batch_bytes
        )
        largest = MAX_BATCH_BYTES if topic.max_batch_bytes is None else topic.max_batch_bytes
        # Brokers that compress a batch otherwise compare its size once more (UnifiedLog of Kafka).
        target = options.target_batch_bytes if topic.keeps(options.codec) else min(options.target_batch_bytes, largest)
        self.encoder = ColumnEncoder(
            codec=options.codec,
            max_batch_bytes=largest,
            target_batch_bytes=target,
            attributes=TRANSACTIONAL if transaction else 0,
        )

    def group(
        self, columns: RecordColumns, rows: Numbers | None, given: Numbers | None, first_row: int
    ) -> list[tuple[int, Numbers]]:
        """The rows of each partition, in order."""
        chosen = self._partitioner.choose(columns, rows, given)
        try:
            groups = group_by_partition(chosen, self._topic.partitions)
        except RowRefused as error:
            row = error.row if rows is None else int(rows[error.row])
            raise RowRefused(first_row + row, f"{error.reason} of topic {self._topic.topic}") from error
        return groups if rows is None else [(partition, rows[positions]) for partition, positions in groups]


def _columns(arrow_batch: pa.RecordBatch, now_ms: int, first_row: int) -> RecordColumns:
    named = {name: arrow_batch.column(name) for name in arrow_batch.schema.names}
    try:
        return RecordColumns(
            key=named.get("key"),
            value=named.get("value"),
            headers=named.get("headers"),
            timestamp_ms=named.get("timestamp_ms", named.get("timestamp")),
            length=arrow_batch.num_rows,
            default_timestamp_ms=now_ms,
        )
    except RowRefused as error:
        raise RowRefused(first_row + error.row, error.reason) from error


def _given_partitions(arrow_batch: pa.RecordBatch, partition: int | None, first_row: int) -> Numbers | None:
    """The partition that each row names, -1 for none; None if no row does."""
    if partition is not None:
        return np.full(arrow_batch.num_rows, partition, np.int64)
    if "partition" not in arrow_batch.schema.names:
        return None
    column = arrow_batch.column("partition").cast(pa.int64())
    if column.null_count == len(column):
        return None
    negative = pc.index(pc.less(column, 0), True).as_py()
    if negative >= 0:
        raise RowRefused(first_row + negative, f"there is no partition {column[negative]}")
    given: Numbers = column.fill_null(-1).to_numpy(zero_copy_only=False)
    return given


def _too_late(partition: TopicPartition) -> Failure:
    """Stands for the failure that the partition has already."""
    return own_failure(PRODUCE, Scope.of_partition(*partition), "FAILED_BEFORE")


def _add_partitions(
    cluster: Cluster, transaction: Transaction, timeout_ms: int, partitions: list[TopicPartition]
) -> Mapping[TopicPartition, Failure]:
    return add_partitions(cluster, transaction, partitions, Deadline.after(cluster.clock, timeout_ms))
