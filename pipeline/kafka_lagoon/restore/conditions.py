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
_LONGEST = 10_000  # characters; DuckDB takes a kilobyte for each
_NAMES_OFFSET = '"offset"'
_SELECT = f"SELECT {_NAMES_OFFSET} FROM records WHERE "  # noqa: S608  a condition is SQL of the user's own


def faults_of(condition: str) -> list[str]:
    """Faults of a condition; none if it is a condition over the columns of one record."""
    if len(condition) > _LONGEST:
        return [f"it is longer than {_LONGEST:,} characters"]
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
    try:
        parsed = json.loads(text)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    if parsed["error"]:
        raise ValueError(parsed["error_message"])
    if len(parsed["statements"]) != 1:
        raise ValueError("it is more than one statement")
    return parsed["statements"][0]["node"]["where_clause"]


def _unsteady(connection: duckdb.DuckDBPyConnection, tree: Any) -> Iterator[str]:
    """Parts of a condition that depend on something other than the record."""
    unsteady = _unsteady_functions(connection)
    for node in _nodes(tree):
        match node:
            case {"class": "SUBQUERY"}:
                yield "it reads another table"
            case {"class": "COLUMN_REF", "column_names": [name]} if name.lower() in _LIKE_COLUMNS:
                yield f"{name} gives something else each time"
            case {"class": "FUNCTION", "function_name": name} if name in unsteady:
                yield f"{name} gives something else each time"


def _nodes(tree: Any) -> Iterator[dict[str, Any]]:
    """All objects of a tree, at every depth."""
    waiting = [tree]
    while waiting:
        part = waiting.pop()
        if isinstance(part, dict):
            yield part
            waiting += part.values()
        elif isinstance(part, list):
            waiting += part


def _unsteady_functions(connection: duckdb.DuckDBPyConnection) -> set[str]:
    """Functions that give something else each time: one question for all, which takes DuckDB 25 ms."""
    results = connection.execute(
        "SELECT DISTINCT function_name FROM duckdb_functions() WHERE stability <> 'CONSISTENT'"
    )
    return {name for (name,) in results.fetchall()}


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
