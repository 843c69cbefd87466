"""The schemas of the state tables: row classes in; columns, Arrow schemas, Delta's JSON and SQL DDL out.

Guards one rule: a column is declared once, in `pipeline.snapshot.rows`. `schema.sql` holds the DDL for people and for
review; `python -m pipeline.tables.schema > pipeline/tables/schema.sql` writes it anew, a test compares it.
"""

import dataclasses
import inspect
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

import pyarrow as pa

from pipeline import rows as kinds
from pipeline.snapshot import rows

PARTITION_BY = "snapshot_date"
TIMESTAMP = pa.timestamp("us", tz="UTC")

# Reader version 1 and no deletion vectors: deltalake, DuckDB, Polars and Trino read the tables as they are. Not
# append-only to Delta, although the pipeline only appends: retention deletes old days.
PROPERTIES = {"delta.enableDeletionVectors": "false"}

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
        return _sql_type(self.type)

    def ddl(self) -> str:
        """The column as it stands in CREATE TABLE and ALTER TABLE ADD COLUMNS."""
        return f"{self.name} {self.sql_type()}{'' if self.nullable else ' NOT NULL'} COMMENT {_quoted(self.comment)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """One state table; `columns` in the order of the table, the partition column last."""

    name: str
    row: type[rows.Row]
    comment: str
    columns: tuple[Column, ...]

    def file_schema(self) -> pa.Schema:
        """Schema of the table's Parquet files, which lack the partition column."""
        stored = (column for column in self.columns if column.name != PARTITION_BY)
        return pa.schema([_field(column) for column in stored])

    def delta_schema(self) -> dict[str, Any]:
        """The schema as Delta's log holds it."""
        schema: dict[str, Any] = _delta_type(pa.struct([_field(column) for column in self.columns]))
        return schema

    def ddl(self, identifier: str) -> str:
        """CREATE TABLE for `identifier`, which the caller has quoted."""
        columns = ",\n".join(f"  {column.ddl()}" for column in self.columns)
        properties = ", ".join(f"{_quoted(key)} = {_quoted(value)}" for key, value in PROPERTIES.items())
        return (
            f"CREATE TABLE IF NOT EXISTS {identifier} (\n{columns}\n)\nUSING delta\nPARTITIONED BY ({PARTITION_BY})\n"
            f"COMMENT {_quoted(self.comment)}\nTBLPROPERTIES ({properties})"
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


def _sql_type(kind: pa.DataType) -> str:
    if pa.types.is_list(kind):
        return f"ARRAY<{_sql_type(kind.value_type)}>"
    if pa.types.is_struct(kind):
        return f"STRUCT<{', '.join(_sql_field(field) for field in kind)}>"
    return _SQL.get(_DELTA[kind], _DELTA[kind].upper())


def _sql_field(field: pa.Field) -> str:
    return f"{field.name}: {_sql_type(field.type)} COMMENT {_quoted(field.metadata[b'comment'].decode())}"


def _quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


HEADER = tuple(columns_of(rows.SnapshotHeader))
DAY = Column(
    name=PARTITION_BY,
    field=PARTITION_BY,
    type=pa.date32(),
    nullable=False,
    comment="UTC day of captured_at; the table is partitioned by it.",
)


def _table(name: str, row: type[rows.Row]) -> Table:
    comment = (inspect.getdoc(row) or "").partition("\n\n")[0]
    return Table(name=name, row=row, comment=comment, columns=(*HEADER, *columns_of(row), DAY))


# Publication order: a row in `snapshots` says that all others are there.
TABLES = (
    _table("brokers", rows.BrokerRow),
    _table("topics", rows.TopicRow),
    _table("partitions", rows.PartitionRow),
    _table("partition_offsets", rows.PartitionOffsetsRow),
    _table("consumer_groups", rows.ConsumerGroupRow),
    _table("group_members", rows.GroupMemberRow),
    _table("committed_offsets", rows.CommittedOffsetRow),
    _table("consumer_lag", rows.ConsumerLagRow),
    _table("coverage", rows.CoverageRow),
    _table("collection_failures", rows.CollectionFailureRow),
    _table("snapshots", rows.SnapshotRow),
)


def schema_sql() -> str:
    """The DDL of every table, as committed in `schema.sql`."""
    return "\n\n".join(f"{table.ddl(table.name)};" for table in TABLES) + "\n"


if __name__ == "__main__":
    sys.stdout.write(schema_sql())
