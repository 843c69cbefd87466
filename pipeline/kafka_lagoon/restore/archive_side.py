"""Makes the archived records of a topic a side of a comparison: `records@CLUSTER:TOPIC`.

The caller chooses the engine that opens the tables. Each partition comes sorted by offset; DuckDB spills what does not fit
into memory to the temporary folder, and Spark to its own.
"""

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from kafka_lagoon.clock import Clock
from kafka_lagoon.compare.reading import Chunk
from kafka_lagoon.compare.sides import Connection, Reader, Side, Wanted
from kafka_lagoon.errors import ConfigError
from kafka_lagoon.fetch.offset_specs import AtOffset, BeforeEnd, Earliest, Latest, OffsetSpec
from kafka_lagoon.fetch.range_history import in_order_of_runs
from kafka_lagoon.fetch.split import ReadOptions, Split, SplitOutcome
from kafka_lagoon.frozen import frozen
from kafka_lagoon.query.statements import Ask
from kafka_lagoon.records.decoding import Counts
from kafka_lagoon.records.digests import record_hashes
from kafka_lagoon.restore.saved_rows import rows_of

_PREFIX = "records@"
_NAMES = ("records_now", "record_ranges")
_RANGES = """
    SELECT cluster_id, topic_id, partition, from_offset, to_offset, ingest_id, sequence, compacted, lost, corrupt
    FROM record_ranges WHERE topic = ? AND (cluster = ? OR cluster_id = ?)
"""
_RECORDS = """
    SELECT offset, timestamp_ms, key, value, headers FROM records_now
    WHERE cluster_id = ? AND topic = ? AND coalesce(topic_id, '') = ? AND partition = ? AND offset >= ? AND offset < ?
      AND is_aborted IS NOT TRUE
    ORDER BY offset
"""


@frozen
class ArchivedRecords:
    """The archived records of a topic; of a re-created topic, those of the newest. `tables` opens tables by name."""

    tables: Callable[[Iterable[str]], AbstractContextManager[Ask]]
    cluster: str
    topic: str

    def __str__(self) -> str:
        return f"{_PREFIX}{self.cluster}:{self.topic}"

    @contextmanager
    def connect(self, clock: Clock) -> Iterator[Connection]:  # noqa: ARG002  part of the protocol: a table has no timeouts
        """Open the tables for one thread."""
        with self.tables(_NAMES) as ask:
            yield _Archive(self, ask)


@frozen(kw_only=False)
class _Archive:
    """Reads the tables."""

    of: ArchivedRecords
    ask: Ask

    def choose(self, wanted: Wanted) -> Side:
        of = self.of
        rows = in_order_of_runs(rows_of(self.ask, _RANGES, of.topic, of.cluster, of.cluster))
        if not rows:
            raise ConfigError([f"{of}: nothing is archived of it"])
        newest = rows[-1]
        ranges = [
            row for row in rows if (row["cluster_id"], row["topic_id"]) == (newest["cluster_id"], newest["topic_id"])
        ]
        known = sorted({row["partition"] for row in ranges})
        if absent := sorted(set(wanted.partitions or ()) - set(known)):
            raise ConfigError([f"{of}: nothing is archived of partition {number}" for number in absent])
        splits = {
            number: self._split([row for row in ranges if row["partition"] == number], wanted)
            for number in known
            if number in (wanted.partitions or known)
        }
        return Side(
            of=of,
            cluster_id=newest["cluster_id"],
            topic_id=newest["topic_id"],
            partitions=len(known),
            splits=splits,
            log_starts={number: split.from_offset for number, split in splits.items()},
            notes=list(_notes(of, [row for row in ranges if row["partition"] in splits])),
            is_archive=True,
        )

    def _split(self, rows: Sequence[Mapping[str, Any]], wanted: Wanted) -> Split:
        first, end = min(row["from_offset"] for row in rows), max(row["to_offset"] for row in rows)
        low, high = (_resolved(spec, first, end) for spec in (wanted.start.default, wanted.end.default))
        return Split(
            topic=self.of.topic,
            topic_id=rows[0]["topic_id"],
            partition=rows[0]["partition"],
            from_offset=min(low, end),
            to_offset=max(low, min(high, end)),
            stable_end=end,
        )

    def read(self, split: Split, options: ReadOptions, fields: frozenset[str]) -> Reader:  # noqa: ARG002
        rows = rows_of(self.ask, _RANGES, split.topic, self.of.cluster, self.of.cluster)
        of_split = [row for row in rows if (row["topic_id"], row["partition"]) == (split.topic_id, split.partition)]
        compacted = sum(row["compacted"] for row in of_split)
        return _ArchiveReader(self.ask, of_split[-1]["cluster_id"], split, fields, Counts(compacted=compacted))


def _resolved(spec: OffsetSpec | None, first: int, end: int) -> int:
    match spec:
        case None | Earliest():
            return first
        case Latest():
            return end
        case AtOffset(offset):
            return max(first, offset)
        case BeforeEnd(offsets):
            return max(first, end - offsets)
    raise ConfigError(["--from, --until: of an archive only offsets can be chosen, no times"])


def _notes(of: ArchivedRecords, rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    for name, what in (("lost", "were lost before they were archived"), ("corrupt", "could not be decoded")):
        if count := sum(row[name] for row in rows):
            yield f"{of}: {count:,} offsets {what}: see tables record_ranges and record_problems"


@dataclass(slots=True)
class _ArchiveReader:
    """Reads a range of a partition from the table."""

    ask: Ask
    cluster_id: str
    split: Split
    fields: frozenset[str]
    counts: Counts = field(default_factory=Counts)

    @property
    def outcome(self) -> SplitOutcome:
        """All of the range: reading raises if that fails."""
        return SplitOutcome(split=self.split, next_offset=self.split.to_offset, counts=self.counts)

    def chunks(self) -> Generator[Chunk, None, None]:
        """The records in the order of their offsets."""
        split = self.split
        values = (split.topic, split.topic_id or "", split.partition, split.from_offset, split.to_offset)
        for batch in self.ask(_RECORDS, self.cluster_id, *values).batches:
            yield _chunk(batch, self.fields)


def _chunk(batch: pa.RecordBatch, fields: frozenset[str]) -> Chunk:
    return Chunk(batch.column("offset").to_numpy(), record_hashes(batch, fields), batch)
