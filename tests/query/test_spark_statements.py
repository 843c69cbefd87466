"""Both engines refuse statements that write, reach outside of the warehouse or run code, and run other queries.

The first word of a statement proves little, so each statement is hidden behind words of a query.
"""

import os
import re
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import MagicMock

import duckdb
import pytest
from pyspark.sql import SparkSession

from kafka_lagoon.cli.main import main
from kafka_lagoon.errors import ConfigError
from kafka_lagoon.query import duckdb_statements, spark_engine
from kafka_lagoon.query.duckdb_engine import quoted_offset
from kafka_lagoon.query.spark_statements import refuse_all_but_a_query
from tests.delta.lake import make_lake
from tests.documents import blocks, page

PLANTED = "outside.csv"  # a file outside of the warehouse, which no statement may read or write
BY_DUCKDB = (
    "COPY (SELECT 1) TO '{outside}'",
    "EXPLAIN ANALYZE COPY (SELECT 1) TO '{outside}'",
    "EXPLAIN (FORMAT json) COPY (SELECT 1) TO '{outside}'",
    "EXPLAIN ANALYZE COPY (SELECT 1) TO '{lake}/planted.csv'",
    "WITH a AS (COPY (SELECT 1 AS n) TO '{lake}/planted.csv') FROM a",
    "SELECT (WITH a AS (COPY (SELECT 1 AS n) TO '{lake}/planted.csv') SELECT count(*) FROM a)",
    "PIVOT (WITH a AS (COPY (SELECT 1 AS n) TO '{lake}/planted.csv') FROM a) ON n",
    "WITH a AS (DELETE FROM records RETURNING *) FROM a",
    "WITH a AS (INSERT INTO records VALUES (1) RETURNING *) FROM a",
    "FROM read_text('{outside}')",
    "FROM read_csv('{outside}')",
    "FROM read_blob('{lake}/../{name}')",
    "FROM '{outside}'",
    "FROM glob('{folder}/*')",
    "FROM sniff_csv('{outside}')",
    "FROM query('FROM read_text(''{outside}'')')",
    "FROM json_execute_serialized_sql(json_serialize_sql('WITH a AS (COPY (SELECT 1 AS n) TO ''{lake}/planted.csv'') FROM a'))",
    "FROM destroy_external_resource('json_execute_serialized_sql', '{{}}')",
    "FROM read_parquet('https://127.0.0.1:1/x')",
    "SELECT 1; COPY (SELECT 1) TO '{outside}'",
    "ATTACH '{outside}'",
    "SET threads = 1",
    "PRAGMA database_list",
    "CALL enable_logging(storage = 'file')",
    "LOAD httpfs",
    "INSTALL httpfs",
    "EXPORT DATABASE '{lake}/planted'",
    "CREATE TABLE planted AS SELECT 1",
    "USE memory",
    "CHECKPOINT",
)
BY_SPARK = (
    "FROM records INSERT INTO topics SELECT *",
    "EXPLAIN FROM records INSERT INTO topics SELECT *",
    "WITH a AS (SELECT 1) DELETE FROM records",
    "WITH a AS (SELECT 1) INSERT INTO records SELECT * FROM a",
    "SELECT java_method('java.lang.System', 'getenv', 'HOME')",
    "SELECT * FROM records WHERE topic IN (SELECT reflect('java.lang.System', 'getenv', 'HOME'))",
    "SELECT system.builtin.try_reflect('java.lang.System', 'getenv', 'HOME')",
    "SELECT IDENTIFIER('reflect')('java.lang.System', 'getenv', 'HOME')",
    "SELECT transform(array(1), x -> reflect('java.lang.System', 'getenv', 'HOME'))",
    "SELECT sum(partition) OVER w FROM records WINDOW w AS (PARTITION BY reflect('java.lang.System', 'getenv', 'HOME'))",
    "SELECT max(topic) FILTER (WHERE reflect('java.lang.System', 'getenv', 'HOME') = '') FROM records",
    "FROM records |> SELECT reflect('java.lang.System', 'getenv', 'HOME')",
    "SELECT * FROM records, LATERAL (SELECT reflect('java.lang.System', 'getenv', 'HOME'))",
    "WITH RECURSIVE r AS (SELECT reflect('a', 'b') UNION ALL SELECT * FROM r) SELECT * FROM r",
    "SELECT '${{env:HOME}}' AS a",
    "SELECT 1 AS `${{system:user.home}}`",
    "SELECT * FROM records -- ${{env:HOME}}",
    "SELECT from_protobuf(value, 'M', '{outside}') FROM records",
    "SELECT from_avro(value, '\"string\"', map('avroSchemaUrl', '{outside}')) FROM records",
    "SELECT from_xml('<a/>', 'a INT', map('rowValidationXSDPath', '{outside}'))",
    "SELECT xpath_string('<!DOCTYPE a SYSTEM \"file://{outside}\"><a>b</a>', 'a')",
    "SELECT * FROM text.`{outside}`",
    "WITH a AS (SELECT * FROM csv.`{outside}`) SELECT * FROM a",
    "SELECT * FROM IDENTIFIER('text.`{outside}`')",
    "SELECT * FROM json.`{outside}` VERSION AS OF 1",
    "TABLE text.`{outside}`",
    "DESCRIBE QUERY SELECT * FROM text.`{outside}`",
    "EXPLAIN SELECT * FROM text.`{outside}`",
    "SELECT * FROM table_changes('records', 0)",
    "SELECT * FROM read_files('{outside}')",
    "SELECT TRANSFORM (topic) USING 'sh' AS a FROM records",
    "EXECUTE IMMEDIATE 'DELETE FROM records'",
    "BEGIN SELECT 1; END",
    "MERGE INTO records USING topics ON true WHEN MATCHED THEN DELETE",
    "VACUUM records",
    "DESCRIBE HISTORY records",
    "SET spark.sql.shuffle.partitions = 1",
    "ADD JAR '{outside}'",
    "CACHE TABLE records",
    "CREATE TABLE planted AS SELECT 1",
)


@pytest.fixture(scope="module")
def lake(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small warehouse, next to a file that does not belong to it."""
    del spark  # `lagoon` takes the session that runs
    folder = tmp_path_factory.mktemp("hostile")
    (folder / PLANTED).write_text("secret\n")
    return make_lake(folder / "lake")


def files(lake: Path) -> dict[str, bytes]:
    """Return all files in and next to the warehouse."""
    return {str(path): path.read_bytes() for path in lake.parent.rglob("*") if path.is_file()}


@pytest.mark.parametrize(
    ("engine", "statement"), [*(("duckdb", one) for one in BY_DUCKDB), *(("spark", one) for one in BY_SPARK)]
)
def test_hostile_statements(lake: Path, engine: str, statement: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The exit code is 2, the one line shows nothing of other files or of the environment, and no file is changed."""
    before = files(lake)
    places = {"lake": lake, "folder": lake.parent, "outside": lake.parent / PLANTED, "name": PLANTED}
    code = main(["sql", "--warehouse", str(lake), "--engine", engine, statement.format(**places)])
    out, complaint = capsys.readouterr()
    assert (code, out, complaint.count("\n")) == (2, "", 1), complaint
    assert complaint.startswith("lagoon: ")
    assert "secret" not in complaint
    assert os.environ["HOME"] not in complaint.replace(str(lake.parent), "")
    assert files(lake) == before


@pytest.mark.parametrize(
    "text", ["${env:HOME}", "${system:user.home}", "${HOME}", "${spark:spark.hadoop.key}", "$${env:A}"]
)
def test_references_to_the_environment(text: str) -> None:
    """Spark would replace them before it parses, so they are refused before Spark sees the statement."""
    warehouse = MagicMock()
    for statement in (f"SELECT '{text}'", f"SELECT 1 -- {text}"):
        with pytest.raises(ConfigError, match=r"^\$\{\.\.\.\}: lagoon sql runs statements without it"):
            spark_engine._run(warehouse, statement, ())
    assert not warehouse.mock_calls


@pytest.mark.parametrize(
    "name", ["from_avro", "FROM_XML", "schema_of_xml", "schema_of_avro", "from_protobuf", "reflect"]
)
def test_functions_that_reach_further(name: str) -> None:
    """They open a file that an option names, with the permissions of whoever runs the statement, or call Java."""

    def node(kind: str, **has: Any) -> Any:
        def several(*some: Any) -> Any:
            return SimpleNamespace(size=lambda: len(some), apply=lambda number: some[number])

        parts = {one: partial(several, *has.get(one, ())) for one in ("children", "expressions", "nameParts")}
        return SimpleNamespace(getClass=lambda: SimpleNamespace(getSimpleName=lambda: kind), **parts)

    for parts, is_refused in (((name,), True), (("system", "builtin", name), True), (("upper",), False)):
        plan = node("Project", expressions=(node("Alias", children=(node("UnresolvedFunction", nameParts=parts),)),))
        with pytest.raises(ConfigError, match=name) if is_refused else nullcontext():
            refuse_all_but_a_query(plan, ())


def of_pages(*names: str) -> list[str]:
    """Return the SQL statements of the documentation."""
    return [
        statement.strip()
        for name in names
        for block in blocks(page(name), "sql")
        for statement in block.split(";\n")
        if statement.strip()
    ]


READ = (
    pytest.param("SELECT 1 AS a UNION SELECT 2 ORDER BY a LIMIT 1", marks=pytest.mark.proof),
    "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < 3) SELECT max(n) AS n FROM r",
    "SELECT topic, sum(partition) OVER (PARTITION BY topic) AS n FROM records WHERE topic IN (SELECT topic FROM records)",
    pytest.param("VALUES (1)", marks=pytest.mark.proof),
    "TABLE records",
    "DESCRIBE records",
    "EXPLAIN SELECT 1 AS a",
    pytest.param("SHOW TABLES", marks=pytest.mark.proof),  # Spark registers them all at once
    "-- why\nSELECT count(*) AS n FROM records",
)


def test_statements_of_the_documentation_are_queries(spark: SparkSession) -> None:
    """Both engines take them for queries; tests of the pages run them. Statements of values.md are for DuckDB only."""
    for statement in of_pages("queries", "sql", "views"):
        plan = spark._jsparkSession.sessionState().sqlParser().parsePlan(statement)
        refuse_all_but_a_query(plan, ())
    with duckdb.connect() as connection:
        for statement in of_pages("queries", "sql", "views", "values"):
            duckdb_statements.refuse_all_but_a_query(connection, quoted_offset(statement))


@pytest.mark.parametrize("engine", ["duckdb", "spark"])
@pytest.mark.parametrize("statement", READ)
def test_other_statements_that_read_run(
    lake: Path, engine: str, statement: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Statements that read run in every form that both engines know."""
    assert main(["sql", "--warehouse", str(lake), "--engine", engine, statement]) == 0, capsys.readouterr().err


@pytest.mark.spark
def test_every_function_that_parses_xml_is_refused(spark: SparkSession) -> None:
    """Each of them opens the file or URL that a DOCTYPE names; Spark's next release may have more of them."""
    parser = spark._jsparkSession.sessionState().sqlParser()
    names = [name for (name,) in spark.sql("SHOW FUNCTIONS").collect() if re.search(r"^xpath|_xml$", name)]
    assert len(names) >= 9
    for name in names:
        if name != "to_xml":  # writes XML
            with pytest.raises(ConfigError, match=name):
                refuse_all_but_a_query(parser.parsePlan(f"SELECT {name}('<a/>', 'a')"), ())


@pytest.mark.spark
def test_names_of_a_catalog(spark: SparkSession) -> None:
    """In a catalog, tables may be named with the schema of the warehouse, and with no other schema."""

    def judge(statement: str) -> None:
        plan = spark._jsparkSession.sessionState().sqlParser().parsePlan(statement)
        refuse_all_but_a_query(plan, ("`main`", "`kafka`"))

    judge("SELECT * FROM kafka.records JOIN main.kafka.topics JOIN partitions")
    for name in ("other.records", "parquet.`/etc`", "main.other.records"):
        with pytest.raises(Exception, match="of its warehouse"):
            judge(f"SELECT * FROM {name}")
