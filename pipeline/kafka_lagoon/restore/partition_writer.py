"""Sends archived records to one partition of the target in order, under a producer of the restore; returns their offsets."""

from collections import deque
from collections.abc import Iterable, Iterator
from types import TracebackType
from typing import Self

import pyarrow as pa

from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.errors import BrokerError, OtherAttempt, TargetChanged
from kafka_lagoon.frozen import frozen
from kafka_lagoon.produce.arrow_writer import RECORD_TOO_LARGE, ArrowWriter, WriteOptions
from kafka_lagoon.produce.batch_queues import Unwritten, Written
from kafka_lagoon.produce.producer_state import ProducerState
from kafka_lagoon.produce.targets import TargetTopic
from kafka_lagoon.produce.transactions import Transaction
from kafka_lagoon.protocol.error_codes import (
    DUPLICATE_SEQUENCE_NUMBER,
    INVALID_RECORD,
    INVALID_TIMESTAMP,
    MESSAGE_TOO_LARGE,
    OUT_OF_ORDER_SEQUENCE_NUMBER,
)
from kafka_lagoon.protocol.messages.produce import PRODUCE
from kafka_lagoon.records.encode_columns import TARGET_BATCH_BYTES
from kafka_lagoon.records.encoding import Producer
from kafka_lagoon.restore.header_keys import in_order, unescaped
from kafka_lagoon.restore.offset_map import OffsetRange, batch_ranges
from kafka_lagoon.topic_partition import TopicPartition

BUFFER_BYTES = 16 << 20
_OTHERS = (OUT_OF_ORDER_SEQUENCE_NUMBER, DUPLICATE_SEQUENCE_NUMBER)
# Errors of single records, which brokers need not name (KIP-467).
_OF_RECORDS = (MESSAGE_TOO_LARGE, INVALID_RECORD, INVALID_TIMESTAMP)


@frozen
class SendOptions:
    """Options of batches and requests; `escaped` are the source's ranges of offsets whose header keys are escaped."""

    codec: int
    timeout_ms: int
    escaped: tuple[tuple[int, int], ...] = ()


class PartitionWriter:
    """Writes records to a partition in order; `producer` has the sequence number of the first one.

    `cluster` must not be used by other code meanwhile. `written` raises BrokerError for a batch that is not written,
    TargetChanged for records that the target refuses, and OtherAttempt if the broker has records of the producer that this
    writer has not sent. It yields the records that were written before the error first. `flush` raises none of these.
    """

    def __init__(
        self,
        cluster: Cluster,
        target: TopicPartition,
        topics: dict[str, TargetTopic],
        options: SendOptions,
        producer: Producer,
        transaction: Transaction | None = None,
    ) -> None:
        self._target, self._escaped = target, in_order(options.escaped)
        state = ProducerState(None, {target: producer})
        writing = WriteOptions(
            codec=options.codec,
            buffer_bytes=BUFFER_BYTES,
            target_batch_bytes=TARGET_BATCH_BYTES,
            delivery_timeout_ms=options.timeout_ms,
        )
        self._writer = ArrowWriter(cluster, topics, state, writing, transaction)
        self._sent: deque[pa.RecordBatch] = deque()
        self._counted = 0  # records that `written` has returned

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._writer.close()

    def write(self, archived: pa.RecordBatch) -> None:
        """Accept archived records."""
        self._sent.append(archived)
        self._writer.write(
            unescaped(archived, self._escaped), topic=self._target.topic, partition=self._target.partition
        )

    def flush(self) -> None:
        """Wait until all records are written or have failed."""
        self._writer.flush()

    def written(self) -> Iterator[tuple[pa.RecordBatch, list[OffsetRange]]]:
        """Records that were written since the last call, in order, with their offsets."""
        has_failed = bool(self._writer.failures)
        if has_failed:
            self._writer.flush()
        for first, count in _runs(self._writer.take_written()):
            if first is None:  # a duplicate of a batch whose offset the broker does not remember
                raise OtherAttempt(*self._target)
            done = 0
            while done < count:
                piece = self._next(count - done)
                yield piece, batch_ranges(piece.column("offset").to_numpy(), first + done)
                done += piece.num_rows
        # A batch that failed since then is raised by the next call, after the records that were written before it.
        for failed in self._writer.failures if has_failed else ():
            self._raise(failed)

    def _next(self, count: int) -> pa.RecordBatch:
        """The oldest records without a confirmation, at most `count`."""
        batch = self._sent.popleft()
        if batch.num_rows > count:
            self._sent.appendleft(batch.slice(count))
        self._counted += min(count, batch.num_rows)
        return batch.slice(0, count)

    def _raise(self, failed: Unwritten) -> None:
        failure = failed.failure
        if failure.code in _OTHERS:
            raise OtherAttempt(*self._target)
        if failure.name == RECORD_TOO_LARGE:
            reason = f"cannot take the record at offset {self._source_offset(failed.first)} of the source"
            raise TargetChanged(*self._target, f"{reason}: {failure.message}")
        if failed.refused or failure.code in _OF_RECORDS:
            raise TargetChanged(*self._target, self._refusal(failed))
        where = f"{self._target.topic}-{self._target.partition}"
        raise BrokerError(failure.code or -1, failure.name, PRODUCE.name, where, failure.message)

    def _refusal(self, failed: Unwritten) -> str:
        """The reason why the target refuses a batch, with the first record that the broker names, or else the whole batch."""
        first, last, message = failed.first, failed.first + failed.count - 1, failed.failure.message
        if failed.refused:
            first = last = min(failed.refused)
            message = failed.refused[first]
        start, end = self._source_offset(first), self._source_offset(last)
        records = (
            f"the record at offset {start}" if first == last else f"a batch of the records at offsets {start} to {end}"
        )
        return f"refuses {records} of the source: {failed.failure.name}{f' ({message})' if message else ''}"

    def _source_offset(self, number: int) -> int:
        """The offset in the source of a record that is not written; `number` counts from the first record of the writer."""
        offset: int = pa.Table.from_batches(self._sent)["offset"][number - self._counted].as_py()
        return offset


def _runs(batches: Iterable[Written]) -> Iterator[tuple[int | None, int]]:
    """The first offset and the number of records of batches that follow each other in the target's log."""
    first: int | None = None
    count = 0
    for batch in batches:
        if count and (first is None or batch.base_offset != first + count):
            yield first, count
            count = 0
        if not count:
            first = batch.base_offset
        count += batch.count
    if count:
        yield first, count
