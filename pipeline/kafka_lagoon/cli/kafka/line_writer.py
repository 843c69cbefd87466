"""Writes lines of input as records of a topic, and counts written and unwritten lines for the command's report.

Writing ends at the first line that cannot be written. The report names this line and the lines that were not written.
"""

from collections.abc import Iterable, Iterator, Sequence

from kafka_lagoon.cli.kafka.record_lines import Parser
from kafka_lagoon.client.failures import Failure, Scope, own_failure
from kafka_lagoon.frozen import frozen
from kafka_lagoon.produce.batching import ProducerRecord
from kafka_lagoon.produce.writer import TopicWriter, UnwrittenBatch, WriteResult
from kafka_lagoon.protocol.error_codes import MESSAGE_TOO_LARGE, RECORD_LIST_TOO_LARGE
from kafka_lagoon.protocol.messages.produce import PRODUCE

BAD_LINE = "BAD_LINE"
_TOO_LARGE = (MESSAGE_TOO_LARGE, RECORD_LIST_TOO_LARGE)


@frozen(kw_only=False)
class WrittenRecord:
    """A line of the input, from 1, with the partition and offset of its record; the offset is null if it is not known."""

    line: int
    partition: int
    offset: int | None


class LineWriter:
    """Writes lines as records; `written` counts the records, `failures` and `notes` report lines that were not written."""

    def __init__(self, writer: TopicWriter, parse: Parser) -> None:
        self._writer, self._parse = writer, parse
        self._bad_line: int | None = None
        self.written = 0
        self.failures: list[Failure] = []
        self.notes: list[str] = []

    def write(self, bursts: Iterable[Sequence[bytes]]) -> Iterator[WrittenRecord]:
        """Write each burst before the next one is read, and yield the partitions and offsets of its lines."""
        for burst in bursts:
            for result in self._writer.write(self._records(burst)):
                rows = _rows(result)
                self.written += len(rows)
                self._report(result.unwritten)
                yield from rows
            if self.failures:
                last = self._bad_line or self._writer.taken
                self.notes.append(f"{self.written:,} records were written; nothing after line {last} was")
                return

    def _records(self, lines: Sequence[bytes]) -> Iterator[ProducerRecord]:
        """Parse lines to records, up to the first line that cannot be parsed."""
        for number, line in enumerate(lines, self._writer.taken + 1):
            try:
                record = self._parse(line)
            except ValueError as error:
                self._bad_line = number
                self._fail(number, BAD_LINE, str(error))
                return
            yield record

    def _report(self, unwritten: Sequence[UnwrittenBatch]) -> None:
        for batch in unwritten:
            self.failures.append(batch.failure)
            for index, reason in batch.refused.items():
                self._fail(index + 1, batch.failure.name, reason)
            cure = f"; {_cure(batch)}" if batch.failure.code in _TOO_LARGE else ""
            self.notes.append(f"not written to {batch.partition}: {_lines(batch.indexes)}{cure}")

    def _fail(self, line: int, name: str, message: str) -> None:
        self.failures.append(own_failure(PRODUCE, Scope.of_line(line), name, message))


def _cure(batch: UnwrittenBatch) -> str:
    """Say how a batch that the broker called too large can be written."""
    if len(batch.indexes) > 1:
        return "a smaller --batch-bytes makes smaller batches"
    return f"max.message.bytes of topic {batch.partition.topic} is the limit; --compression may make the record smaller"


def _rows(result: WriteResult) -> list[WrittenRecord]:
    """The written records in the order of their lines. Offsets of a batch are consecutive."""
    rows = [
        WrittenRecord(
            index + 1, batch.partition.partition, None if batch.base_offset is None else batch.base_offset + n
        )
        for batch in result.written
        for n, index in enumerate(batch.indexes)
    ]
    return sorted(rows, key=lambda row: row.line)


def _lines(indexes: Sequence[int]) -> str:
    """Spell line numbers for people."""
    first, last = indexes[0] + 1, indexes[-1] + 1
    if len(indexes) == 1:
        return f"line {first}"
    if last - first == len(indexes) - 1:
        return f"lines {first} to {last}"
    return f"{len(indexes):,} lines from {first} to {last}"
