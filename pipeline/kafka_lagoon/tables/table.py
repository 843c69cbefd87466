"""Derives a table's schema from its row class: for Arrow, for Delta's log and as SQL DDL, with Delta's table properties."""

import inspect
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import pyarrow as pa

from kafka_lagoon.frozen import frozen
from kafka_lagoon.tables.columns import TIMESTAMP, Column, arrow_field, delta_type, quoted

UNWRITTEN = "no job has written there yet, or the tables are elsewhere"  # hint for a missing table

# With reader version 1 and without deletion vectors, deltalake, DuckDB, Polars and Trino can read the tables. Delta's
# append-only property is not set, because retention deletes old days.
PROPERTIES = {"delta.enableDeletionVectors": "false"}

# A checkpoint costs as much processor time as replaying 30 small commits; Delta's default is every tenth version.
CHECKPOINT_INTERVAL = "delta.checkpointInterval"
_EVERY_VERSIONS = "30"

# Times for which commits, and entries of removed files, stay in the log; Spark requires the first to be no shorter. A state
# table gets a commit per snapshot, and opening the table lists all commits, 20 us each. Old snapshots are rows, so only
# readers that have already begun need the log's history. Table records can be restored (RESTORE) for a week.
LOG_RETENTION, TOMBSTONE_RETENTION = "delta.logRetentionDuration", "delta.deletedFileRetentionDuration"
STATE_LOG_DAYS, RECORDS_LOG_DAYS = 3, 7

# Next offsets are domain metadata, committed with their records; only writers need to support the feature.
WITH_DOMAINS = {"delta.feature.domainMetadata": "supported"}

# Table property that names the columns with bounds in every file, so that readers expect bounds of no other column: delta-rs
# (deltalake, and DuckDB over its dataset) treats a missing bound as "no such row".
STATISTICS_COLUMNS = "delta.dataSkippingStatsColumns"

_BOUNDED = (pa.int32(), pa.int64(), TIMESTAMP, pa.string())


@frozen
class Table:
    """A table. `columns` are in the order of the table; the last one is the partition column.

    `row` declares the table's own columns; in a state table the columns of `HEADER` come before them.
    """

    name: str
    row: type[Any]
    comment: str
    columns: tuple[Column, ...]
    features: Mapping[str, str]  # properties of this table alone
    bounded_in_0_1: tuple[str, ...]  # columns with bounds in every file that version 0.1.0 or Spark has written
    log_days: int  # days for which commits stay in the log
    when_changed: bool = False  # an earlier snapshot of the day may have stored its rows
    is_optional: bool = False  # a later version added it: a warehouse has it after a run of that version

    @property
    def partition_by(self) -> str:
        """Return the name of the partition column."""
        return self.columns[-1].name

    def stored(self) -> tuple[Column, ...]:
        """Return the columns in the table's files: all except the partition column."""
        return self.columns[:-1]

    @property
    def properties(self) -> Mapping[str, str]:
        """Return Delta's table properties for a new table."""
        return {**PROPERTIES, **self.features, **self.log_properties, STATISTICS_COLUMNS: ",".join(self.bounded())}

    @property
    def log_properties(self) -> Mapping[str, str]:
        """Return the table properties that keep the log short."""
        days = f"interval {self.log_days} days"
        return {CHECKPOINT_INTERVAL: _EVERY_VERSIONS, LOG_RETENTION: days, TOMBSTONE_RETENTION: days}

    def bounded(self) -> tuple[str, ...]:
        """Return the columns with bounds in every file of a new table, for each writer: the pipeline, Spark and delta-rs.

        Binary columns and arrays have no order, Spark writes no bounds of booleans, and a column with a NaN has no bounds.
        """
        return tuple(column.name for column in self.stored() if column.type in _BOUNDED)

    def file_schema(self) -> pa.Schema:
        """Return the schema of the table's Parquet files."""
        return pa.schema([arrow_field(column) for column in self.stored()])

    def delta_schema(self) -> dict[str, Any]:
        """Return the schema as Delta's log spells it."""
        schema: dict[str, Any] = delta_type(pa.struct([arrow_field(column) for column in self.columns]))
        return schema

    def ddl(self, identifier: str) -> str:
        """Make the CREATE TABLE statement; the caller has quoted `identifier`."""
        columns = ",\n".join(f"  {column.ddl()}" for column in self.columns)
        properties = ", ".join(f"{quoted(key)} = {quoted(value)}" for key, value in self.properties.items())
        return (
            f"CREATE TABLE IF NOT EXISTS {identifier} (\n{columns}\n)\nUSING delta\n"
            f"PARTITIONED BY ({self.partition_by})\nCOMMENT {quoted(self.comment)}\nTBLPROPERTIES ({properties})"
        )


def spelled_type(field: Mapping[str, Any]) -> str:
    """Spell the type of a column in a log's schema, without comments."""
    return json.dumps(_without_metadata(field["type"])).strip('"')


def spelled(field: Mapping[str, Any]) -> str:
    """Spell the type and nullability of a column in a log's schema."""
    return spelled_type(field) + ("" if field["nullable"] else " not null")


def differences(
    table: Table,
    fields: Iterable[Mapping[str, Any]],
    partition_by: Sequence[str],
    spell: Callable[[Mapping[str, Any]], str] = spelled_type,
) -> list[str]:
    """List the differences between a log's columns and partitioning and the declared ones; nullable columns may be missing.

    The log is untrusted text: no name or type of it may become part of an SQL statement.
    """
    theirs = {str(field["name"]): spell(field) for field in fields}
    ours = {field["name"]: spell(field) for field in table.delta_schema()["fields"]}
    faults = [f"column {name} is not ours" for name in theirs if name not in ours]
    faults += [
        f"{name} is {theirs[name]}, not {ours[name]}" for name in ours if theirs.get(name, ours[name]) != ours[name]
    ]
    faults += [
        f"{column.name} is missing" for column in table.columns if not (column.nullable or column.name in theirs)
    ]
    if tuple(partition_by) != (table.partition_by,):
        faults.append(f"it is partitioned by {', '.join(partition_by) or 'nothing'}, not by {table.partition_by}")
    return faults


def _without_metadata(kind: Any) -> Any:
    """Remove comments from a Delta type at every depth."""
    if isinstance(kind, dict):
        return {key: _without_metadata(value) for key, value in kind.items() if key != "metadata"}
    return [_without_metadata(field) for field in kind] if isinstance(kind, list) else kind


def day_column(name: str, of: str) -> Column:
    """Declare the column that a table is partitioned by."""
    comment = f"UTC day of {of}; the table is partitioned by it."
    return Column(name=name, field=name, type=pa.date32(), nullable=False, comment=comment)


def comment_of(row: type[Any]) -> str:
    """Return the comment of a table: the first paragraph of its row class's docstring."""
    return (inspect.getdoc(row) or "").partition("\n\n")[0]
