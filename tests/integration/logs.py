"""Reads the logs of topics: as files, with Kafka's DumpLogSegments, and with librdkafka.

How a transaction ended is taken from the markers in the dump, not by anything of ours.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from kafka_lagoon.sandbox.kafka import LocalKafka
from tests.integration.dump import DumpedBatch, DumpedRecord, DumpedSegment, dump
from tests.integration.producers import Consumed, consume, folder, log_starts


class Transaction(NamedTuple):
    """A producer's records from an offset on; `marker` is ABORT, COMMIT, or None while open, and is at `end`."""

    producer_id: int
    first_offset: int
    end: int | None
    marker: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Log:
    """The log of one partition."""

    kafka: LocalKafka
    topic: str
    data: bytes  # of all segments, one after the other
    segments: Sequence[DumpedSegment]
    start: int
    committed: Sequence[Consumed]

    @property
    def batches(self) -> list[DumpedBatch]:
        """Return the batches of all segments."""
        return [batch for segment in self.segments for batch in segment.batches]

    @property
    def end(self) -> int:
        """Return the offset after the last record."""
        return self.batches[-1].last_offset + 1

    @property
    def stable_end(self) -> int:
        """Return the last stable offset: the start of the first open transaction."""
        return min((one.first_offset for one in self.transactions if one.marker is None), default=self.end)

    @property
    def aborted(self) -> list[tuple[int, int]]:
        """Return producer id and first offset of the aborted transactions, as brokers do."""
        return [(one.producer_id, one.first_offset) for one in self.transactions if one.marker == "ABORT"]

    @property
    def transactions(self) -> list[Transaction]:
        """Return every transaction with records in the log."""
        begun: dict[int, int] = {}
        transactions: list[Transaction] = []
        for batch in self.batches:
            if batch.is_transactional and not batch.is_control:
                begun.setdefault(batch.producer_id, batch.base_offset)
            elif batch.is_control and batch.producer_id in begun:
                first = begun.pop(batch.producer_id)
                transactions.append(Transaction(batch.producer_id, first, batch.base_offset, batch.marker))
        return transactions + [Transaction(producer_id, first, None, None) for producer_id, first in begun.items()]

    def records(self) -> Iterator[tuple[DumpedBatch, DumpedRecord]]:
        """Return the data records from the log's start on, each with its batch."""
        for batch in self.batches:
            if not batch.is_control:
                yield from ((batch, record) for record in batch.records if record.offset >= self.start)

    def is_aborted(self, batch: DumpedBatch) -> bool | None:
        """Return True if the batch is part of an aborted transaction; None if that is not known yet."""
        if not batch.is_transactional:
            return False
        if batch.base_offset >= self.stable_end:
            return None
        return any(
            one.marker == "ABORT" and one.end is not None and one.first_offset <= batch.base_offset < one.end
            for one in self.transactions
            if one.producer_id == batch.producer_id
        )


def logs(kafka: LocalKafka, topics: Sequence[str]) -> dict[str, Log]:
    """Read the logs of the topics, which are no longer written to."""
    files = {topic: _files(folder(kafka, topic)) for topic in topics}
    dumped = dump(kafka.version, [path for paths in files.values() for path in paths])
    starts = log_starts(kafka, topics)
    committed = consume(kafka, starts, "read_committed", has_open_transactions=True)
    return {
        topic: Log(
            kafka=kafka,
            topic=topic,
            data=b"".join(path.read_bytes() for path in paths if path.suffix == ".log"),
            segments=[dumped[path] for path in paths],
            start=starts[topic],
            committed=committed[topic],
        )
        for topic, paths in files.items()
    }


def _files(log: Path) -> list[Path]:
    return sorted(path for path in log.iterdir() if path.suffix in {".log", ".txnindex"})
