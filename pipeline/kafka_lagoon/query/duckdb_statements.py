"""Checks a statement for DuckDB by DuckDB's own parse tree: it must be one query, and no part of it may write.

The first word is not enough: EXPLAIN ANALYZE runs a statement, and a common table expression may DELETE or COPY.
"""

import json
import re
from collections.abc import Iterator
from typing import Any

import duckdb

from kafka_lagoon.query.statements import refused

# Nodes of a query. DELETE_QUERY_NODE, COPY_QUERY_NODE and nodes of later releases write.
_READ = frozenset({"SELECT_NODE", "SET_OPERATION_NODE", "CTE_NODE", "RECURSIVE_CTE_NODE"})
# Comments are passed for good: a pattern that tries each of them shorter and longer takes twice the time for every further one.
_EXPLAIN = re.compile(
    r"(?:[\s;]|--[^\n]*+\n|(?>/\*.*?\*/))*+explain\b(?:\s*analyze\b|\s*\([^()]*\))?", re.DOTALL | re.IGNORECASE
)


def refuse_all_but_a_query(connection: duckdb.DuckDBPyConnection, statement: str) -> None:
    """Raise ConfigError unless the statement is one query or explains one; duckdb.Error if it cannot be parsed."""
    statements = connection.extract_statements(statement)
    if len(statements) != 1:
        raise refused("one statement at a time")
    if statements[0].type == duckdb.StatementType.EXPLAIN:
        explain = _EXPLAIN.match(statement)
        if not explain:
            raise refused("EXPLAIN of a query")
        refuse_all_but_a_query(connection, statement[explain.end() :])
        return
    if statements[0].type == duckdb.StatementType.MULTI:
        raise refused("PIVOT with its values: ON column IN (...)")
    if statements[0].type != duckdb.StatementType.SELECT or not set(_nodes(_parsed(connection, statement))) <= _READ:
        raise refused("SELECT and other statements that read")


def _parsed(connection: duckdb.DuckDBPyConnection, statement: str) -> Any:
    ((text,),) = connection.execute("SELECT json_serialize_sql(?)", [statement]).fetchall()
    try:
        tree = json.loads(text)
    except RecursionError:
        raise refused("statements that are not nested so deeply") from None
    if tree["error"]:
        raise refused("SELECT and other statements that read")
    return tree


def _nodes(tree: Any) -> Iterator[str]:
    """Types of all query nodes at every depth."""
    waiting = [tree]
    while waiting:
        part = waiting.pop()
        if isinstance(part, dict):
            kind = part.get("type")
            if isinstance(kind, str) and kind.endswith("_NODE"):
                yield kind
            waiting += part.values()
        elif isinstance(part, list):
            waiting += part
