"""Runs of an archive for tests: a few records, written as by an executor, and their ranges."""

from datetime import UTC, date, datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from kafka_lagoon.delta.files import DataFile, Statistics
from kafka_lagoon.fetch.accounting import Reconciled
from kafka_lagoon.fetch.archived import Archived
from kafka_lagoon.fetch.ranges import Position
from kafka_lagoon.ingest.archive_lock import ArchiveLock
from kafka_lagoon.ingest.commit import RunOutput
from kafka_lagoon.tables.record_rows import RecordProblemRow, RecordRangeRow
from kafka_lagoon.tables.record_tables import RECORDS

DAY = date(2026, 11, 21)
CLUSTER = "cluster-id"


def run(lock: ArchiveLock, number: int, start: int, end: int, *, topic: str = "t", problems: int = 0) -> RunOutput:
    """Make run `number`: one record for each offset from `start` to `end` of partition 0 of a topic."""
    ingest_id = f"0192-{number:04d}"
    files = [_file(lock, ingest_id, topic, start, end)] if end > start else []
    positions = {**lock.topics, topic: Archived(topic_id="id", partitions={0: Position(next_offset=end)})}
    reconciled = Reconciled(
        ranges=[range_row(ingest_id, topic, start, end, lock.fence.version)],
        problems=[_problem(ingest_id, topic, start + n) for n in range(problems)],
        topics=positions,
        kept=frozenset({0}),
    )
    return RunOutput(ingest_id=ingest_id, ingest_date=DAY, reconciled=reconciled, files=files)


def _file(lock: ArchiveLock, ingest_id: str, topic: str, start: int, end: int) -> DataFile:
    count = end - start
    values = {
        "cluster": ["name"] * count,
        "cluster_id": [CLUSTER] * count,
        "topic": [topic] * count,
        "topic_id": ["id"] * count,
        "partition": [0] * count,
        "offset": range(start, end),
        "timestamp": [datetime.fromtimestamp(1_700_000_000 + n, UTC) for n in range(start, end)],
        "timestamp_ms": [1_700_000_000_000 + n * 1000 for n in range(start, end)],
        "timestamp_type": [0] * count,
        "key": [b"k%d" % n for n in range(start, end)],
        "value": [b"v%d" % n for n in range(start, end)],
        "headers": [[]] * count,
        "leader_epoch": [0] * count,
        "producer_id": [None] * count,
        "producer_epoch": [None] * count,
        "is_transactional": [False] * count,
        "is_aborted": [False] * count,
        "ingest_id": [ingest_id] * count,
    }
    folder = Path(lock.folder(DAY).removeprefix("file:"))
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{ingest_id}-0.parquet"
    pq.write_table(pa.table(values, schema=RECORDS.file_schema()), path)
    bounds = {"topic": topic, "partition": 0, "ingest_id": ingest_id}
    statistics = Statistics(
        rows=count,
        least={**bounds, "offset": start},
        greatest={**bounds, "offset": end - 1},
        nulls=dict.fromkeys([*bounds, "offset"], 0),
    )
    return DataFile(
        url=f"{lock.folder(DAY)}/{path.name}", size=path.stat().st_size, modified_at_ms=1, statistics=statistics
    )


def range_row(ingest_id: str, topic: str, start: int, end: int, sequence: int | None = None) -> RecordRangeRow:
    """Make the range of a run that archived one record for each offset; without a sequence number as of earlier versions."""
    return RecordRangeRow(
        ingest_id=ingest_id,
        cluster="name",
        cluster_id=CLUSTER,
        topic=topic,
        topic_id="id",
        partition=0,
        from_offset=start,
        to_offset=end,
        records=end - start,
        control=0,
        aborted=0,
        compacted=0,
        lost=0,
        corrupt=0,
        bytes_fetched=1,
        bytes_decoded=1,
        codec="none",
        files=1,
        leader_epoch=0,
        problem=None,
        planned_at_ms=1_763_726_400_000,
        sequence=sequence,
    )


def _problem(ingest_id: str, topic: str, offset: int) -> RecordProblemRow:
    return RecordProblemRow(
        ingest_id=ingest_id,
        cluster="name",
        cluster_id=CLUSTER,
        topic=topic,
        topic_id="id",
        partition=0,
        base_offset=offset,
        last_offset=offset,
        reason="CORRUPT_BATCH",
        detail=None,
        raw=b"\x00",
    )
