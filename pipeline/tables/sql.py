"""A statement in, its result as text out: what `lagoon sql` prints.

Guards one rule: names that strangers chose (groups, clients, commit metadata) never steer a terminal.
"""

import json
import re
from datetime import UTC, date, datetime
from typing import Any

import pyarrow as pa
from pyspark.errors import PySparkException

from pipeline.errors import TableError
from pipeline.tables.schema import TABLES
from pipeline.tables.storage import reason
from pipeline.tables.views import VIEWS, make_available
from pipeline.tables.warehouse import Warehouse
from pipeline.text import aligned, printable


def list_relations() -> str:
    """Every table and view with its comment, and its columns with theirs."""
    lines = []
    for table in TABLES:
        lines += [table.name, f"  {table.comment}"]
        lines += aligned([(f"    {column.name}", column.sql_type(), column.comment) for column in table.columns], ())
    for view in VIEWS:
        lines += [f"{view.name} (view)", f"  {view.comment}"]
        lines += aligned([(f"    {name}", comment) for name, comment in view.columns], ())
    return "\n".join(lines)


def query(warehouse: Warehouse, statement: str) -> pa.Table:
    """The result of one statement over tables and views; TableError with Spark's words if it cannot be run."""
    make_available(warehouse, _mentioned(statement))
    try:
        return warehouse.spark.sql(statement).toArrow()
    except PySparkException as error:
        raise TableError(reason(error)) from error


def as_text(result: pa.Table) -> str:
    """An aligned table for people: numbers to the right, null spelled out, times in UTC."""
    columns = [
        [name, *map(_text, column.to_pylist())]
        for name, column in zip(result.schema.names, result.columns, strict=True)
    ]
    kinds = result.schema.types
    right = [index for index, kind in enumerate(kinds) if pa.types.is_integer(kind) or pa.types.is_floating(kind)]
    return "\n".join(aligned(list(zip(*columns, strict=True)), right)) if columns else ""


def as_json_lines(result: pa.Table) -> str:
    """One JSON object a row for scripts; 64-bit integers exact, times as ISO 8601 in UTC."""
    return "\n".join(json.dumps(row, default=_moment) for row in result.to_pylist())


def _mentioned(statement: str) -> set[str] | None:
    """Names of ours in the statement, None (all) if there is none: each table that Spark opens costs it 0.3 s."""
    known = {table.name for table in TABLES} | {view.name for view in VIEWS}
    return known & set(re.findall(r"\w+", statement.lower())) or None


def _text(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, str | datetime | date):
        return printable(_moment(value))
    return printable(json.dumps(value, default=_moment, ensure_ascii=False))


def _moment(value: Any) -> str:
    if isinstance(value, datetime):
        return value.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="milliseconds") + "Z"
    return str(value)
