"""Lines of a topic's new records in, where each was written out, batch by batch.

Guards one rule: nothing is dropped in silence. At the first record that is refused writing ends, and what was written, what
was not, and which line is to blame are said.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from kafka_lagoon.cli.kafka.drafts import Draft
from kafka_lagoon.client.cluster import Cluster, TopicPartition
from kafka_lagoon.client.failures import Failure, Scope, own_failure
from kafka_lagoon.clock import Deadline
from kafka_lagoon.produce.partitioner import Sticky, partition_of
from kafka_lagoon.produce.producer import Delivery, Numbering, Produced, produce
from kafka_lagoon.protocol.messages.produce import PRODUCE
from kafka_lagoon.records.encoding import Record

BAD_LINE = "BAD_LINE"


@dataclass(frozen=True, slots=True)
class WrittenRecord:
    """The line of the input that became a record (from 1), and where that is; the offset is null if it is not known."""

    line: int
    partition: int
    offset: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A topic that is written to, and how. `available` partitions have a leader; batches are of at most `batch_bytes`."""

    topic: str
    partitions: int
    available: Sequence[int]
    codec: int
    delivery: Delivery
    batch_bytes: int
    budget_ms: int  # for each request, retries included
    partition: int | None = None
    timestamp_ms: int | None = None


@dataclass(slots=True)
class _Batch:
    lines: list[int] = field(default_factory=list)
    records: list[Record] = field(default_factory=list)
    size: int = 0


class TopicWriter:
    """Writes lines to one topic; `failures` and `notes` tell what was not written."""

    def __init__(self, cluster: Cluster, target: Target, numbering: Numbering) -> None:
        self._cluster, self._target, self._numbering = cluster, target, numbering
        self._sticky = Sticky(target.available)
        self._waiting: dict[int, _Batch] = {}
        self._line = 0
        self.written = 0
        self.failures: list[Failure] = []
        self.notes: list[str] = []

    def write(self, bursts: Iterable[Sequence[bytes]], read: Callable[[bytes], Draft]) -> Iterator[WrittenRecord]:
        """Write every burst at its end at the latest, and tell where its lines are."""
        for burst in bursts:
            default_ms = (
                self._cluster.clock.now_ms() if self._target.timestamp_ms is None else self._target.timestamp_ms
            )
            for line in burst:
                self._line += 1
                draft = self._draft(line, read)
                if draft is None or self._take(draft, default_ms):
                    yield from self._flush()
                if self.failures:
                    break
            yield from self._flush()
            if self.failures:
                self._say_what_is_missing()
                return

    def _draft(self, line: bytes, read: Callable[[bytes], Draft]) -> Draft | None:
        """What a line says; None, and a failure, if that is nothing that can be written."""
        try:
            draft = read(line)
        except ValueError as error:
            self._fail(self._line, BAD_LINE, str(error))
            return None
        if draft.partition is None or 0 <= draft.partition < self._target.partitions:
            return draft
        self._fail(self._line, BAD_LINE, f"no partition {draft.partition}: the topic has {self._target.partitions}")
        return None

    def _take(self, draft: Draft, default_ms: int) -> bool:
        """Put a record where it belongs; True if that batch is full."""
        timestamp_ms = default_ms if draft.timestamp_ms is None else draft.timestamp_ms
        record = Record(timestamp_ms, draft.key, draft.value, draft.headers)
        batch = self._waiting.setdefault(self._partition(draft), _Batch())
        batch.lines.append(self._line)
        batch.records.append(record)
        batch.size += record.size()
        return batch.size >= self._target.batch_bytes

    def _partition(self, draft: Draft) -> int:
        if draft.partition is not None:
            return draft.partition
        if self._target.partition is not None:
            return self._target.partition
        return self._sticky.partition if draft.key is None else partition_of(draft.key, self._target.partitions)

    def _flush(self) -> Iterator[WrittenRecord]:
        """Write what waits, a batch for each partition, and tell where it is, in the order of the lines."""
        waiting, self._waiting = self._waiting, {}
        if not waiting:
            return
        batches = {TopicPartition(self._target.topic, partition): batch for partition, batch in waiting.items()}
        deadline = Deadline.after(self._cluster.clock, self._target.budget_ms)
        encoded = {at: self._numbering.encode(at, one.records, self._target.codec) for at, one in batches.items()}
        found = produce(self._cluster, encoded, self._target.delivery, deadline)
        self._sticky.move()
        rows = list[WrittenRecord]()
        for at, answer in found.answers.items():
            batch = batches[at]
            self._numbering.written(at, len(batch.records))
            rows += _rows(at.partition, answer.base_offset, batch.lines)
        self.written += len(rows)
        self._blame(batches, found)
        yield from sorted(rows, key=lambda row: row.line)

    def _blame(self, batches: dict[TopicPartition, _Batch], found: Produced) -> None:
        for at, failure in found.failures.items():
            self.failures.append(failure)
            lines = batches[at].lines
            for index, reason in found.refused.get(at, {}).items():
                self._fail(lines[index], failure.name, reason)
            self.notes.append(f"not written to {at.topic}-{at.partition}: {_spans(lines)}")

    def _fail(self, line: int, name: str, message: str) -> None:
        self.failures.append(own_failure(PRODUCE, Scope.of_line(line), name, message))

    def _say_what_is_missing(self) -> None:
        self.notes.append(f"{self.written:,} records were written; nothing behind line {self._line} was")


def _rows(partition: int, base_offset: int, lines: Sequence[int]) -> Iterator[WrittenRecord]:
    """The offsets of a batch follow each other."""
    for index, line in enumerate(lines):
        yield WrittenRecord(line, partition, base_offset + index if base_offset >= 0 else None)


def _spans(lines: Sequence[int]) -> str:
    """Line numbers in people's words."""
    if len(lines) == 1:
        return f"line {lines[0]}"
    if lines[-1] - lines[0] == len(lines) - 1:
        return f"lines {lines[0]} to {lines[-1]}"
    return f"{len(lines):,} lines from {lines[0]} to {lines[-1]}"
