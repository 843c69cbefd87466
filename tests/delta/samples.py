"""Rows for tests: nullable columns are null and others small, unless a test sets them."""

import dataclasses
from collections.abc import Sequence
from functools import cache
from typing import Any, TypeVar

from kafka_lagoon.tables import group_rows, snapshot_rows
from kafka_lagoon.tables.schema import STATE_TABLES

T = TypeVar("T")

NOON_MS = 1_763_726_400_123  # 2025-11-21T12:00:00.123Z
HOUR_MS = 3_600_000
HOSTILE = "<b>'; DROP TABLE t;--\"`\\ ${x} \n\x00\x1b[31m \u202e\u2066 é 😀"


def row(cls: type[T], **values: Any) -> T:
    """Make a row of `cls`; columns without a value are null if they may be, else empty, 0 or false."""
    given = _small_values(cls)
    assert values.keys() <= given.keys(), f"{cls.__name__} has no {values.keys() - given.keys()}"
    return cls(**{**given, **values})


@cache
def _small_values(cls: type) -> dict[str, Any]:
    columns = {column.field: column for table in STATE_TABLES if table.row is cls for column in table.columns}
    types = {field.name: columns[field.name] for field in dataclasses.fields(cls)}
    return {
        name: None if column.nullable else {"string": "", "bool": False}.get(str(column.type), 0)
        for name, column in types.items()
    }


def snapshot(number: int = 1, *facts: object, cluster: str = "default", **published: Any) -> snapshot_rows.Snapshot:
    """Make attempt `number` at the hour of that number, with these rows; `published` are columns of its `snapshots` row."""
    header = snapshot_rows.SnapshotHeader(
        snapshot_id=f"0192-{number:04d}-{cluster}",
        cluster=cluster,
        cluster_id="cluster-id",
        captured_at_ms=NOON_MS + number * HOUR_MS,
    )
    by_class: dict[type[Any], Sequence[object]] = {
        table.row: [fact for fact in facts if isinstance(fact, table.row)] for table in STATE_TABLES
    }
    published = {"tables": (), **published}  # None is a snapshot of version 0.1.0
    slot_ms = published.pop("slot_ms", NOON_MS + number * HOUR_MS)
    last = row(snapshot_rows.SnapshotRow, slot_ms=slot_ms, started_at_ms=NOON_MS, finished_at_ms=NOON_MS, **published)
    return snapshot_rows.Snapshot(header=header, rows={**by_class, snapshot_rows.SnapshotRow: [last]})


def lag_row(group_id: str, topic: str, partition: int, **values: Any) -> group_rows.ConsumerLagRow:
    """Make a lag row; `lag_basis` follows from `lag` unless it is given."""
    basis = "committed" if values.get("lag") is not None else "unknown"
    given = {"lag_basis": basis, **values}
    return row(group_rows.ConsumerLagRow, group_id=group_id, topic=topic, partition=partition, **given)
