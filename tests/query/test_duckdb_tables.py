"""A table's log is untrusted text: its names, types and paths never become SQL."""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake
from pyspark.sql import SparkSession

from kafka_lagoon.cli.main import main
from kafka_lagoon.errors import TableError
from kafka_lagoon.query.duckdb_engine import confined_to
from kafka_lagoon.query.duckdb_tables import NeedsSpark, select_rows
from kafka_lagoon.query.window import Span
from kafka_lagoon.tables.schema import STATE_TABLES
from tests.closed import modes_bind
from tests.delta.lake import make_lake

Action = dict[str, Any]
COMMANDS = (
    ("sql", "SELECT count(*) FROM snapshots"),
    ("lag",),
    ("health",),
    ("changes",),
    ("metrics",),
    ("report", "--out", "page.html"),
)


@pytest.fixture(scope="module")
def lake(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two published snapshots."""
    del spark
    return make_lake(tmp_path_factory.mktemp("foreign") / "lake")


def altered(lake: Path, to: Path, table: str, alter: Callable[[Action], None]) -> Path:
    """Copy the warehouse and alter each action in the log of one table."""
    shutil.copytree(lake, to)
    for path in (to / table / "_delta_log").iterdir():
        if path.suffix == ".json":
            actions = [json.loads(line) for line in path.read_text().splitlines()]
            for action in actions:
                alter(action)
            path.write_text("\n".join(map(json.dumps, actions)))
        else:
            path.unlink()
    return to


def with_column(name: str, kind: Any = "date", *, partition: bool = True) -> Callable[[Action], None]:
    """Add a column to the table, as a partition column or not."""

    def alter(action: Action) -> None:
        if "metaData" in action:
            schema = json.loads(action["metaData"]["schemaString"])
            schema["fields"].append({"name": name, "type": kind, "nullable": True, "metadata": {}})
            action["metaData"]["schemaString"] = json.dumps(schema)
            action["metaData"]["partitionColumns"] += [name] if partition else []
        if "add" in action and partition:
            action["add"]["partitionValues"][name] = "2026-11-21"
            action["add"]["path"] = f"{name}=2026-11-21/x.parquet"

    return alter


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
def test_sql_in_a_name(
    lake: Path,
    tmp_path: Path,
    command: tuple[str, ...],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A partition column's name that ends its SQL literal is refused with one line; the SQL in the name is not run."""
    monkeypatch.chdir(tmp_path)
    planted = tmp_path / "planted"
    name = f"x', 1) AS DATE) AS a; COPY (SELECT 1) TO '{planted}'; --"
    folder = altered(lake, tmp_path / "lake", "snapshots", with_column(name))
    assert main([*command, "--warehouse", str(folder)]) == 1
    out, complaint = capsys.readouterr()
    (line,) = [line for line in (out + complaint).splitlines() if line.startswith("lagoon: ")]
    assert "is not as we made it" in line
    assert not planted.exists()
    assert not (tmp_path / "page.html").exists()


@pytest.mark.parametrize("engine", ["duckdb", "spark"])
def test_columns_that_are_not_ours(lake: Path, tmp_path: Path, engine: str, capsys: pytest.CaptureFixture[str]) -> None:
    """One line names the columns, with both engines."""
    folder = altered(lake, tmp_path / "lake", "topics", with_column("planted", "string", partition=False))
    assert main(["sql", "--warehouse", str(folder), "--engine", engine, "SELECT count(*) FROM topics"]) == 1
    complaint = capsys.readouterr().err
    assert "is not as we made it: column planted is not ours" in complaint
    assert complaint.count("\n") == 1


@pytest.mark.parametrize("engine", ["duckdb", "spark"])
def test_columns_that_a_later_version_adds_are_null(
    lake: Path, tmp_path: Path, engine: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Columns that a table of an earlier version lacks are null."""

    def alter(action: Action) -> None:
        if "metaData" in action:
            schema = json.loads(action["metaData"]["schemaString"])
            schema["fields"] = [field for field in schema["fields"] if field["name"] != "problem"]
            action["metaData"]["schemaString"] = json.dumps(schema)

    folder = altered(lake, tmp_path / "lake", "consumer_lag", alter)
    statement = "SELECT count(*) > 0 AS n, max(problem) AS problem FROM consumer_lag"
    assert main(["sql", "--warehouse", str(folder), "--engine", engine, "--json", statement]) == 0
    assert json.loads(capsys.readouterr().out) == {"n": True, "problem": None}


@pytest.mark.parametrize(
    "path", ["/etc/x.parquet", "file:///etc/x.parquet", "../topics/x.parquet", "a/../../x.parquet"]
)
def test_files_elsewhere(lake: Path, tmp_path: Path, path: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A log may name any file; those of a table must be in its folder."""

    def alter(action: Action) -> None:
        if "add" in action:
            action["add"]["path"] = path

    folder = altered(lake, tmp_path / "lake", "records", alter)
    assert main(["sql", "--warehouse", str(folder), "SELECT count(*) FROM records"]) == 1
    assert "names a file that does not lie in it" in capsys.readouterr().err


@pytest.mark.parametrize("kind", ["date) AS a; DROP VIEW x; --", {"type": "udt", "class": "x"}, "decimal(1,2); --"])
def test_types_of_a_table_of_others(lake: Path, tmp_path: Path, kind: Any) -> None:
    """Desired states are read from tables with any columns; types that Delta does not have never become SQL."""
    folder = altered(lake, tmp_path / "lake", "topics", with_column("planted", kind, partition=False))
    with pytest.raises(Exception, match=r"cannot be read|does not know type"):
        select_rows(duckdb.connect(), "desired", folder / "topics")


def test_names_of_a_table_of_others(lake: Path, tmp_path: Path) -> None:
    """Names are quoted as columns: one that no file has is a null of that name."""
    name = "a'b\"c"
    folder = altered(lake, tmp_path / "lake", "records", with_column(name, "string", partition=False))
    query = select_rows(duckdb.connect(), "desired", folder / "records").sql
    assert '"a\'b""c"' in query


@pytest.mark.parametrize("path", ["*.parquet", "", ".", "\0x.parquet", "%00x.parquet", "{file}\0.parquet", "{file}%00"])
def test_a_path_that_duckdb_takes_for_another(tmp_path: Path, path: str) -> None:
    """DuckDB expands patterns, reads the files of a folder, and cuts a name at a NUL, or searches for it without an end."""
    folder, connection = tmp_path / "t", duckdb.connect()
    write_deltalake(folder, pa.table({"a": [1, 2]}))
    read = f"SELECT a FROM ({select_rows(connection, 't', folder).sql}) ORDER BY a"
    assert connection.sql(read).fetchall() == [(1,), (2,)]
    (file,) = folder.glob("*.parquet")
    (log,) = (folder / "_delta_log").glob("*.json")
    named = json.dumps(path.format(file=file.name))
    log.write_text(log.read_text().replace(f'"{file.name}"', named))
    with pytest.raises(TableError, match="names a file that is not there"):
        select_rows(connection, "t", folder)


@pytest.mark.parametrize("name", ["a*", "a?", "a[b]", "a[", "a[[]b"])
@pytest.mark.parametrize("connect", [lambda _: duckdb.connect(), confined_to], ids=["notebook", "lagoon sql"])
def test_a_folder_whose_name_is_a_pattern(
    tmp_path: Path, name: str, connect: Callable[[Path], duckdb.DuckDBPyConnection]
) -> None:
    """The rows are those of this folder alone, although the name as a pattern matches copies of the folder."""
    write_deltalake(tmp_path / "ab" / "t", pa.table({"a": [1, 2]}))
    for copy in ("ac", "a[b", name):
        shutil.copytree(tmp_path / "ab", tmp_path / copy)
    with connect(tmp_path / name) as connection:
        read = f"SELECT a FROM ({select_rows(connection, 't', tmp_path / name / 't').sql}) ORDER BY a"
        assert connection.sql(read).fetchall() == [(1,), (2,)]


def test_a_folder_that_deltalake_takes_for_another(tmp_path: Path) -> None:
    """It decodes `%20` in the names of commits, and would read those in the folder with a space."""
    write_deltalake(tmp_path / "a table", pa.table({"a": [1]}))
    folder = Path(shutil.copytree(tmp_path / "a table", tmp_path / "a%20table"))
    with pytest.raises(NeedsSpark, match="folders with % in their names"):
        select_rows(duckdb.connect(), "t", folder)


def test_a_file_that_is_gone_from_a_folder_with_a_pattern_in_its_name(tmp_path: Path) -> None:
    """DuckDB expands the pattern where no file has the name, and would read a file of another folder."""
    write_deltalake(tmp_path / "tables", pa.table({"a": [1]}))
    folder = Path(shutil.copytree(tmp_path / "tables", tmp_path / "table[s]"))
    next(folder.glob("*.parquet")).unlink()
    with pytest.raises(TableError, match="names a file that is not there"):
        select_rows(duckdb.connect(), "t", folder)


@pytest.mark.parametrize(("days", "number"), [((0, 0), 1), ((0, 9), 2), ((2, 9), 0), (None, 0)])
def test_rows_of_a_window(tmp_path: Path, days: tuple[int, int] | None, number: int) -> None:
    """A file may have rows of several times; a window without spans has no rows."""
    table, connection = STATE_TABLES[-1], duckdb.connect()
    times = [datetime(2026, 11, day, tzinfo=UTC) for day in (20, 21)]
    schema = pa.schema([*table.file_schema(), pa.field("snapshot_date", pa.date32())])
    values = {"captured_at": times, "snapshot_date": [times[0].date()] * 2}
    rows = [pa.array(values.get(field.name, [None] * 2), field.type) for field in schema]
    write_deltalake(tmp_path, pa.table(rows, schema.names), partition_by=["snapshot_date"])
    span = days and Span(begin=times[0] + timedelta(days[0]), end=times[0] + timedelta(days[1]))
    query = select_rows(connection, table.name, tmp_path, table, [span] if span else []).sql
    assert connection.sql(f"SELECT count(*) FROM ({query})").fetchall() == [(number,)]


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
@pytest.mark.parametrize("name", ["", "snapshots"], ids=["warehouse", "table"])
def test_a_folder_of_another_user(
    lake: Path,
    tmp_path: Path,
    command: tuple[str, ...],
    name: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A warehouse or table that this user may not enter is named with its owner in one line."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LAGOON_UMASK", "077")  # else that of the closed folder, for all tests after this one
    closed = Path(shutil.copytree(lake, tmp_path / "lake")) / name
    closed.chmod(0)
    with modes_bind():
        assert main([*command, "--warehouse", str(tmp_path / "lake")]) == 1
    out, complaint = capsys.readouterr()
    (line,) = [line for line in (out + complaint).splitlines() if line.startswith("lagoon: ")]
    assert line.startswith(f"lagoon: {closed}: Permission denied: it belongs to user ")


def test_errors_of_deltalake_have_no_colours(lake: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Its text is coloured for a terminal, whose escape sequences would be printed as text."""
    log = shutil.copytree(lake, tmp_path / "lake") / "snapshots" / "_delta_log"
    (log / "_last_checkpoint").symlink_to("_last_checkpoint")
    assert main(["sql", "--warehouse", str(tmp_path / "lake"), "FROM snapshots"]) == 1
    complaint = capsys.readouterr().err
    assert "cannot be read: Kernel error -> Generic LocalFileSystem error ↳ Unable to open file " in complaint


def without_first_checkpoint(log: Path) -> None:
    """Leave the hint at a checkpoint that is gone, as a copy of a part of a log does."""
    DeltaTable(log.parent).create_checkpoint()
    next(log.glob("*.checkpoint.parquet")).unlink()


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (
            without_first_checkpoint,
            r"didn't find any checkpoints: remove {log}/_last_checkpoint, which no reader needs",
        ),
        (lambda log: (log / f"{1:020d}.json").unlink(), r"found gap: 0{{20}}\.json -> 0{{19}}2\.json"),
        (lambda log: (log / f"{1:020d}.json").write_text('{"add": {"pa'), r"Truncated record whilst reading string"),
    ],
    ids=["no checkpoint", "a gap", "a part of a commit"],
)
def test_a_damaged_log(tmp_path: Path, damage: Callable[[Path], object], said: str) -> None:
    """The line has the cause and nothing of the inside of deltalake, also where RUST_BACKTRACE asks for its stack."""
    folder = tmp_path / "records"
    for _ in range(3):
        write_deltalake(folder, pa.table({"number": [1]}), mode="append")
    damage(folder / "_delta_log")
    code = "import sys; from kafka_lagoon.query.duckdb_engine import confined_to; from kafka_lagoon.query.duckdb_tables import *;"
    code += "folder = Path(sys.argv[1]); select_rows(confined_to(folder), 'records', folder)"
    environ = os.environ | {"RUST_BACKTRACE": "1"}
    run = subprocess.run([sys.executable, "-c", code, folder], env=environ, capture_output=True, text=True, check=False)
    prefix = re.escape(f"kafka_lagoon.errors.TableError: table records at {folder} cannot be read: Kernel error: ")
    assert re.fullmatch(
        f"{prefix}.*{said.format(log=re.escape(str(folder / '_delta_log')))}", run.stderr.splitlines()[-1]
    )


@pytest.mark.parametrize("checkpoint", [None, b"", b"PAR1"], ids=["none", "empty", "a part of two"])
def test_a_log_without_its_begin(tmp_path: Path, checkpoint: bytes | None) -> None:
    """Rows of the commits that are gone would be missing silently, where a later commit repeats protocol and schema."""
    folder, name = tmp_path / "records", f"{0:020d}.json"
    for _ in range(3):
        write_deltalake(folder, pa.table({"number": [1]}), mode="append")
    log = folder / "_delta_log"
    created = [line for line in (log / name).read_text().splitlines() if "protocol" in line or "metaData" in line]
    with (log / f"{2:020d}.json").open("a") as commit:
        commit.writelines(f"\n{line}" for line in created)
    (log / name).rename(tmp_path / name)
    if checkpoint is not None:
        parts = ".0000000001.0000000002" if checkpoint else ""
        (log / f"{1:020d}.checkpoint{parts}.parquet").write_bytes(checkpoint)
    with confined_to(folder) as connection:
        with pytest.raises(TableError, match="its log has neither version 0 nor a complete checkpoint"):
            select_rows(connection, "records", folder)
        (tmp_path / name).rename(log / name)
        assert connection.sql(select_rows(connection, "records", folder).sql).fetchall() == [(1,)] * 3
        DeltaTable(folder).create_checkpoint()
        (log / name).unlink()
        assert connection.sql(select_rows(connection, "records", folder).sql).fetchall() == [(1,)] * 3
