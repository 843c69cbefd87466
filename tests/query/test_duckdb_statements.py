"""The parse tree of a statement decides, however it is written; test_spark_statements.py has the statements that both engines refuse."""

import time

import duckdb
import pytest

from kafka_lagoon.errors import ConfigError
from kafka_lagoon.query.duckdb_statements import refuse_all_but_a_query


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT 1",
        "EXPLAIN SELECT 1",
        "/* a */ -- b\nEXPLAIN ANALYZE SELECT 1",
        ";EXPLAIN (FORMAT json) SELECT 1",
        "SELECT 1" + "+1" * 200,
    ],
)
def test_queries(statement: str) -> None:
    """Comments and empty statements may come before a query, or before EXPLAIN of one."""
    refuse_all_but_a_query(duckdb.connect(), statement)


@pytest.mark.parametrize(
    ("statement", "words"),
    [
        ("EXPLAIN DELETE FROM t", "SELECT and other statements that read"),
        ("SELECT 1; SELECT 2", "one statement at a time"),
        ("SELECT 1" + "+1" * 900, "not nested so deeply"),
        ("SELECT * FROM " + "(SELECT * FROM " * 400 + "t" + ")" * 400, "not nested so deeply"),
    ],
)
def test_refused_statements(statement: str, words: str) -> None:
    """DuckDB parses what Python cannot walk through: that is no traceback."""
    with pytest.raises(ConfigError, match=words):
        refuse_all_but_a_query(duckdb.connect(), statement)


@pytest.mark.parametrize("before", ["/**/" * 40 + "*/", "/* /* */ */" + "/**/" * 5_000])
def test_comments_take_linear_time(before: str) -> None:
    """A pattern that tries each comment shorter and longer takes twice the time for every further one."""
    started = time.process_time()
    with pytest.raises((ConfigError, duckdb.Error)):
        refuse_all_but_a_query(duckdb.connect(), f"{before} EXPLAIN SELECT 1")
    assert time.process_time() - started < 1
