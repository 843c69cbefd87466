"""Writes records to one topic and returns written and unwritten batches.

No record is dropped in silence: every record that a writer takes is in a written or in an unwritten batch. A writer ends at
the first batch that is not written, so that the written records stay in order.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field

from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.client.failures import Failure, Scope, own_failure
from kafka_lagoon.clock import Deadline
from kafka_lagoon.errors import CorruptBatch
from kafka_lagoon.frozen import frozen
from kafka_lagoon.produce.batching import PendingBatch, ProducerRecord, RecordAccumulator
from kafka_lagoon.produce.partitioner import StickyPartition, partition_of
from kafka_lagoon.produce.sending import Delivery, SendResult, send_batches
from kafka_lagoon.produce.sequences import SequenceNumbers
from kafka_lagoon.produce.targets import TargetTopic
from kafka_lagoon.protocol.messages.produce import ALL_ACKS, PRODUCE
from kafka_lagoon.records.compressing import NONE
from kafka_lagoon.records.encoding import Record
from kafka_lagoon.topic_partition import TopicPartition

_BATCH_BYTES = 500_000  # half of the largest batch that brokers accept by default


@frozen
class Target:
    """The topic to write to, and the options.

    `acks` are those of `Delivery`, `codec` is a number of records/compressing.py. Batches have up to `batch_bytes` before
    compression; None means 500,000, or max.message.bytes of the topic if that is less. `delivery_timeout_ms` applies to each
    round of requests with its retries; None means `default_api_timeout_ms` of the cluster's settings.
    """

    topic: str
    acks: int = ALL_ACKS
    codec: int = NONE
    batch_bytes: int | None = None
    buffer_bytes: int = 32 << 20  # as buffer.memory of Kafka's producer; a third of the largest request
    delivery_timeout_ms: int | None = None


@frozen
class WrittenBatch:
    """A batch that is in the log; `indexes` count its records from 0 over all that the writer was given.

    Its offsets follow each other from `base_offset` on, which is None where no broker reported it.
    """

    partition: TopicPartition
    base_offset: int | None
    indexes: Sequence[int]


@frozen
class UnwrittenBatch:
    """A batch that is not in the log as far as is known (see `failure.may_be_done`).

    `refused` are the records that the broker named, by index, with its reasons.
    """

    partition: TopicPartition
    indexes: Sequence[int]
    failure: Failure
    refused: Mapping[int, str] = field(default_factory=dict)


@frozen
class WriteResult:
    """The result of one round: at most one batch for each partition."""

    written: Sequence[WrittenBatch]
    unwritten: Sequence[UnwrittenBatch]


class TopicWriter:
    """Writes records to one topic in batches; `taken` counts the records that it was given."""

    def __init__(self, cluster: Cluster, topic: TargetTopic, target: Target, sequences: SequenceNumbers) -> None:
        self._cluster, self._topic, self._target, self._sequences = cluster, topic, target, sequences
        default_ms = cluster.settings.default_api_timeout_ms
        self._timeout_ms = default_ms if target.delivery_timeout_ms is None else target.delivery_timeout_ms
        self._delivery = Delivery(
            acks=target.acks,
            timeout_ms=min(self._timeout_ms, cluster.settings.request_timeout_ms) * 3 // 4,  # REQUEST_TIMED_OUT arrives
            topic_ids={topic.topic: topic.topic_id} if any(topic.topic_id) else {},
        )
        self._sticky = StickyPartition(topic.available(cluster) or [0])
        batch_bytes = min(_BATCH_BYTES, topic.max_batch_bytes or _BATCH_BYTES)
        if target.batch_bytes is not None:
            batch_bytes = target.batch_bytes
        self._accumulator = RecordAccumulator(batch_bytes=batch_bytes, buffer_bytes=target.buffer_bytes)
        self._has_failed = False
        self.taken = 0

    def write(self, records: Iterable[ProducerRecord]) -> Iterator[WriteResult]:
        """Write all records before it ends, or as many as come before the first batch that is not written."""
        if self._has_failed:
            raise RuntimeError("a writer that has failed takes no more records: they would be out of order")
        now_ms = self._cluster.clock.now_ms()
        for key, value, headers, chosen, timestamp_ms in records:
            record = Record(now_ms if timestamp_ms is None else timestamp_ms, key, value, headers)
            size = record.size()
            if not self._accumulator.append(self._partition(key, chosen), self.taken, record, size):
                yield self._flush()
                if self._has_failed:
                    return
                now_ms = self._cluster.clock.now_ms()
                self._accumulator.append(self._partition(key, chosen), self.taken, record, size)
            self.taken += 1
        if not self._accumulator.is_empty:
            yield self._flush()

    def _partition(self, key: bytes | None, chosen: int | None) -> int:
        if chosen is not None:
            return chosen
        return self._sticky.partition if key is None else partition_of(key, self._topic.partitions)

    def _flush(self) -> WriteResult:
        """Send the collected records, a batch for each partition."""
        batches = {
            TopicPartition(self._topic.topic, partition): batch
            for partition, batch in self._accumulator.drain().items()
        }
        encoded, failures = self._encode(batches)
        deadline = Deadline.after(self._cluster.clock, self._timeout_ms)
        result = send_batches(self._cluster, encoded, self._delivery, deadline)
        self._sticky.advance()
        for partition in result.answers:
            self._sequences.advance(partition, len(batches[partition].records))
        failures |= result.failures
        self._has_failed = bool(failures)
        return WriteResult(
            written=[
                WrittenBatch(
                    partition=partition,
                    base_offset=answer.base_offset if answer.base_offset >= 0 else None,
                    indexes=batches[partition].indexes,
                )
                for partition, answer in result.answers.items()
            ],
            unwritten=[
                _unwritten(partition, batches[partition], failures[partition], result) for partition in failures
            ],
        )

    def _encode(
        self, batches: Mapping[TopicPartition, PendingBatch]
    ) -> tuple[dict[TopicPartition, bytes], dict[TopicPartition, Failure]]:
        """The batches as they are sent, and failures for those that no batch can carry."""
        encoded, failures = dict[TopicPartition, bytes](), dict[TopicPartition, Failure]()
        for partition, batch in batches.items():
            try:
                encoded[partition] = self._sequences.encode(partition, batch.records, self._target.codec)
            except CorruptBatch as error:
                failures[partition] = own_failure(PRODUCE, Scope.of_partition(*partition), error.reason, str(error))
        return encoded, failures


def _unwritten(partition: TopicPartition, batch: PendingBatch, failure: Failure, result: SendResult) -> UnwrittenBatch:
    refused = {batch.indexes[position]: reason for position, reason in result.refused.get(partition, {}).items()}
    return UnwrittenBatch(partition=partition, indexes=batch.indexes, failure=failure, refused=refused)
