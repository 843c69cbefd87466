"""Makes the archived records of a topic a side of a comparison: `records@CLUSTER:TOPIC`.

The caller chooses the engine that opens the tables. Each partition comes sorted by offset; DuckDB spills what does not fit
into memory to the temporary folder, and Spark to its own.
"""

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import pyarrow as pa

from kafka_lagoon.clock import Clock
from kafka_lagoon.compare.reading import Chunk
from kafka_lagoon.compare.sides import Connection, Reader, Side, Wanted, lost_offsets
from kafka_lagoon.errors import ConfigError
from kafka_lagoon.fetch.offset_specs import EARLIEST, AtOffset, BeforeEnd, Earliest, Latest, OffsetSpec
from kafka_lagoon.fetch.range_history import (
    Incarnation,
    archived_range,
    by_partition,
    in_order_of_runs,
    incarnations,
    unnamed_ids,
)
from kafka_lagoon.fetch.split import ReadOptions, Split, SplitOutcome
from kafka_lagoon.frozen import frozen
from kafka_lagoon.query.statements import Ask
from kafka_lagoon.records.decoding import Counts
from kafka_lagoon.records.digests import record_hashes
from kafka_lagoon.restore.saved_rows import rows_of

_PREFIX = "records@"
_NAMES = ("records_now", "record_ranges", "records")
# Retention removes the records of a day before its ranges. Ranges without records count as removed: no record is missing.
# Ranges may have another name of the cluster, which was renamed, or none, as those of version 0.1.0.
_RANGES = """
    SELECT
      cluster, cluster_id, topic_id, partition, from_offset, to_offset, ingest_id, sequence, compacted, lost, corrupt, problem
    FROM record_ranges
    WHERE topic = ? AND cluster_id IN (SELECT cluster_id FROM record_ranges WHERE topic = ? AND (cluster = ? OR cluster_id = ?))
      AND (records = 0 OR ingest_date >= (SELECT min(ingest_date) FROM records))
"""
_NAMES_OF_TOPIC = "SELECT DISTINCT cluster, cluster_id FROM record_ranges WHERE topic = ?"
_RECORDS = """
    SELECT offset, timestamp_ms, key, value, headers FROM records_now
    WHERE cluster_id = ? AND topic = ? AND {of_topic} AND partition = ? AND offset >= ? AND offset < ?
      AND is_aborted IS NOT TRUE
    ORDER BY offset
"""
_OF_ID = "coalesce(topic_id, '') = ?"


@frozen
class ArchivedRecords:
    """The archived records of the newest topic of a name; `tables` opens tables by name."""

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


@dataclass(eq=False)
class _Archive:
    """The opened tables, as a side of a comparison; ranges are read once for all partitions."""

    of: ArchivedRecords
    ask: Ask

    def choose(self, wanted: Wanted) -> Side:
        of, newest = self.of, self._newest
        ranges, known = newest.rows, list(self._ranges)
        if absent := sorted(set(wanted.partitions or ()) - set(known)):
            raise ConfigError([f"{of}: nothing is archived of partition {number}" for number in absent])
        archived = {
            number: archived_range(rows)
            for number, rows in self._ranges.items()
            if not wanted.partitions or number in wanted.partitions
        }
        splits = {number: self._split(newest.topic_id, number, archived[number], wanted) for number in archived}
        return Side(
            of=of,
            cluster_id=ranges[0]["cluster_id"],
            topic_id=newest.topic_id,
            partitions=known[-1] + 1,  # partitions have the numbers from 0 on, also those that were not archived
            splits=splits,
            lost={
                number: lost_offsets(wanted.start.default or EARLIEST, split, archived[number][0])
                for number, split in splits.items()
            },
            notes=list(_notes(of, [row for row in ranges if row["partition"] in splits])),
            is_archive=True,
        )

    @cached_property
    def _newest(self) -> Incarnation:
        """The newest of the topics that have had this name."""
        of = self.of
        rows = in_order_of_runs(rows_of(self.ask, _RANGES, of.topic, of.topic, of.cluster, of.cluster))
        named = [row["cluster_id"] for row in rows if of.cluster in (row["cluster"], row["cluster_id"])]
        if not named:
            unnamed = unnamed_ids(rows_of(self.ask, _NAMES_OF_TOPIC, of.topic))
            raise ConfigError([f"{of}: nothing is archived of it{unnamed}"])
        return incarnations(row for row in rows if row["cluster_id"] == named[-1])[0]

    @cached_property
    def _ranges(self) -> Mapping[int, Sequence[Mapping[str, Any]]]:
        return by_partition(self._newest.rows)

    def _split(self, topic_id: str | None, partition: int, archived: tuple[int, int], wanted: Wanted) -> Split:
        first, end = archived
        low, high = (min(_resolved(spec, first, end), end) for spec in (wanted.start.default, wanted.end.default))
        return Split(
            topic=self.of.topic,
            topic_id=topic_id,
            partition=partition,
            from_offset=low,
            to_offset=max(low, high),
            stable_end=end,
        )

    def read(self, split: Split, options: ReadOptions, fields: frozenset[str]) -> Reader:  # noqa: ARG002
        compacted = sum(row["compacted"] for row in self._ranges.get(split.partition, ()))
        return _ArchiveReader(self.ask, self._newest, split, fields, Counts(compacted=compacted))


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
    raise ConfigError(["--from, --until: an archive takes offsets, not times"])


def _notes(of: ArchivedRecords, rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    for name, what in (("lost", "were lost before they were archived"), ("corrupt", "could not be decoded")):
        if count := sum(row[name] for row in rows):
            yield f"{of}: {count:,} offsets {what}: see tables record_ranges and record_problems"


@dataclass(slots=True)
class _ArchiveReader:
    """Reads a range of a partition from the table."""

    ask: Ask
    of: Incarnation
    split: Split
    fields: frozenset[str]
    counts: Counts = field(default_factory=Counts)

    @property
    def outcome(self) -> SplitOutcome:
        """The whole range: an exception is raised if it cannot be read."""
        return SplitOutcome(split=self.split, next_offset=self.split.to_offset, counts=self.counts)

    @property
    def is_in_order(self) -> bool:
        """True: the statement sorts the records."""
        return True

    def chunks(self) -> Generator[Chunk, None, None]:
        """The records in the order of their offsets."""
        split, of = self.split, self.of
        condition, runs = _OF_ID, list[str]()
        if of.began_without_id:
            runs = sorted({one.ingest_id for one in of.earlier_ranges(split.partition)})
            others = f" AND ingest_id NOT IN ({', '.join('?' * len(runs))})" if runs else ""
            condition = f"({_OF_ID} OR (topic_id IS NULL{others}))"
        cluster_id: str = of.rows[0]["cluster_id"]
        topic = (cluster_id, split.topic, split.topic_id or "", *runs)
        statement = _RECORDS.format(of_topic=condition)
        for batch in self.ask(statement, *topic, split.partition, split.from_offset, split.to_offset).batches:
            yield _chunk(batch, self.fields)


def _chunk(batch: pa.RecordBatch, fields: frozenset[str]) -> Chunk:
    return Chunk(batch.column("offset").to_numpy(), record_hashes(batch, fields), batch)
