"""Makes data files of table `records` for tests of restores, as an ingest would write them."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from kafka_lagoon.delta.record_files import RecordFiles
from kafka_lagoon.restore.archive_reader import ArchivedPartition
from kafka_lagoon.restore.open_files import SourceFile
from kafka_lagoon.tables.record_tables import RECORDS

CLUSTER_ID, TOPIC_ID = "cluster", "AAAAAAAAAAAAAAAAAAAAAQ"
_OF_RUN = {"cluster", "cluster_id", "topic", "topic_id", "partition", "ingest_id"}
_SCHEMA = pa.schema([field for field in RECORDS.file_schema() if field.name not in _OF_RUN])


def records(offsets: Sequence[int], **columns: Sequence[Any]) -> pa.RecordBatch:
    """Make records at these offsets, with the decoder's columns; columns that are not given have defaults."""
    count = len(offsets)
    made: dict[str, Sequence[Any]] = {
        "timestamp_ms": [1_700_000_000_000 + offset for offset in offsets],
        "timestamp_type": [0] * count,
        "key": [b"k%d" % offset if offset % 3 else None for offset in offsets],
        "value": [b"value %d" % offset for offset in offsets],
        "headers": [[{"key": "h", "value": b"%d" % offset}] if offset % 2 else [] for offset in offsets],
        "is_transactional": [False] * count,
        "is_aborted": [False] * count,
        **columns,
    }
    return pa.RecordBatch.from_arrays(
        [
            pa.array(list(offsets) if field.name == "offset" else made.get(field.name, [None] * count), field.type)
            for field in _SCHEMA
        ],
        schema=_SCHEMA,
    )


def write_files(
    folder: Path,
    batches: Sequence[pa.RecordBatch],
    *,
    topic: str = "t",
    partition: int = 0,
    ingest_id: str = "0192-0001",
    topic_id: str | None = TOPIC_ID,
    is_one_topic: bool = True,
) -> list[SourceFile]:
    """Write these records to files, in this order."""
    files = RecordFiles(
        folder_url=f"file:{folder}",
        ingest_id=ingest_id,
        cluster="name",
        cluster_id=CLUSTER_ID,
        target_bytes=1 << 30,
        compression="zstd-fast",
    )
    for batch in batches:
        files.write(topic, topic_id, partition, batch)
    return [SourceFile(file.url, is_one_topic) for file in files.close()]


def wanted(from_offset: int, to_offset: int, **more: Any) -> ArchivedPartition:
    """Ask for the partition in those files, or for some of its records."""
    given = {"cluster_id": CLUSTER_ID, "topic": "t", "topic_id": TOPIC_ID, "partition": 0, **more}
    return ArchivedPartition(from_offset=from_offset, to_offset=to_offset, **given)
