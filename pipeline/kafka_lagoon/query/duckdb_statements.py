"""Checks a statement for DuckDB by DuckDB's own parse tree: it must be one query, and no part of it may write.

The first word is not enough: EXPLAIN ANALYZE runs a statement, and a common table expression may DELETE or COPY. Functions that
run a text as a statement are refused, because their text is not in the tree.
"""

import re

import duckdb

from kafka_lagoon.query.statements import refused

# Nodes of a query. DELETE_QUERY_NODE, COPY_QUERY_NODE and nodes of later releases write.
_READ = frozenset({"SELECT_NODE", "SET_OPERATION_NODE", "CTE_NODE", "RECURSIVE_CTE_NODE"})
# Table functions that run a serialized statement, a text, or a function whose name is a text.
_RUN_A_TEXT = frozenset(
    {
        "query",
        "json_execute_serialized_sql",
        "register_external_resource_type",
        "register_external_resource",
        "create_external_resource",
        "destroy_external_resource",
        "deregister_external_resource",
    }
)
_FUNCTION_NAME = re.compile(r'"function_name":"(\w+)"')
_PARSED, _NODE_TYPE = '{"error":false,', re.compile(r'"type":"(\w+_NODE)"')
# EXPLAIN with its options, and what may be before it. This is cut off and not checked, so it matches only text that DuckDB's
# lexer divides in the same way: no comment within a comment (DuckDB nests them), only words among options, quoted or not, and
# comments that end at a carriage return, too. Comments are passed for good, by atomic groups: a pattern that tries each shorter
# and longer takes twice the time for every further comment. Python before 3.11.5 misses matches of possessive groups.
_COMMENT = r"--[^\r\n]*+[\r\n]|(?>/\*(?:(?!/\*)[\s\S])*?\*/)"
_OPTIONS = r"\((?>(?:[\w\s,]|'\w*')*)\)(?=[\s;]*[^\s;])"
_EXPLAIN = re.compile(rf"(?>(?:[\s;]|{_COMMENT})*)explain\b(?:\s*analyze\b|\s*{_OPTIONS})?", re.IGNORECASE)


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
    if statements[0].type != duckdb.StatementType.SELECT:
        raise refused("SELECT and other statements that read")
    ((tree,),) = connection.execute("SELECT json_serialize_sql(?)", [statement]).fetchall()
    _refuse_writing_nodes(tree)


def _refuse_writing_nodes(tree: str) -> None:
    """Raise ConfigError unless all nodes of a statement's parse tree are those of queries, at every depth.

    The tree is searched as text: as objects it takes a hundred times the statement's memory, and a deep one has no end
    within Python's recursion. Quotes within strings are escaped in JSON, so no string looks like the type of a node.
    """
    kinds = set(_NODE_TYPE.findall(tree))
    if not (tree.startswith(_PARSED) and kinds and kinds <= _READ):
        raise refused("SELECT and other statements that read")
    for name in _FUNCTION_NAME.findall(tree):
        if name.lower() in _RUN_A_TEXT:
            raise refused("statements without functions that run a text as SQL", name)
