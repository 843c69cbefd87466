"""Selects archived records by a condition in SQL over the columns of table `records`, which DuckDB evaluates.

A restore that is continued must select the same records again, so a condition may depend only on the record.
"""

import json
from collections.abc import Iterator
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.compute as pc

from kafka_lagoon.errors import TableError
from kafka_lagoon.tables.record_tables import RECORDS

# Functions that are written without parentheses.
_LIKE_COLUMNS = frozenset(
    {
        *(
            "current_catalog",
            "current_database",
            "current_role",
            "current_schema",
            "current_user",
            "session_user",
            "user",
        ),
        *("current_date", "current_time", "current_timestamp", "localtime", "localtimestamp"),
    }
)
_NAMES_OFFSET = '"offset"'
_SELECT = f"SELECT {_NAMES_OFFSET} FROM records WHERE "  # noqa: S608  a condition is SQL of the user's own


def faults_of(condition: str) -> list[str]:
    """Faults of a condition; none if it is a condition over the columns of one record."""
    with duckdb.connect() as connection:
        try:
            nodes = [_parsed(connection, form) for form in (_SELECT + condition, f"{_SELECT}({condition})")]
            faults = sorted(set(_unsteady(connection, nodes[0])))
            if not faults:
                records = RECORDS.file_schema().empty_table()  # noqa: F841  DuckDB finds it by its name
                connection.execute(f"{_SELECT}({condition})")
        except (duckdb.Error, ValueError) as error:
            return [str(error).partition("\n")[0]]
    return faults


def _parsed(connection: duckdb.DuckDBPyConnection, statement: str) -> Any:
    """The syntax tree of a statement; ValueError if it cannot be parsed."""
    (text,) = connection.execute("SELECT json_serialize_sql(?)", [statement]).fetchall()[0]
    parsed = json.loads(text)
    if parsed["error"]:
        raise ValueError(parsed["error_message"])
    if len(parsed["statements"]) != 1:
        raise ValueError("it is more than one statement")
    return parsed["statements"][0]["node"]["where_clause"]


def _unsteady(connection: duckdb.DuckDBPyConnection, tree: Any) -> Iterator[str]:
    """Parts of a condition that depend on something other than the record."""
    for node in _nodes(tree):
        match node:
            case {"class": "SUBQUERY"}:
                yield "it reads another table"
            case {"class": "COLUMN_REF", "column_names": [name]} if name.lower() in _LIKE_COLUMNS:
                yield f"{name} gives something else each time"
            case {"class": "FUNCTION", "function_name": name} if not _is_steady(connection, name):
                yield f"{name} gives something else each time"


def _nodes(tree: Any) -> Iterator[dict[str, Any]]:
    if isinstance(tree, dict):
        yield tree
    for item in tree.values() if isinstance(tree, dict) else tree if isinstance(tree, list) else ():
        yield from _nodes(item)


def _is_steady(connection: duckdb.DuckDBPyConnection, function: str) -> bool:
    results = connection.execute(
        "SELECT stability FROM duckdb_functions() WHERE function_name = ?", [function]
    ).fetchall()
    return all(stability in ("CONSISTENT", None) for (stability,) in results)


def matching(table: pa.Table, condition: str) -> pa.Table:
    """The rows that meet a condition, in their order; TableError if it cannot be evaluated for a row."""
    with duckdb.connect(config={"threads": 1}) as connection:
        connection.execute("SET TimeZone = 'UTC'")
        connection.register("records", table)
        try:
            kept = connection.sql(f"{_SELECT}({condition})").to_arrow_table()
        except duckdb.Error as error:
            raise TableError(f"--where: {str(error).partition(chr(10))[0]}") from error
    return table.filter(pc.is_in(table["offset"], value_set=kept[_NAMES_OFFSET.strip('"')]))
