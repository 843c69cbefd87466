"""Selects archived records by a condition in SQL over the columns of table `records`, which DuckDB evaluates.

A restore that is continued must select the same records again, so a condition may depend only on the record.
"""

import json
from collections.abc import Iterator, Sequence
from functools import lru_cache
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
# Functions that DuckDB calls consistent, although they depend on the time.
_OF_THE_TIME = frozenset({"current_localtime", "current_localtimestamp"})
# Macros that depend only on their arguments; DuckDB has no stability for macros.
_STEADY_MACROS = frozenset(
    {
        *("array_append", "array_pop_back", "array_pop_front", "array_prepend", "array_push_back", "array_push_front"),
        *("array_reverse", "array_to_string", "date_add", "days_in_month", "fdiv", "fmod", "if", "json"),
        *("list_any_value", "list_append", "list_avg", "list_bool_and", "list_bool_or", "list_count", "list_first"),
        *("list_last", "list_max", "list_median", "list_min", "list_mode", "list_prepend", "list_product"),
        *("list_reverse", "list_string_agg", "list_sum", "map_contains_entry", "map_contains_value"),
        *("md5_number_lower", "md5_number_upper", "nullif", "split_part"),
    }
)
_LONGEST = 10_000  # characters; DuckDB takes a kilobyte for each
_NAMES_OFFSET = '"offset"'
_TABLE = "records"
_SELECT = f"SELECT {_NAMES_OFFSET} FROM {_TABLE} WHERE "  # noqa: S608  a condition is SQL of the user's own


def faults_of(condition: str) -> list[str]:
    """Faults of a condition; none if it is a condition over the columns of one record."""
    if len(condition) > _LONGEST:
        return [f"it is longer than {_LONGEST:,} characters"]
    with duckdb.connect() as connection:
        try:
            nodes = [_parsed(connection, form) for form in (_SELECT + condition, f"{_SELECT}({condition})")]
            faults = sorted(set(_unsteady(connection, nodes[0])))
            if not faults:
                records = RECORDS.file_schema().empty_table()
                connection.execute(f"{_SELECT}({condition})")
                # A text that is no time, for example, is an error only if there is a row; in a column AND and OR skip no part.
                nulls = {name: pa.nulls(1, records.schema.field(name).type) for name in records.schema.names}
                records = pa.table(nulls)  # DuckDB finds it by its name
                connection.execute(f"SELECT CAST(({condition}) AS BOOLEAN) FROM {_TABLE}").fetchall()  # noqa: S608  as above
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


@lru_cache(maxsize=16)  # partitions share a condition
def columns_in(condition: str) -> frozenset[str]:
    """The columns of `records` that a condition names; all columns if its syntax tree cannot be read."""
    names = RECORDS.file_schema().names
    with duckdb.connect() as connection:
        try:
            tree = _parsed(connection, f"{_SELECT}({condition})")
        except (duckdb.Error, ValueError):
            return frozenset(names)
    named = {part.lower() for reference in _references(tree) for part in reference}
    return frozenset(name for name in names if name.lower() in named)


def _references(tree: Any) -> Iterator[Sequence[str]]:
    """The parts of each name that may stand for a column: `key`, `records.key`, and `key` of `key.decode()`."""
    for node in _nodes(tree):
        match node:
            case {"class": "COLUMN_REF", "column_names": parts}:
                yield parts
            case {"class": "FUNCTION", "qualified_name": {"path": [_, _, *_] as path}}:
                yield path[:-1]


def _unsteady(connection: duckdb.DuckDBPyConnection, tree: Any) -> Iterator[str]:
    """Parts of a condition that depend on something other than the record.

    A restore reads only the columns that its condition names, so a condition must name each of them.
    """
    unsteady = _unsteady_functions(connection)
    for node in _nodes(tree):
        match node:
            case {"class": "SUBQUERY"}:
                yield "it reads another table"
            case {"class": "STAR"}:
                yield "* and COLUMNS mean several columns: name each of them"
            case {"class": "POSITIONAL_REFERENCE"}:
                yield "# and a number mean a column: name it"
            case {"class": "COLUMN_REF", "column_names": [name]} if name.lower() in _LIKE_COLUMNS:
                yield _may_differ(name)
            case {"class": "FUNCTION", "function_name": name, "arguments": arguments}:
                if name.lower() in unsteady:
                    yield _may_differ(name)
                elif name.lower() == "age" and len(arguments) < 2:  # noqa: PLR2004  today is the default of the second one
                    yield _may_differ(f"{name} with one argument")
    if any([part.lower() for part in reference] == [_TABLE] for reference in _references(tree)):
        yield f"{_TABLE} means all columns: name those that the condition depends on"


def _may_differ(name: str) -> str:
    return f"{name} may have another value each time"


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
    """Functions that may have another value each time. One query for all of them takes DuckDB 25 ms."""
    results = connection.execute(
        "SELECT DISTINCT function_name FROM duckdb_functions() "
        "WHERE function_type IN ('scalar', 'macro') AND stability IS DISTINCT FROM 'CONSISTENT'"
    )
    return {name for (name,) in results.fetchall()} - _STEADY_MACROS | _OF_THE_TIME


def matching(table: pa.Table, condition: str) -> pa.Table:
    """The rows that meet a condition, in their order; TableError if it cannot be evaluated for a row.

    The condition is that of a stored plan, which whoever may write the warehouse could have changed: it reaches no file.
    """
    with duckdb.connect(config={"threads": 1}) as connection:
        connection.execute("SET TimeZone = 'UTC'")
        connection.register("records", table)
        connection.execute("SET enable_external_access = false")
        connection.execute("SET lock_configuration = true")
        try:
            kept = connection.sql(f"{_SELECT}({condition})").to_arrow_table()
        except duckdb.Error as error:
            raise TableError(f"--where: {str(error).partition(chr(10))[0]}") from error
    return table.filter(pc.is_in(table["offset"], value_set=kept[_NAMES_OFFSET.strip('"')]))
