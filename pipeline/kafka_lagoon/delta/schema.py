"""Derives the schemas of all tables from their row classes: Arrow schemas, Delta's JSON and SQL DDL.

`schema.sql` is the DDL for people and for review. `python -m kafka_lagoon.delta.schema` prints it; a test compares the two.
"""

import inspect
import json
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from kafka_lagoon.apply.action_rows import AdminActionRow
from kafka_lagoon.delta.columns import TIMESTAMP, Column, arrow_field, columns_of, delta_type, quoted
from kafka_lagoon.fetch import record_rows as records
from kafka_lagoon.produce.restore_rows import RestoreMapRow, RestoreReceiptRow
from kafka_lagoon.snapshot import tables
from kafka_lagoon.snapshot.state_rows import SnapshotHeader
from kafka_lagoon.snapshot.state_table import FIRST_VERSION, StateTable

SNAPSHOT_DATE, INGEST_DATE, WRITE_DATE = "snapshot_date", "ingest_date", "write_date"

# Reader version 1 and no deletion vectors: deltalake, DuckDB, Polars and Trino read the tables as they are. Not
# append-only to Delta, although the pipeline only appends: retention deletes old days.
PROPERTIES = {"delta.enableDeletionVectors": "false"}

# A checkpoint costs as much processor time as replaying 30 small commits does; Delta's default is every tenth version.
CHECKPOINT_INTERVAL = "delta.checkpointInterval"
_EVERY_VERSIONS = "30"

# How long commits stay in the log, and how long it remembers removed files. Spark wants the first to be no shorter. A state
# table gets a commit for each snapshot, and whoever opens the table lists them all: 20 us each. Older snapshots are
# rows, so the log's history is for readers that are under way. Records can be rolled back for a week (RESTORE).
LOG_RETENTION, TOMBSTONE_RETENTION = "delta.logRetentionDuration", "delta.deletedFileRetentionDuration"
_STATE_LOG_DAYS, _RECORDS_LOG_DAYS = 3, 7

# A run's position is domain metadata, committed with its records; the feature concerns writers alone.
_WITH_DOMAINS = {"delta.feature.domainMetadata": "supported"}

# Table property that names the columns with bounds in every file, so that readers look for bounds of no others: delta-rs takes
# a missing bound for "no such row" (deltalake, and DuckDB over its dataset).
STATISTICS_COLUMNS = "delta.dataSkippingStatsColumns"

_BOUNDED = (pa.int32(), pa.int64(), TIMESTAMP, pa.string())


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """One table; `columns` in the order of the table, the one that it is partitioned by last.

    `row` declares the columns that are the table's own: what stands before them in a state table is `HEADER`.
    """

    name: str
    row: type[Any]
    comment: str
    columns: tuple[Column, ...]
    features: Mapping[str, str]  # properties that this table has and others have not
    bounded_in_0_1: tuple[str, ...]  # columns with bounds in every file that version 0.1.0 or Spark has written
    log_days: int  # how long commits stay in the log
    when_changed: bool = False  # its rows may be stored by an earlier snapshot of the day
    is_optional: bool = False  # a later version added it: a warehouse has it once a run of that version has opened it

    @property
    def partition_by(self) -> str:
        """Name of the partition column."""
        return self.columns[-1].name

    def stored(self) -> tuple[Column, ...]:
        """The columns that stand in the table's files: all but the partition column."""
        return self.columns[:-1]

    @property
    def properties(self) -> Mapping[str, str]:
        """Delta's table properties of a new table."""
        return {**PROPERTIES, **self.features, **self.log_properties, STATISTICS_COLUMNS: ",".join(self.bounded())}

    @property
    def log_properties(self) -> Mapping[str, str]:
        """The table properties that keep the log short."""
        days = f"interval {self.log_days} days"
        return {CHECKPOINT_INTERVAL: _EVERY_VERSIONS, LOG_RETENTION: days, TOMBSTONE_RETENTION: days}

    def bounded(self) -> tuple[str, ...]:
        """The columns with bounds in every file of a new table, whether we, Spark or delta-rs write it.

        Binary columns and arrays have no order, Spark's writer gives booleans no bounds, and a column with a NaN has none.
        """
        return tuple(column.name for column in self.stored() if column.type in _BOUNDED)

    def file_schema(self) -> pa.Schema:
        """Schema of the table's Parquet files."""
        return pa.schema([arrow_field(column) for column in self.stored()])

    def delta_schema(self) -> dict[str, Any]:
        """The schema as Delta's log holds it."""
        schema: dict[str, Any] = delta_type(pa.struct([arrow_field(column) for column in self.columns]))
        return schema

    def ddl(self, identifier: str) -> str:
        """CREATE TABLE for `identifier`, which the caller has quoted."""
        columns = ",\n".join(f"  {column.ddl()}" for column in self.columns)
        properties = ", ".join(f"{quoted(key)} = {quoted(value)}" for key, value in self.properties.items())
        return (
            f"CREATE TABLE IF NOT EXISTS {identifier} (\n{columns}\n)\nUSING delta\n"
            f"PARTITIONED BY ({self.partition_by})\nCOMMENT {quoted(self.comment)}\nTBLPROPERTIES ({properties})"
        )


def spelled_type(field: Mapping[str, Any]) -> str:
    """The type of one of a log's columns, without comments."""
    return json.dumps(_without_metadata(field["type"])).strip('"')


def spelled(field: Mapping[str, Any]) -> str:
    """The same, and whether nulls are allowed."""
    return spelled_type(field) + ("" if field["nullable"] else " not null")


def differences(
    table: Table,
    fields: Iterable[Mapping[str, Any]],
    partition_by: Sequence[str],
    spell: Callable[[Mapping[str, Any]], str] = spelled_type,
) -> list[str]:
    """What a log says of columns and partitions that is not as we declared it; nullable columns of ours may be missing.

    The log is text of whoever can write it: readers let no name or type of it become SQL that is not ours.
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
    """A Delta type without comments, wherever in it they stand."""
    if isinstance(kind, dict):
        return {key: _without_metadata(value) for key, value in kind.items() if key != "metadata"}
    return [_without_metadata(field) for field in kind] if isinstance(kind, list) else kind


def _day(name: str, of: str) -> Column:
    comment = f"UTC day of {of}; the table is partitioned by it."
    return Column(name=name, field=name, type=pa.date32(), nullable=False, comment=comment)


HEADER = tuple(columns_of(SnapshotHeader))


def _state(table: StateTable) -> Table:
    return Table(
        name=table.name,
        row=table.row,
        comment=_comment(table.row),
        columns=(*HEADER, *columns_of(table.row), _day(SNAPSHOT_DATE, "captured_at")),
        features={},
        bounded_in_0_1=("snapshot_id", "cluster", "captured_at"),
        log_days=_STATE_LOG_DAYS,
        when_changed=table.when_changed,
        is_optional=table.added_in != FIRST_VERSION,
    )


def _archive(name: str, row: type[Any], features: Mapping[str, str], bounded_in_0_1: str) -> Table:
    return Table(
        name=name,
        row=row,
        comment=_comment(row),
        columns=(*columns_of(row), _day(INGEST_DATE, "the run")),
        features=features,
        bounded_in_0_1=tuple(bounded_in_0_1.split()),
        log_days=_RECORDS_LOG_DAYS,
    )


def _writing(name: str, row: type[Any], features: Mapping[str, str] | None = None) -> Table:
    return Table(
        name=name,
        row=row,
        comment=_comment(row),
        columns=(*columns_of(row), _day(WRITE_DATE, "the row")),
        features=features or {},
        bounded_in_0_1=(),
        log_days=_STATE_LOG_DAYS,
        is_optional=True,
    )


def _comment(row: type[Any]) -> str:
    return (inspect.getdoc(row) or "").partition("\n\n")[0]


# The order of publication: a row in `snapshots`, the last, says that all others are there.
STATE_TABLES = tuple(_state(table) for table in tables.STATE_TABLES)

RECORDS = _archive(
    "records",
    records.RecordRow,
    _WITH_DOMAINS,
    "cluster_id topic topic_id partition offset timestamp timestamp_ms timestamp_type leader_epoch producer_id "
    "producer_epoch ingest_id",
)
RECORD_RANGES = _archive("record_ranges", records.RecordRangeRow, {}, "ingest_id cluster_id")
RECORD_PROBLEMS = _archive("record_problems", records.RecordProblemRow, {}, "ingest_id cluster_id")
RECORD_TABLES = (RECORDS, RECORD_RANGES, RECORD_PROBLEMS)

# What was written to clusters. The days of these tables are those of the rows.
ADMIN_ACTIONS = _writing("admin_actions", AdminActionRow)
RESTORE_MAP = _writing("restore_map", RestoreMapRow, _WITH_DOMAINS)
RESTORE_RECEIPTS = _writing("restore_receipts", RestoreReceiptRow)
WRITE_TABLES = (ADMIN_ACTIONS, RESTORE_MAP, RESTORE_RECEIPTS)

TABLES = (*STATE_TABLES, *RECORD_TABLES, *WRITE_TABLES)


def schema_sql() -> str:
    """The DDL of every table, as committed in `schema.sql`."""
    return "\n\n".join(f"{table.ddl(table.name)};" for table in TABLES) + "\n"


if __name__ == "__main__":
    sys.stdout.write(schema_sql())
