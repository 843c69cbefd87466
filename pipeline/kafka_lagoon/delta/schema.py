"""Derives the schemas of all tables from their row classes: columns, Arrow schemas, Delta's JSON and SQL DDL.

`schema.sql` is the DDL for people and for review. `python -m kafka_lagoon.delta.schema` prints it; a test compares the two.
"""

import dataclasses
import inspect
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

import pyarrow as pa

from kafka_lagoon import row_classes as kinds
from kafka_lagoon.apply.action_rows import AdminActionRow
from kafka_lagoon.fetch import record_rows as records
from kafka_lagoon.produce.restore_rows import RestoreMapRow, RestoreReceiptRow
from kafka_lagoon.snapshot import tables
from kafka_lagoon.snapshot.state_rows import SnapshotHeader
from kafka_lagoon.snapshot.state_table import FIRST_VERSION, StateTable

SNAPSHOT_DATE, INGEST_DATE, WRITE_DATE = "snapshot_date", "ingest_date", "write_date"
TIMESTAMP = pa.timestamp("us", tz="UTC")

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

_SCALARS: dict[Any, pa.DataType] = {
    kinds.Int32: pa.int32(),
    kinds.Int64: pa.int64(),
    kinds.Timestamp: TIMESTAMP,
    kinds.Binary: pa.binary(),
    bool: pa.bool_(),
    float: pa.float64(),
    str: pa.string(),
}
_DELTA = {
    pa.int32(): "integer",
    pa.int64(): "long",
    TIMESTAMP: "timestamp",
    pa.date32(): "date",
    pa.bool_(): "boolean",
    pa.float64(): "double",
    pa.string(): "string",
    pa.binary(): "binary",
}
_BOUNDED = (pa.int32(), pa.int64(), TIMESTAMP, pa.string())
_SQL = {"integer": "INT", "long": "BIGINT"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """One column; `field` is the attribute of the row that fills it."""

    name: str
    field: str
    type: pa.DataType
    nullable: bool
    comment: str

    def sql_type(self) -> str:
        """The type as SQL spells it."""
        return sql_type(self.type)

    def ddl(self) -> str:
        """The column as it stands in CREATE TABLE and ALTER TABLE ADD COLUMNS."""
        return f"{self.name} {self.sql_type()}{'' if self.nullable else ' NOT NULL'} COMMENT {_quoted(self.comment)}"


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
        return pa.schema([_field(column) for column in self.stored()])

    def delta_schema(self) -> dict[str, Any]:
        """The schema as Delta's log holds it."""
        schema: dict[str, Any] = _delta_type(pa.struct([_field(column) for column in self.columns]))
        return schema

    def ddl(self, identifier: str) -> str:
        """CREATE TABLE for `identifier`, which the caller has quoted."""
        columns = ",\n".join(f"  {column.ddl()}" for column in self.columns)
        properties = ", ".join(f"{_quoted(key)} = {_quoted(value)}" for key, value in self.properties.items())
        return (
            f"CREATE TABLE IF NOT EXISTS {identifier} (\n{columns}\n)\nUSING delta\n"
            f"PARTITIONED BY ({self.partition_by})\nCOMMENT {_quoted(self.comment)}\nTBLPROPERTIES ({properties})"
        )


def columns_of(row: type) -> Iterator[Column]:
    """The columns that a row class declares, in its order."""
    hints = get_type_hints(row, include_extras=True)
    for field in dataclasses.fields(row):
        hint, nullable = _without_none(hints[field.name])
        name = field.name.removesuffix("_ms") if hint == kinds.Timestamp else field.name
        yield Column(
            name=name,
            field=field.name,
            type=_arrow_type(hint),
            nullable=nullable,
            comment=field.metadata["comment"],
        )


def _without_none(hint: Any) -> tuple[Any, bool]:
    if get_origin(hint) not in {Union, UnionType}:
        return hint, False
    (inner,) = (choice for choice in get_args(hint) if choice is not NoneType)
    return inner, True


def _arrow_type(hint: Any) -> pa.DataType:
    if get_origin(hint) is tuple:
        return pa.list_(_arrow_type(get_args(hint)[0]))
    if dataclasses.is_dataclass(hint) and isinstance(hint, type):
        # Delta refuses NOT NULL below an array, so every field of a nested struct is nullable there.
        return pa.struct([_field(column).with_nullable(True) for column in columns_of(hint)])
    return _SCALARS[hint]


def _field(column: Column) -> pa.Field:
    return pa.field(
        column.name,
        column.type,
        nullable=column.nullable,
        metadata={"comment": column.comment},
    )


def _delta_type(kind: pa.DataType) -> Any:
    if pa.types.is_list(kind):
        return {
            "type": "array",
            "elementType": _delta_type(kind.value_type),
            "containsNull": True,
        }
    if pa.types.is_struct(kind):
        return {"type": "struct", "fields": [_delta_field(field) for field in kind]}
    return _DELTA[kind]


def _delta_field(field: pa.Field) -> dict[str, Any]:
    comment = field.metadata[b"comment"].decode()
    return {
        "name": field.name,
        "type": _delta_type(field.type),
        "nullable": field.nullable,
        "metadata": {"comment": comment},
    }


def sql_type(kind: pa.DataType) -> str:
    """A type as SQL spells it, with the comments of nested fields."""
    if pa.types.is_list(kind):
        return f"ARRAY<{sql_type(kind.value_type)}>"
    if pa.types.is_struct(kind):
        return f"STRUCT<{', '.join(_sql_field(field) for field in kind)}>"
    return _SQL.get(_DELTA[kind], _DELTA[kind].upper())


def _sql_field(field: pa.Field) -> str:
    return f"{field.name}: {sql_type(field.type)} COMMENT {_quoted(field.metadata[b'comment'].decode())}"


def _quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


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
