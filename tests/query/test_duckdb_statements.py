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
        "SELECT 1" + "+1" * 900,
        "SELECT * FROM " + "(SELECT * FROM " * 400 + "t" + ")" * 400,
        """SELECT '"type":"DELETE_NODE"' AS "type", '"' || '"type":"COPY_NODE"'""",
    ],
)
def test_queries(statement: str) -> None:
    """Comments and empty statements may come before a query, or before EXPLAIN of one; deep ones are no traceback."""
    refuse_all_but_a_query(duckdb.connect(), statement)


@pytest.mark.parametrize(
    ("statement", "words"),
    [
        ("EXPLAIN DELETE FROM t", "SELECT and other statements that read"),
        ("SELECT 1; SELECT 2", "one statement at a time"),
        ("WITH a AS (DELETE FROM t RETURNING *) SELECT * FROM a", "SELECT and other statements that read"),
        ("""WITH a AS (COPY t TO 'f') SELECT '"type":"SELECT_NODE"' FROM a""", "SELECT and other statements that read"),
    ],
)
def test_refused_statements(statement: str, words: str) -> None:
    """No part of a statement may write."""
    with pytest.raises(ConfigError, match=words):
        refuse_all_but_a_query(duckdb.connect(), statement)


@pytest.mark.parametrize("before", ["/**/" * 40 + "*/", "/* /* */ */" + "/**/" * 5_000])
def test_comments_take_linear_time(before: str) -> None:
    """A pattern that tries each comment shorter and longer takes twice the time for every further one."""
    started = time.process_time()
    with pytest.raises((ConfigError, duckdb.Error)):
        refuse_all_but_a_query(duckdb.connect(), f"{before} EXPLAIN SELECT 1")
    assert time.process_time() - started < 1
