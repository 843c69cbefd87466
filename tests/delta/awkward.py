"""A warehouse of awkward values: every table has several files over two days, written as runs write them."""

import dataclasses
import json
import shutil
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from kafka_lagoon.delta.arrow import plain_table
from kafka_lagoon.delta.files import DataFile
from kafka_lagoon.delta.publish import publish, snapshot_lock
from kafka_lagoon.delta.record_files import RecordFiles
from kafka_lagoon.delta.warehouse import Warehouse
from kafka_lagoon.fetch.accounting import Reconciled
from kafka_lagoon.fetch.archived import Archived
from kafka_lagoon.fetch.ranges import Position
from kafka_lagoon.ingest.archive_lock import archive_lock
from kafka_lagoon.ingest.commit import RunOutput, commit
from kafka_lagoon.tables import snapshot_rows
from kafka_lagoon.tables.columns import TIMESTAMP, Column
from kafka_lagoon.tables.record_tables import RECORD_PROBLEMS, RECORD_RANGES
from kafka_lagoon.tables.schema import ADMIN_ACTIONS, HEADER, STATE_TABLES, STORED_TABLES, TABLES, WRITE_TABLES
from kafka_lagoon.tables.table import STATISTICS_COLUMNS, Table
from tests.clock import CLOCK
from tests.delta.samples import HOSTILE, HOUR_MS, NOON_MS
from tests.delta.test_record_files import batch_of, record

LAST = "\U0010ffff"  # no character is greater, so no upper bound of a truncated text exists
TEXTS = (HOSTILE, "", "a" * 100, "😀" * 40, LAST * 40, "b" * 31 + LAST + LAST, "\uffff", "plain", "\x1b[0m")
VALUES: dict[pa.DataType, tuple[Any, ...]] = {
    pa.string(): TEXTS,
    pa.int32(): (0, -1, 2**31 - 1, 7, -(2**31)),
    pa.int64(): (0, -1, 2**60, 2**53 + 1, -(2**60)),
    TIMESTAMP: (NOON_MS, -1, 253_402_300_799_999, 0, -62_135_596_800_000),
    pa.bool_(): (True, False),
    pa.float64(): (0.5, 0.0, 1.0, -0.0),
    pa.binary(): (b"", b"\x00\xff", b"raw" * 50),
}
TYPICAL, NULLS = range(4), -1  # seeds of rows: values and nulls mixed, and all nullable columns null
LATER_TABLES = (*STORED_TABLES, *WRITE_TABLES)


def struct_class(kind: pa.StructType) -> type[Any]:
    """Make a class for values of a struct column, such as TopicPartitions of an assignment."""
    return dataclasses.make_dataclass("Struct", [field.name for field in kind], frozen=True)


def value(column: Column, seed: int) -> Any:
    """Make a value of a column, or null."""
    if column.nullable and (seed == NULLS or (seed + len(column.name)) % 3 == 0):
        return None
    if pa.types.is_list(column.type):
        inner = column.type.value_type
        if pa.types.is_struct(inner):
            values = {field.name: (0,) if pa.types.is_list(field.type) else VALUES[field.type][0] for field in inner}
            values |= {field.name: HOSTILE for field in inner if field.type == pa.string()}
            return (struct_class(inner)(**values),)[: seed % 2]
        return VALUES[inner][: seed % 3]
    choices = VALUES[column.type]
    return choices[(seed * 7 + len(column.name)) % len(choices)]


def row_of(table: Table, seed: int, **given: Any) -> Any:
    """Make a row of a table; the columns in `given` have these values."""
    columns = table.stored()[len(HEADER) :] if table in STATE_TABLES else table.stored()
    return table.row(**{column.field: given.get(column.field, value(column, seed)) for column in columns})


def snapshots(first: int) -> Iterator[snapshot_rows.Snapshot]:
    """Make four snapshots, numbered from `first` on, of two clusters on two days; one has null in every nullable column."""
    for number, seeds in enumerate([(0, 1), (2, 3), (NULLS,), (1, NULLS)], first):
        header = snapshot_rows.SnapshotHeader(
            snapshot_id=f"0192-{number:04d}",
            cluster=(HOSTILE, "prod")[number % 2],
            cluster_id=None if number % 4 == 3 else f"id-{number % 2}",
            captured_at_ms=NOON_MS + number * 7 * HOUR_MS,
        )
        facts = {table.row: [row_of(table, seed) for seed in seeds] for table in STATE_TABLES[:-1]}
        last = row_of(STATE_TABLES[-1], seeds[0], slot_ms=header.captured_at_ms)
        yield snapshot_rows.Snapshot(header=header, rows={**facts, snapshot_rows.SnapshotRow: [last]})


def record_batches() -> Iterator[tuple[str, str | None, pa.RecordBatch]]:
    """Make records of topics with their ids: all columns set, some null, all nullable columns null."""
    whole = {"producer_id": 2**63 - 1, "producer_epoch": 32_767, "key": b"k", "is_transactional": True}
    yield (
        "whole",
        "id",
        batch_of(
            record(0, **whole, is_aborted=True, headers=[{"key": HOSTILE, "value": None}]),
            record(2**53 + 1, **whole, value=b"", timestamp_ms=-62_135_596_800_000, timestamp_type=1),
        ),
    )
    yield "mixed", None, batch_of(record(3, key=b"\x00\xff"), record(4, timestamp_ms=-1, timestamp_type=-1, value=None))
    yield "t" * 249, "id", batch_of(record(5, timestamp_ms=-1, leader_epoch=None, is_aborted=None, value=None))
    yield "latest", "id", batch_of(record(2**63 - 1, timestamp_ms=253_402_300_799_999))


def fill(warehouse: Warehouse, first: int = 0) -> None:
    """Publish the snapshots and archive the records in two runs, both on two days and numbered from `first` on."""
    for made in snapshots(first):
        with snapshot_lock(warehouse, made.header.cluster, CLOCK) as lock:
            publish(lock, made)
    for number, batches in enumerate(zip(*[record_batches()] * 2, strict=True), first):
        _archive(warehouse, number, batches)
        for table in LATER_TABLES:
            _write(warehouse, table, number)


def _write(warehouse: Warehouse, table: Table, number: int) -> None:
    """Write rows of changes, or about writes to a cluster: actions before they are sent, and a finished action."""
    seeds, day = ((0, 2), (1, NULLS))[number % 2], date(2025, 11, 21 + number % 10)
    made = [row_of(table, seed) for seed in seeds]
    if table == ADMIN_ACTIONS:
        ids = [f"0192-{number:04d}-{seed}" for seed in seeds]
        made = [row_of(table, seed, action_id=name, event="started") for seed, name in zip(seeds, ids, strict=True)]
        made.append(row_of(table, seeds[0], action_id=ids[0], event="finished", outcome="done"))
    url = f"{warehouse.locations[table.name]}/{table.partition_by}={day}/{number}.parquet"
    file = warehouse.kernel.storage.write_rows(url, plain_table(table, made))
    warehouse.kernel.append(warehouse.base(table.name), [file], (table.partition_by, day))


def _archive(warehouse: Warehouse, number: int, batches: tuple[tuple[str, str | None, pa.RecordBatch], ...]) -> None:
    ingest_id, day = f"0192-{number:04d}", date(2025, 11, 21 + number % 10)
    given = {"ingest_id": ingest_id, "cluster": HOSTILE, "cluster_id": "id"}
    with archive_lock(warehouse, "id", CLOCK) as lock:
        files: list[DataFile] = []
        for topic, topic_id, batch in batches:
            out = RecordFiles(folder_url=lock.folder(day), target_bytes=1, compression="zstd-fast", **given)
            out.write(topic, topic_id, number, batch)
            files += out.close()
        seeds = (0, 2) if number % 2 == 0 else (1, NULLS)
        reconciled = Reconciled(
            ranges=[row_of(RECORD_RANGES, seed, **given) for seed in seeds],
            problems=[row_of(RECORD_PROBLEMS, seed, **given) for seed in seeds],
            topics={"whole": Archived(topic_id="id", partitions={0: Position(next_offset=number)})},
            kept=frozenset({0}),
        )
        commit(lock, RunOutput(ingest_id=ingest_id, ingest_date=day, reconciled=reconciled, files=files))


def make_old(lake: Path) -> None:
    """SnapshotLock a warehouse into one of version 0.1.0: bounds of few columns, which no property names; no records.cluster.

    Tables of changes, and of what was written to clusters, were not there.
    """
    for table in LATER_TABLES:
        shutil.rmtree(lake / table.name)
    for table in (table for table in TABLES if table not in LATER_TABLES):
        log = lake / table.name / "_delta_log"
        for file in log.glob("*.crc"):
            file.unlink()
        for file in log.glob("*.json"):
            actions = [
                _old(lake / table.name, table, json.loads(line)) for line in file.read_text("utf-8").splitlines()
            ]
            file.write_text("".join(json.dumps(action, ensure_ascii=False) + "\n" for action in actions), "utf-8")


def _old(folder: Path, table: Table, action: dict[str, Any]) -> dict[str, Any]:
    if metadata := action.get("metaData"):
        del metadata["configuration"][STATISTICS_COLUMNS]
        if table not in STATE_TABLES:
            schema = json.loads(metadata["schemaString"])
            schema["fields"] = [field for field in schema["fields"] if field["name"] != "cluster"]
            metadata["schemaString"] = json.dumps(schema)
    if add := action.get("add"):
        if table not in STATE_TABLES:
            path = folder / add["path"]
            pq.write_table(pq.ParquetFile(path).read().drop_columns("cluster"), path, store_schema=False)
            path.with_name(f".{path.name}.crc").unlink(missing_ok=True)
            add["size"] = path.stat().st_size
        stats = json.loads(add["stats"])
        for kind in ("minValues", "maxValues", "nullCount"):
            stats[kind] = {name: value for name, value in stats[kind].items() if name in table.bounded_in_0_1}
        add["stats"] = json.dumps(stats, ensure_ascii=False)
    return action
