"""Collects records into one batch for each partition, until a batch or all of them together are full."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from kafka_lagoon.records.encoding import BATCH_OVERHEAD, Header, Record


class ProducerRecord(NamedTuple):
    """A record to be written. Without a partition the key chooses it, without a timestamp it gets the current time."""

    key: bytes | None
    value: bytes | None
    headers: Sequence[Header] = ()
    partition: int | None = None
    timestamp_ms: int | None = None


@dataclass(slots=True)
class PendingBatch:
    """Records for one partition; `indexes` are their positions in the writer's input, `size` bounds the encoded bytes."""

    indexes: list[int] = field(default_factory=list)
    records: list[Record] = field(default_factory=list)
    size: int = BATCH_OVERHEAD


class RecordAccumulator:
    """Batches of at most `batch_bytes` before compression, and all together of at most `buffer_bytes`.

    A record that is larger than either gets a batch of its own; brokers decide whether it is too large.
    """

    def __init__(self, *, batch_bytes: int, buffer_bytes: int) -> None:
        self._batch_bytes, self._buffer_bytes = batch_bytes, buffer_bytes
        self._batches: dict[int, PendingBatch] = {}
        self._size = 0

    @property
    def is_empty(self) -> bool:
        """True if no record was appended since the batches were drained."""
        return not self._batches

    def append(self, partition: int, index: int, record: Record, size: int) -> bool:
        """Add a record to its partition's batch; False, and nothing is added, if the batches must be drained first."""
        batch = self._batches.get(partition)
        if batch is None:
            if self._batches and self._size + size > self._buffer_bytes:
                return False
            batch = self._batches[partition] = PendingBatch()
        elif batch.size + size > self._batch_bytes or self._size + size > self._buffer_bytes:
            return False
        batch.indexes.append(index)
        batch.records.append(record)
        batch.size += size
        self._size += size
        return True

    def drain(self) -> dict[int, PendingBatch]:
        """All batches by partition; afterwards there are none."""
        batches, self._batches, self._size = self._batches, {}, 0
        return batches
