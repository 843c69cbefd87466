"""The parse tree of a statement decides, however it is written; test_spark_statements.py has the statements that both engines refuse."""

import re
import time
from contextlib import suppress
from pathlib import Path

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
        "EXPLAIN (FORMAT 'json', ANALYZE) SELECT 1",
        "EXPLAIN (SELECT 1);",
        "/*/ a **/--\rEXPLAIN /* b /* c */ */ SELECT 1",
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


@pytest.mark.parametrize(
    "call",
    [
        "query('FROM t')",
        "system.main.\"Query\"('FROM t')",
        "JSON_EXECUTE_SERIALIZED_SQL(json_serialize_sql('WITH a AS (COPY t TO ''f'') FROM a'))",
        "destroy_external_resource('json_execute_serialized_sql', '{}')",
        "create_external_resource('t', a := 'b')",
        "register_external_resource_type('t', kind := 'k', create_function := 'query')",
    ],
)
@pytest.mark.parametrize("around", ["FROM {}", "EXPLAIN ANALYZE SELECT (FROM {})", "SUMMARIZE FROM t, LATERAL {}"])
def test_functions_that_run_a_text(call: str, around: str) -> None:
    """The statement that they run is not in the tree, so it could write: COPY to a file of the warehouse."""
    with pytest.raises(ConfigError, match="without functions that run a text as SQL"):
        refuse_all_but_a_query(duckdb.connect(), around.format(call))


def test_every_table_function_is_known() -> None:
    """A new table function of DuckDB must be looked at: it may have to be refused."""
    reading = re.compile(
        r"duckdb_\w+|pragma_\w+|read_\w+|parquet_\w+|json_(?:each|tree)|(?:pandas|python_arrow|seq)_scan|python_map_function|"
        r"query_table|range|generate_series|repeat|repeat_row|unnest|glob|sniff_csv|summary|test_\w+|which_secret|"
        r"icu_calendar_names|pg_timezone_names|storage_info|table_info"
    )
    # Those of logs, profiles and checkpoints are locked with the settings, or have no file.
    others = re.compile(
        r"query|json_execute_serialized_sql|\w+_external_resource(?:_type)?|arrow_scan(?:_dumb)?|(?:force_)?checkpoint|"
        r"(?:enable|disable)_(?:logging|profiling)|truncate_duckdb_logs"
    )
    functions = duckdb.sql("SELECT DISTINCT function_name FROM duckdb_functions() WHERE function_type = 'table'")
    unknown = [name for (name,) in functions.fetchall() if not reading.fullmatch(name) and not others.fullmatch(name)]
    assert not unknown


@pytest.mark.parametrize(
    "statement",
    [
        "/* /* */ EXPLAIN SELECT '*/ EXPLAIN ANALYZE COPY (SELECT 1) TO $${file}$$ --'",
        "-- a\rEXPLAIN ANALYZE COPY (SELECT 1) TO $${file}$$ /*\nEXPLAIN SELECT 1 --*/",
        "EXPLAIN (FORMAT json /* ) SELECT '*/ , ANALYZE) COPY (SELECT 1) TO $${file}$$ --'",
        "EXPLAIN (FORMAT json -- ) SELECT '\n , ANALYZE) COPY (SELECT 1) TO $${file}$$ --'",
        "EXPLAIN (ANALYZE $$) SELECT '$$) COPY (SELECT 1) TO $${file}$$ --'",
        """EXPLAIN (ANALYZE ") SELECT '") COPY (SELECT 1) TO $${file}$$ --'""",
        "EXPLAIN (ANALYZE 'a) SELECT 1 --') COPY (SELECT 1) TO $${file}$$",
    ],
)
def test_an_explained_statement_is_the_one_that_runs(statement: str, tmp_path: Path) -> None:
    """Comments and quotes cannot show the check another statement than DuckDB runs."""
    file = tmp_path / "planted.csv"
    connection = duckdb.connect()
    with pytest.raises((ConfigError, duckdb.Error)):
        refuse_all_but_a_query(connection, statement.format(file=file))
    with suppress(duckdb.Error):
        connection.sql(statement.format(file=file)).fetchall()
        assert file.exists(), "not a statement that would write"


@pytest.mark.parametrize("before", ["/**/" * 40 + "*/", "/* /* */ */" + "/**/" * 5_000])
def test_comments_take_linear_time(before: str) -> None:
    """A pattern that tries each comment shorter and longer takes twice the time for every further one."""
    started = time.process_time()
    with pytest.raises((ConfigError, duckdb.Error)):
        refuse_all_but_a_query(duckdb.connect(), f"{before} EXPLAIN SELECT 1")
    assert time.process_time() - started < 1
