"""Finds columns that are null without a reason.

A null is explained by column `problem` of its row, or by `null_if` of its column, which DuckDB decides over the tables of
the same snapshot.
"""

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any

import duckdb
import pyarrow as pa

from kafka_lagoon.delta.arrow import arrow_table
from kafka_lagoon.tables.columns import columns_of
from kafka_lagoon.tables.schema import STATE_TABLES
from kafka_lagoon.tables.snapshot_rows import Snapshot


def unexplained(tables: Mapping[str, tuple[type[Any], pa.Table]]) -> list[str]:
    """Return columns of tables by name that have nulls without a reason, with their number and the first such row."""
    with duckdb.connect() as database:
        for table in STATE_TABLES:
            database.register(table.name, table.file_schema().empty_table())
        for name, (_, content) in tables.items():
            database.register(name, content)
        return [line for name, (cls, content) in tables.items() for line in _lines(database, name, cls, content)]


def _lines(database: duckdb.DuckDBPyConnection, name: str, cls: type[Any], content: pa.Table) -> list[str]:
    declared = {field.name: field.metadata["null_if"] for field in fields(cls)}
    reason = " OR problem IS NOT NULL" if "problem" in declared else ""
    conditions = {
        column.name: f'"{column.name}" IS NULL AND NOT (coalesce({declared[column.field] or "false"}, false){reason})'
        for column in columns_of(cls)
        if column.nullable and column.name != "problem" and content[column.name].null_count
    }
    if not conditions:
        return []
    # One statement a table: DuckDB takes 8 ms to plan a statement over one of them.
    marked = ", ".join(f'({condition}) AS "{column}"' for column, condition in conditions.items())
    counted = ", ".join(f'count_if("{column}")' for column in conditions)
    (counts,) = database.execute(f'SELECT {counted} FROM (SELECT {marked} FROM "{name}")').fetchall()
    lines = []
    for (column, condition), count in zip(conditions.items(), counts, strict=True):
        if count:
            (first,) = database.table(name).filter(condition).limit(1).to_arrow_table().to_pylist()
            lines.append(f"{name}.{column}: {count} nulls without a reason, first {first}")
    return lines


def unexplained_of(snapshot: Snapshot) -> list[str]:
    """Return such columns of a whole snapshot, as its tables have it."""
    stored = {one.name: (one.row, arrow_table(one, snapshot.header, snapshot.of(one.row))) for one in STATE_TABLES}
    return unexplained(stored)


def plain_table(cls: type[Any], rows: Sequence[Any]) -> pa.Table:
    """Make a table of rows that no state table has, with the types of their fields: times stay numbers."""
    columns = list(columns_of(cls))
    schema = pa.schema([(one.name, pa.int64() if pa.types.is_timestamp(one.type) else one.type) for one in columns])
    return pa.Table.from_pylist(
        [{one.name: _plain(getattr(row, one.field)) for one in columns} for row in rows], schema
    )


def _plain(value: Any) -> Any:
    if isinstance(value, tuple | list):
        return [_plain(one) for one in value]
    if hasattr(value, "__dataclass_fields__"):
        return {one.name: _plain(getattr(value, one.name)) for one in fields(value)}
    return value


def undeclared(cls: type[Any]) -> list[str]:
    """Return nullable columns of a row class without a reason for null."""
    declared = {field.name: field.metadata["null_if"] for field in fields(cls)}
    if "problem" in declared:
        return []
    return [
        f"{cls.__name__}.{one.field} may be null: say in column(..., null_if=) when that is a plain value, "
        "or give the row a column `problem`"
        for one in columns_of(cls)
        if one.nullable and declared[one.field] is None
    ]
