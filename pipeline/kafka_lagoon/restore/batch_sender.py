"""Sends records to one partition of the target in order, under a producer of the restore, and says where they were written."""

from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa

from kafka_lagoon.client.cluster import Cluster, TopicPartition
from kafka_lagoon.clock import Deadline
from kafka_lagoon.errors import BrokerError, OtherAttempt
from kafka_lagoon.produce.sending import Delivery, send_batches
from kafka_lagoon.produce.transactions import Transaction
from kafka_lagoon.protocol.error_codes import DUPLICATE_SEQUENCE_NUMBER, OUT_OF_ORDER_SEQUENCE_NUMBER
from kafka_lagoon.protocol.messages.produce import PRODUCE
from kafka_lagoon.records.encode_columns import TARGET_BATCH_BYTES, ColumnEncoder, RecordColumns
from kafka_lagoon.records.encoding import TRANSACTIONAL, Producer, next_sequence

_OTHERS = (OUT_OF_ORDER_SEQUENCE_NUMBER, DUPLICATE_SEQUENCE_NUMBER)


@dataclass(frozen=True, slots=True, kw_only=True)
class SendOptions:
    """How batches are made and sent; `max_batch_bytes` is the topic's max.message.bytes."""

    codec: int
    max_batch_bytes: int
    timeout_ms: int


class BatchSender:
    """Writes batches one after the other; `producer` has the sequence number of the next record.

    BrokerError for a batch that is not written, RecordTooLarge for a record that no batch can carry, and OtherAttempt if
    the broker has other records of the producer than this sender has written.
    """

    def __init__(
        self,
        cluster: Cluster,
        target: TopicPartition,
        topic_id: bytes,
        options: SendOptions,
        producer: Producer,
        transaction: Transaction | None = None,
    ) -> None:
        self._cluster, self._target, self._options, self._producer = cluster, target, options, producer
        self._delivery = Delivery(
            timeout_ms=min(options.timeout_ms, cluster.settings.request_timeout_ms) * 3 // 4,
            topic_ids={target.topic: topic_id} if any(topic_id) else {},
            transaction=transaction,
        )
        self._encoder = ColumnEncoder(
            codec=options.codec,
            max_batch_bytes=options.max_batch_bytes,
            target_batch_bytes=TARGET_BATCH_BYTES,
            attributes=TRANSACTIONAL if transaction else 0,
        )

    def send(self, records: pa.RecordBatch) -> Iterator[tuple[int, int]]:
        """Write records; yields numbers of records that are written, in order, and the offset of the first of each."""
        columns = RecordColumns(
            key=records.column("key"),
            value=records.column("value"),
            headers=records.column("headers"),
            timestamp_ms=records.column("timestamp_ms"),
        )
        for batch in self._encoder.encode(columns, producer=self._producer):
            base_offset = self._write(batch.data)
            sequence = next_sequence(self._producer.sequence, batch.count)
            self._producer = self._producer._replace(sequence=sequence)
            yield batch.count, base_offset

    def _write(self, data: bytes | memoryview) -> int:
        deadline = Deadline.after(self._cluster.clock, self._options.timeout_ms)
        result = send_batches(self._cluster, {self._target: bytes(data)}, self._delivery, deadline)
        where = f"{self._target.topic}-{self._target.partition}"
        for failure in result.failures.values():
            if failure.code in _OTHERS:
                raise OtherAttempt(*self._target)
            raise BrokerError(failure.code or -1, failure.name, PRODUCE.name, where, failure.message)
        base_offset = result.answers[self._target].base_offset
        if base_offset < 0:  # a batch that was written before, too long ago for the broker to know where
            raise OtherAttempt(*self._target)
        return base_offset
