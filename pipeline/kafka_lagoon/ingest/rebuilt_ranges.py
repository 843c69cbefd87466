"""Rebuilds the ranges of a run whose pending rows were removed, from what was committed.

The next offset of each partition is in the log of `records`, the end of its range before in record_ranges, and the run's
records are in `records`. Why an offset has no record is not known any more: such offsets count as lost, and the problem
COUNTS_LOST says so.
"""

from collections.abc import Iterator, Mapping
from datetime import date
from typing import Any

from pyspark.sql import functions as F  # noqa: N812  everybody's name for it

from kafka_lagoon.delta.storage import JAVA_ERRORS, reason
from kafka_lagoon.delta.warehouse import Warehouse
from kafka_lagoon.errors import TableError
from kafka_lagoon.fetch.archived import Archived
from kafka_lagoon.fetch.ranges import Position
from kafka_lagoon.frozen import frozen
from kafka_lagoon.ingest.next_offsets import LastRun
from kafka_lagoon.tables.record_rows import RecordRangeRow
from kafka_lagoon.tables.record_tables import RECORD_RANGES, RECORDS

COUNTS_LOST = "COUNTS_LOST"

_KEY = ("topic", "topic_id", "partition")
_Key = tuple[str, str | None, int]


@frozen(kw_only=False)
class _Records:
    """A run's records of one partition."""

    count: int = 0
    first_offset: int | None = None
    files: int = 0
    cluster: str | None = None


def rebuild_ranges(
    warehouse: Warehouse, cluster_id: str, run: LastRun, topics: Mapping[str, Archived]
) -> list[RecordRangeRow]:
    """Rebuild ranges that join those of earlier runs to the next offsets of `topics`."""
    try:
        records, ends = _records(warehouse, cluster_id, run), _ends(warehouse, cluster_id, run)
    except JAVA_ERRORS as error:
        raise TableError(f"ranges of ingest {run.ingest_id} cannot be rebuilt: {reason(error)}") from error
    positions = {
        (topic, archived.topic_id, partition): position
        for topic, archived in topics.items()
        for partition, position in archived.partitions.items()
    }
    rows = _Rows(cluster_id, run)
    return [
        row for key, position in sorted(positions.items(), key=str) for row in rows.of(key, position, records, ends)
    ]


def _records(warehouse: Warehouse, cluster_id: str, run: LastRun) -> dict[_Key, _Records]:
    table = warehouse.spark.sql(f"SELECT *, _metadata.file_path FROM {warehouse.identifiers[RECORDS.name]}")  # noqa: S608
    is_of_day = F.col(RECORDS.partition_by) == F.lit(date.fromisoformat(run.ingest_date))
    of_run = table.filter(is_of_day & (F.col("cluster_id") == cluster_id) & (F.col("ingest_id") == run.ingest_id))
    counted = of_run.groupBy(*_KEY).agg(F.count("*"), F.min("offset"), F.countDistinct("file_path"), F.max("cluster"))
    return {(row[0], row[1], row[2]): _Records(*row[3:]) for row in counted.collect()}


def _ends(warehouse: Warehouse, cluster_id: str, run: LastRun) -> dict[_Key, int]:
    """The end offsets of the ranges of earlier runs. Runs without a number came before all others, and have only ids."""
    table = warehouse.spark.sql(f"SELECT * FROM {warehouse.identifiers[RECORD_RANGES.name]}")  # noqa: S608  our own names
    number = F.coalesce("sequence", F.lit(-1))
    earlier = table.filter((F.col("cluster_id") == cluster_id) & (number < run.sequence))
    is_read = F.col("to_offset") > F.col("from_offset")  # after a truncation in the same run
    newest = earlier.groupBy(*_KEY).agg(F.max_by("to_offset", F.struct(number, "ingest_id", is_read, "to_offset")))
    return {(row[0], row[1], row[2]): row[3] for row in newest.collect()}


@frozen(kw_only=False)
class _Rows:
    """Makes rows of one run."""

    cluster_id: str
    run: LastRun

    def of(
        self, key: _Key, position: Position, records: Mapping[_Key, _Records], ends: Mapping[_Key, int]
    ) -> Iterator[RecordRangeRow]:
        """The range of a partition, after one that goes back if its records begin before the last range's end."""
        own = records.get(key, _Records())
        start = ends.get(key, own.first_offset)
        if start is None:
            return
        first = start if own.first_offset is None else min(start, own.first_offset)
        first = min(first, position.next_offset)
        if first < start:
            yield self._row(key, position, start, first, _Records())
        if first < position.next_offset:
            yield self._row(key, position, first, position.next_offset, own)

    def _row(
        self, key: _Key, position: Position, from_offset: int, to_offset: int, records: _Records
    ) -> RecordRangeRow:
        topic, topic_id, partition = key
        unknown: dict[str, Any] = dict.fromkeys(("control", "aborted", "compacted", "corrupt"), 0)
        return RecordRangeRow(
            ingest_id=self.run.ingest_id,
            cluster=records.cluster,
            cluster_id=self.cluster_id,
            topic=topic,
            topic_id=topic_id,
            partition=partition,
            from_offset=from_offset,
            to_offset=to_offset,
            records=records.count,
            lost=max(0, to_offset - from_offset) - records.count,
            bytes_fetched=0,
            bytes_decoded=0,
            codec=None,
            files=records.files,
            leader_epoch=None if position.leader_epoch < 0 else position.leader_epoch,
            problem=COUNTS_LOST,
            planned_at_ms=int(self.run.ingest_id.replace("-", "")[:12], 16),  # of a UUIDv7
            sequence=self.run.sequence,
            **unknown,
        )
