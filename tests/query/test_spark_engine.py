"""`lagoon sql` with Spark: for tables that DuckDB cannot read, or on request."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import MagicMock

import pyarrow as pa
import pytest
from deltalake import DeltaTable
from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession
from pyspark.sql.types import StructType

from kafka_lagoon.cli.main import main
from kafka_lagoon.delta.open_warehouse import at_path
from kafka_lagoon.delta.session import settings_for_block
from kafka_lagoon.errors import TableError
from kafka_lagoon.jars.java import java_path
from kafka_lagoon.query import spark_engine
from kafka_lagoon.query.spark_engine import make_available, opened, without_traces
from kafka_lagoon.query.statements import tuples
from kafka_lagoon.query.window import Newest, Span
from kafka_lagoon.tables.schema import TABLES
from tests.clock import clock_at
from tests.delta.lake import make_lake
from tests.delta.samples import HOUR_MS, NOON_MS, lag_row, snapshot
from tests.documents import blocks, page
from tests.effort import first

_CONF = Path(__file__).resolve().parents[2] / "conf"
_OF_TASKS = ("org.apache.spark.executor.Executor", "org.apache.spark.scheduler.TaskSetManager")
CLOCK = clock_at(datetime.fromtimestamp(NOON_MS / 1000 + 86_400, UTC))
STATEMENT = "SELECT group_id, topic, lag, captured_at, snapshot_date FROM lag_now ORDER BY lag"


@pytest.fixture(scope="module")
def lake(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two published snapshots and five records."""
    del spark  # `lagoon` takes the session that runs
    return make_lake(tmp_path_factory.mktemp("lake"))


def sql(lake: Path, capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = main(["sql", "--warehouse", str(lake), *arguments])
    return (code, *capsys.readouterr())


@pytest.mark.parametrize("form", first(["json", "csv", "table"]))
def test_both_engines_print_the_same(lake: Path, form: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The output is equal to the byte: with null, odd names, 64-bit numbers and times."""
    by_duckdb = sql(lake, capsys, "--format", form, STATEMENT + " NULLS FIRST")
    assert by_duckdb[0] == 0
    assert sql(lake, capsys, "--engine", "spark", "--format", form, STATEMENT + " NULLS FIRST") == by_duckdb


def test_empty_lists_have_elements_without_a_type(lake: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Spark says of them that they are never null, which pyarrow refuses."""
    statement = "SELECT array() AS a, array(null) AS n, named_struct('x', array()) AS s"
    code, out, complaint = sql(lake, capsys, "--engine", "spark", "--json", statement)
    assert (code, out, complaint) == (0, '{"a": [], "n": [null], "s": {"x": []}}\n', "")


@pytest.mark.parametrize("zone", ["GMT+1", "America/Sao_Paulo"])
def test_times_are_utc_in_a_session_of_another_zone(
    spark: SparkSession, lake: Path, zone: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Both engines print the same times and compute the same hours; pyarrow does not know all of Spark's zones."""
    statement = "SELECT captured_at, CAST(hour(captured_at) AS INT) AS hour FROM snapshots ORDER BY captured_at"
    commands = (["sql", "--warehouse", str(lake), "--json", statement], ["lag", "--warehouse", str(lake), "--json"])
    with settings_for_block(spark, {"spark.sql.session.timeZone": zone}):
        for command in commands:
            by_duckdb = (main(command), capsys.readouterr().out)
            assert (main([*command, "--engine", "spark"]), capsys.readouterr().out) == by_duckdb
        assert spark.conf.get("spark.sql.session.timeZone") == zone


@pytest.mark.proof
def test_both_engines_find_the_same_metrics(lake: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The metrics of both engines are equal to the byte."""
    printed = []
    for engine in ("duckdb", "spark"):
        assert main(["metrics", "--warehouse", str(lake), "--engine", engine]) == 0
        printed.append(capsys.readouterr().out)
    assert "lagoon_group_lag" in printed[0]
    assert printed[0] == printed[1]


def test_files_of_other_snapshots_are_not_opened(spark: SparkSession, tmp_path: Path) -> None:
    """With a window, Spark reads the files of its snapshots only, and once; tables may be open over two windows at once."""
    times = [NOON_MS + number * HOUR_MS for number in range(5)]
    lake = make_lake(tmp_path, [snapshot(number, lag_row("g", "t", 0, lag=number)) for number in range(1, 5)])
    for table in ("snapshots", "consumer_lag"):
        oldest = min(pa.table(DeltaTable(str(lake / table)).get_add_actions(flatten=True)).to_pylist(), key=_first)
        (lake / table / oldest["path"]).unlink()
    warehouse, of = at_path(spark, str(lake)), [datetime.fromtimestamp(time_ms / 1000, UTC) for time_ms in times]
    lags, kept_before = "SELECT lag FROM consumer_lag_published ORDER BY lag", _kept(spark)
    with (
        opened(warehouse, ["snapshots"], Newest(times=[None])) as newest,
        opened(warehouse, ["snapshots"], Newest(times=[of[3]], number=1)) as earlier,
        opened(warehouse, ["consumer_lag_published"], [Span(begin=of[2], end=of[3])]) as of_two,
        opened(warehouse, ["consumer_lag_published"], [Span(begin=of[4], end=of[4])]) as of_last,
    ):
        captured = "SELECT captured_at FROM snapshots ORDER BY captured_at"
        assert [time for (time,) in tuples(newest(captured))] == of[3:]
        assert [time for (time,) in tuples(earlier(captured))] == of[3:4]
        assert (tuples(of_two(lags)), tuples(of_last(lags))) == ([(2,), (3,)], [(4,)])
        for path in (lake / "consumer_lag").rglob("*.parquet"):
            if "_delta_log" not in path.parts:
                path.unlink()
        # Spark has kept the rows.
        assert tuples(of_two("SELECT count(*), sum(lag) FROM consumer_lag_published")) == [(2, 5)]
    assert _kept(spark) == kept_before


def _kept(spark: SparkSession) -> int:
    """The number of tables that Spark keeps."""
    number: int = spark._jsparkSession.sharedState().cacheManager().numCachedEntries()
    return number


def _first(file: Mapping[str, Any]) -> datetime:
    first: datetime = file["min.captured_at"]
    return first


def test_a_table_that_a_later_version_added_has_no_rows_yet(
    lake: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The table has its columns, and no rows."""
    shutil.copytree(lake, tmp_path / "older")
    shutil.rmtree(tmp_path / "older" / "acls", ignore_errors=True)
    statement = "SELECT count(*) AS n, max(principal) AS principal FROM acls"
    code, out, _ = sql(tmp_path / "older", capsys, "--engine", "spark", "--format", "csv", statement)
    assert (code, out) == (0, "n,principal\r\n0,\r\n")


@pytest.mark.parametrize(
    ("older", "said"),
    [
        ("snapshots", "table snapshots in c.s lacks columns of this version (tables)"),
        ("acls", "table acls in c.s is not there"),
    ],
)
def test_an_older_warehouse_in_a_catalog(older: str, said: str) -> None:
    """Its views would name columns that are not there yet: the table is named in one line, with the cure."""
    warehouse, tables = MagicMock(in_catalog=True), {}
    warehouse.name = "c.s"
    for table in TABLES:
        fields = [field for field in table.delta_schema()["fields"] if table.name != older or field["name"] != "tables"]
        schema = StructType.fromJson({"type": "struct", "fields": fields})
        tables[table.name] = SimpleNamespace(schema=schema, columns=schema.names)
    warehouse.identifiers = {name: name for name in tables}
    warehouse.locations = {name: name for name in tables if (name, older) != ("acls", "acls")}
    warehouse.spark.table = tables.__getitem__
    with pytest.raises(TableError) as refused:
        make_available(warehouse, ["acls_published"])
    assert str(refused.value) == f"{said}: the first run of this version that writes it adds what is missing"
    make_available(warehouse, ["brokers"])


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        ("SELECT nope FROM lag_now", "nope"),
        ("SELECT * FROM lag_nwo", "there is no table or view lag_nwo (did you mean lag_now?)"),
        ("SELECT (1", "yntax error"),
        ("SELECT map() AS m", "a type that Arrow lacks"),
        ("SELECT CAST(group_id AS INT) FROM lag_now", "CAST_INVALID_INPUT"),
        ("SELECT raise_error(concat('boom', chr(10), 'and more')) FROM consumer_lag", "boom"),
        ("DELETE FROM consumer_lag", "runs SELECT and other statements that read"),
    ],
)
def test_errors_are_one_line(lake: Path, statement: str, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Errors of the parser, of the analyser, and of a task, whose Py4JJavaError has a trace of 14 kB, are one line each."""
    code, out, complaint = sql(lake, capsys, "--engine", "spark", statement)
    assert (code, out) == (2 if "runs SELECT" in said else 1, "")
    assert said in complaint
    assert complaint.count("\n") == 1
    assert len(complaint) < 600


def test_a_file_that_cannot_be_read_is_named_in_one_line(
    lake: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The line has the file and the cause."""
    folder = Path(shutil.copytree(lake, tmp_path / "damaged"))
    for file in (folder / "consumer_groups").rglob("*.parquet"):
        file.write_bytes(b"PAR1 damaged PAR1")
    statement = ["sql", "--warehouse", str(folder), "--engine", "spark", "SELECT group_id, state FROM consumer_groups"]
    assert main(statement) == 1
    out, complaint = capsys.readouterr()
    assert (out, complaint.count("\n")) == ("", 1)
    assert re.search(r"damaged/consumer_groups/snapshot_date=\S*\.parquet cannot be read: \S", complaint)


@pytest.mark.parametrize(
    ("messages", "expected"),
    [
        (
            ["Error accessing gs://lake/a/snapshots", "403 Forbidden"],
            "gs://lake/a/snapshots cannot be read: 403 Forbidden",
        ),
        (["s3a://lake/a: listObjects: Access Denied", "Access Denied"], "s3a://lake/a cannot be read: Access Denied"),
        (["s3a://lake/a failed", "No such file: s3a://lake/a"], "No such file: s3a://lake/a"),
        (["Job aborted", "Division by zero"], "Division by zero"),
    ],
)
def test_what_a_store_refuses_is_named(messages: Sequence[str], expected: str) -> None:
    """The cause is the store's answer alone; errors above it have the URL."""
    error: Any = None
    for message in reversed(messages):
        below, error = error, MagicMock(_target_id="o1")
        error.getCause.return_value, error.getMessage.return_value = below, message
    assert spark_engine._words(Py4JJavaError("failed", error)) == expected


def test_tasks_that_fail_are_not_logged_while_a_command_reads() -> None:
    """Spark logs them with their traces before and after; both loggers get the levels back that they had."""
    spark = MagicMock()
    log4j = spark.sparkContext._jvm.org.apache.logging.log4j
    levels = log4j.core.config.Configurator.setLevel
    with without_traces(spark):
        assert {call.args for call in levels.call_args_list} == {(name, log4j.Level.OFF) for name in _OF_TASKS}
        levels.reset_mock()
    before = log4j.LogManager.getLogger.return_value.getLevel.return_value
    assert {call.args for call in levels.call_args_list} == {(name, before) for name in _OF_TASKS}


def test_what_duckdb_cannot_read_spark_reads(lake: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Spark is used by default; if DuckDB was requested, it is an error in one line."""
    folder = lake.rename(tmp_path / "a%41b")
    try:
        statement = "SELECT count(*) AS n FROM records"
        code, out, complaint = sql(folder, capsys, "--json", statement)
        assert (code, out) == (0, '{"n": 5}\n')
        assert (
            complaint == "lagoon: table records: deltalake does not find folders with % in their names: trying Spark\n"
        )
        code, out, complaint = sql(folder, capsys, "--engine", "duckdb", statement)
        assert (code, out, complaint.count("\n")) == (1, "", 1)
    finally:
        folder.rename(lake)


def test_a_table_that_no_engine_reads(lake: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A feature of a newer Delta: Spark's own error is none that PySpark knows, and has a trace of 14 kB."""
    folder = Path(shutil.copytree(lake, tmp_path / "newer"))
    protocol = {"minReaderVersion": 3, "minWriterVersion": 7, "readerFeatures": ["later"], "writerFeatures": ["later"]}
    commits = sorted((folder / "records" / "_delta_log").glob("*.json"))
    commit = commits[-1].with_name(f"{len(commits):020d}.json")
    commit.write_text(json.dumps({"protocol": protocol}) + "\n")
    code, out, complaint = sql(folder, capsys, "SELECT count(*) AS n FROM records")
    assert (code, out) == (1, "")
    first_line, second_line = complaint.splitlines()
    assert first_line.endswith("trying Spark")
    assert "DELTA_UNSUPPORTED_FEATURES_FOR_READ" in second_line


@pytest.mark.proof
def test_the_page_shows_it(lake: Path, spark: SparkSession, capsys: pytest.CaptureFixture[str]) -> None:
    """The lines of docs/sql.md for a notebook with Spark run unchanged."""
    (snippet,) = (one for one in blocks(page("sql"), "python") if "import register\n" in one)
    exec(snippet.replace('"warehouse"', f'"{lake}"'), {"spark": spark})  # noqa: S102  a JVM cannot change its folder
    assert "billing" in capsys.readouterr().out


@pytest.mark.proof
@pytest.mark.parametrize(
    "argv",
    [
        pytest.param(("lag", "--fail-above", "lag=1,total=1,time=1h,lost,age=1h"), marks=pytest.mark.proof),
        ("lag", "billing", "--pattern", "b.*", "--min-lag", "1", "-n", "2", "--sort", "time"),
        pytest.param(  # Spark needs half a minute to plan its view
            ("health", "--only", "critical,leader_skew", "--since", "2025-01-01", "--fail-above", "findings"),
            marks=pytest.mark.proof,
        ),
    ],
)
def test_commands_say_the_same_by_both_engines(
    lake: Path, argv: tuple[str, ...], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows, lines and exit code are equal to the byte: statements, and values for question marks, work in both engines.

    `changes` is made in the same way, over a view that takes Spark a minute to plan; the view has its own tests.
    """
    monkeypatch.setattr("kafka_lagoon.clock.SYSTEM_CLOCK", CLOCK)

    def said(engine: str) -> tuple[int, str, str]:
        code = main([*argv, "--json", "--warehouse", str(lake), "--engine", engine])
        return (code, *capsys.readouterr())

    by_duckdb = said("duckdb")
    assert by_duckdb[1]
    assert said("spark") == by_duckdb


def test_the_driver_has_room_for_compiled_code() -> None:
    """With the quick compiler alone, Java reserves 48 MB, which the plans of view topology_changes fill: tasks fail then."""
    lines = (_CONF / "spark-defaults.conf").read_text("utf-8").splitlines()
    (options,) = (line.split(maxsplit=1)[1] for line in lines if line.startswith("spark.driver.extraJavaOptions"))
    command = [java_path(), *shlex.split(options), "-XX:+PrintFlagsFinal", "-version"]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stderr  # by DisplayVMOutputToStderr
    (reserved,) = re.findall(r" ReservedCodeCacheSize += (\d+)", printed)
    assert int(reserved) == 240 << 20


@pytest.mark.long
def test_rows_that_the_driver_has_no_memory_for(lake: Path) -> None:
    """A result of one Spark partition that is larger than the heap is an error, and no query that waits for ever."""
    statement = "SELECT id FROM range(0, 50000000, 1, 2)"
    command = [sys.executable, "-m", "kafka_lagoon", "sql", "--warehouse", str(lake), "--engine", "spark", statement]
    environ = {
        **os.environ,
        "SPARK_CONF_DIR": str(_CONF),
        "PYSPARK_SUBMIT_ARGS": "--driver-memory 512m pyspark-shell",
    }
    run = subprocess.run(command, env=environ, capture_output=True, text=True, check=False, timeout=120)
    assert (run.returncode, run.stdout) == (1, "")
    assert run.stderr.endswith("lagoon: the JVM that reads and writes the tables has ended\n")
