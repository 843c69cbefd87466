"""Writes lines of input to a topic, and keeps what was not written for the command to report.

At the first line that cannot be written writing ends, and it is reported what was written, what was not, and which line is
the cause.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from kafka_lagoon.cli.kafka.record_lines import Parser
from kafka_lagoon.client.failures import Failure, Scope, own_failure
from kafka_lagoon.produce.batching import ProducerRecord
from kafka_lagoon.produce.writer import TopicWriter, UnwrittenBatch, WriteResult
from kafka_lagoon.protocol.messages.produce import PRODUCE

BAD_LINE = "BAD_LINE"


@dataclass(frozen=True, slots=True)
class WrittenRecord:
    """The line of the input that became a record (from 1), and where that is; the offset is null if it is not known."""

    line: int
    partition: int
    offset: int | None


class LineWriter:
    """Writes lines as records; `written` counts them, `failures` and `notes` report what was not written."""

    def __init__(self, writer: TopicWriter, parse: Parser) -> None:
        self._writer, self._parse = writer, parse
        self._bad_line: int | None = None
        self.written = 0
        self.failures: list[Failure] = []
        self.notes: list[str] = []

    def write(self, bursts: Iterable[Sequence[bytes]]) -> Iterator[WrittenRecord]:
        """Write every burst before the next one is read, and return where its lines are."""
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
        """The records of some lines, up to the first one that cannot be parsed."""
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
            self.notes.append(f"not written to {batch.partition}: {_lines(batch.indexes)}")

    def _fail(self, line: int, name: str, message: str) -> None:
        self.failures.append(own_failure(PRODUCE, Scope.of_line(line), name, message))


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
    """Line numbers for people."""
    first, last = indexes[0] + 1, indexes[-1] + 1
    if len(indexes) == 1:
        return f"line {first}"
    if last - first == len(indexes) - 1:
        return f"lines {first} to {last}"
    return f"{len(indexes):,} lines from {first} to {last}"
