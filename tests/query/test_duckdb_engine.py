"""SQL over the tables by DuckDB: exactly the rows that Spark reads; tables that DuckDB would read wrongly are refused."""

import json
import re
import resource
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable, write_deltalake

from kafka_lagoon.errors import ConfigError, TableError
from kafka_lagoon.notebooks import register_duckdb
from kafka_lagoon.query import duckdb_tables
from kafka_lagoon.query.duckdb_engine import (
    Limits,
    columns_of,
    connected,
    create_empty,
    make_available,
    opened,
    quoted_offset,
)
from kafka_lagoon.query.duckdb_tables import NeedsSpark, TableQuery
from kafka_lagoon.query.history import FIRST
from kafka_lagoon.query.statements import tuples
from kafka_lagoon.query.views import NAMES, column_comments
from kafka_lagoon.query.window import Span
from kafka_lagoon.tables.record_tables import RECORDS
from kafka_lagoon.tables.schema import TABLES
from kafka_lagoon.tables.table import Table
from tests.query.duckdb_rows import rows_of
from tests.query.view_columns import FILE, bound
from tests.warehouses import records_like

DAY = date(2026, 11, 21)


def ask(folder: Path, statement: str) -> list[dict[str, Any]]:
    """Return all rows of the result."""
    with rows_of(folder, statement) as rows:
        return pa.Table.from_batches(list(rows.batches), rows.schema).to_pylist()


def refused(folder: Path, statement: str) -> str:
    """Return the error of a statement that is refused or fails, which is one line."""
    with pytest.raises((TableError, ConfigError)) as raised:
        ask(folder, statement)
    assert "\n" not in str(raised.value)
    return str(raised.value)


def make_table(folder: Path, *days: tuple[date, pa.Table], **options: Any) -> Path:
    """Make table `records` as another Delta writer would, with a commit for each day."""
    schema = RECORDS.file_schema().append(pa.field("ingest_date", pa.date32(), nullable=False))
    for day, rows in days:
        dated = rows.append_column(schema.field("ingest_date"), pa.array([day] * len(rows), pa.date32()))
        write_deltalake(folder / "records", dated, mode="append", partition_by=["ingest_date"], **options)
    return folder


def make_empty(folder: Path, tables: Iterable[Table]) -> None:
    """Make tables without files."""
    for table in tables:
        schema = pa.schema([*table.file_schema(), pa.field(table.partition_by, pa.date32(), nullable=False)])
        DeltaTable.create(str(folder / table.name), schema, partition_by=[table.partition_by])


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Records of two days; the folder's name has special characters of file patterns and SQL."""
    folder = tmp_path_factory.mktemp("lake")
    older = records_like("orders", 0, 5, key=b"k", timestamp=datetime(2026, 11, 20, tzinfo=UTC))
    newer = records_like("orders", 5, 3, value=b"\xff")
    make_table(folder / "plain", (date(2026, 11, 20), older), (DAY, newer))
    return (folder / "plain").rename(folder / "a [b] *?{c,d} é 'q'")  # deltalake can read there, but not write


def test_partitions_types_and_null(lake: Path) -> None:
    """Partition columns have their type and value, times are instants in UTC, bytes are bytes."""
    answer = ask(
        lake, "SELECT ingest_date, offset, key, value, timestamp FROM records WHERE offset IN (4, 5) ORDER BY offset"
    )
    assert answer == [
        {
            "ingest_date": date(2026, 11, 20),
            "offset": 4,
            "key": b"k",
            "value": None,
            "timestamp": datetime(2026, 11, 20, tzinfo=UTC),
        },
        {"ingest_date": DAY, "offset": 5, "key": None, "value": b"\xff", "timestamp": None},
    ]


def test_a_filter_on_the_day_opens_no_other_file(lake: Path, tmp_path: Path) -> None:
    """A broken file of another day is not read; without the filter it is."""
    folder = shutil.copytree(lake, tmp_path / "lake")
    (broken,) = (folder / "records" / "ingest_date=2026-11-20").glob("*.parquet")
    broken.write_bytes(b"PAR1 no more")
    assert ask(folder, f"SELECT count(*) AS n FROM records WHERE ingest_date = '{DAY}'") == [{"n": 3}]
    assert "20" in refused(folder, "SELECT sum(partition) FROM records")


def test_joins_are_planned_by_the_numbers_of_rows(lake: Path) -> None:
    """DuckDB knows how many rows the files of a table have: else it would build joins on the largest table."""
    with duckdb.connect() as connection:
        make_available(connection, lake, {"records"})
        ((_, plan),) = connection.execute("EXPLAIN SELECT partition FROM records").fetchall()
    assert re.findall(r"~(\S+) rows?", plan)[-1] == "8"


def test_files_that_are_too_many_to_count(lake: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing but the plan depends on the footers that are read before a statement."""
    statement = "SELECT * FROM records ORDER BY topic, partition, offset"
    counted = ask(lake, statement)
    monkeypatch.setattr("kafka_lagoon.query.duckdb_tables._MOST_COUNTED", 0)
    assert ask(lake, statement) == counted
    assert len(counted) == 8


def test_columns_that_a_file_leaves_out_are_null(lake: Path, tmp_path: Path) -> None:
    """Writers leave out columns that are null in every row, also in the first file of a table."""
    folder = shutil.copytree(lake, tmp_path / "lake")
    for file in (folder / "records").glob("*/*.parquet"):
        pq.write_table(pq.read_table(file, partitioning=None).drop_columns(["producer_id", "headers"]), file)
    answer = ask(folder, "SELECT count(*) AS n, count(producer_id) AS ids, count(headers) AS headers FROM records")
    assert answer == [{"n": 8, "ids": 0, "headers": 0}]


def test_times_that_spark_writes_as_int96(lake: Path, tmp_path: Path) -> None:
    """OPTIMIZE by Spark stores times as INT96; they are the same instants."""
    folder = shutil.copytree(lake, tmp_path / "lake")
    for file in (folder / "records").glob("*/*.parquet"):
        pq.write_table(pq.read_table(file, partitioning=None), file, use_deprecated_int96_timestamps=True)
    answer = ask(folder, "SELECT DISTINCT timestamp FROM records WHERE timestamp IS NOT NULL")
    assert answer == [{"timestamp": datetime(2026, 11, 20, tzinfo=UTC)}]


@pytest.mark.long
def test_every_table_and_view_without_rows(tmp_path: Path) -> None:
    """A table without files has its columns in Delta's types, and so have the views over it; all columns have comments.

    `lagoon sql describe` shows the same columns.
    """
    make_empty(tmp_path, TABLES)
    with opened(tmp_path, NAMES) as ask_all:
        for name in NAMES:
            rows = ask_all(f"FROM {name}")
            assert column_comments(name).keys() >= set(rows.schema.names)
            assert rows.schema == columns_of(name)
            assert sum(batch.num_rows for batch in rows.batches) == 0


def test_columns_of_views_are_those_that_duckdb_binds() -> None:
    """`python -m tests.query.view_columns` writes them."""
    assert FILE.read_text("utf-8") == bound()


@pytest.mark.parametrize(("version", "is_known"), [("2.0.7", True), ("2.1.0", False), ("2.01.0", False)])
def test_another_duckdb_binds_views_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str, is_known: bool
) -> None:
    """The types of sums and literals may be others in it than those that are known."""
    make_empty(tmp_path, TABLES)
    monkeypatch.setattr(duckdb, "__version__", version)
    connection = MagicMock()
    create_empty(connection, {"lag_by_group"})
    executed = [call.args[0] for call in connection.execute.call_args_list]
    assert is_known is not any("WITH NO DATA" in one for one in executed)
    with rows_of(tmp_path, "FROM lag_by_group") as rows:
        assert rows.schema == columns_of("lag_by_group")


def test_tables_are_opened_again_in_the_same_connection(lake: Path, tmp_path: Path) -> None:
    """Tables that were opened before are gone, and files that were committed in between are there."""
    folder = shutil.copytree(lake, tmp_path / "lake")
    with connected(folder) as open_tables:
        ask_first = open_tables({"records"}, None)
        assert tuples(ask_first("SELECT count(*) FROM records")) == [(8,)]
        make_table(folder, (DAY, records_like("orders", 8, 1)))
        ask_nothing = open_tables(set(), None)
        with pytest.raises(TableError, match="records"):
            ask_nothing("FROM records")
        ask_again = open_tables({"records"}, [Span(begin=FIRST, end=FIRST)])
        assert tuples(ask_again("SELECT count(*) FROM records")) == [(9,)]


def test_tables_that_are_not_named_are_not_opened(lake: Path, tmp_path: Path) -> None:
    """A warehouse with one table answers queries of that table; a query of a missing table names it."""
    assert ask(lake, "SELECT count(*) AS n FROM records") == [{"n": 8}]
    assert ask(tmp_path / "nowhere", "SELECT 1 AS one") == [{"one": 1}]
    assert refused(lake, "FROM consumer_lag") == (
        f"there is no table consumer_lag at {lake}/consumer_lag: no job has written there yet, or the tables are elsewhere"
    )
    assert "there is no table record_ranges" in refused(lake, "FROM records_now")


def test_a_table_that_a_later_version_added_has_no_rows_yet(lake: Path, tmp_path: Path) -> None:
    """The table is empty until a run of that version opens the warehouse; tables of the first version are required."""
    shutil.copytree(lake, tmp_path / "older")
    shutil.rmtree(tmp_path / "older" / "acls", ignore_errors=True)
    assert ask(tmp_path / "older", "SELECT count(*) AS n, count(principal) AS known FROM acls") == [
        {"n": 0, "known": 0}
    ]
    assert {table.name for table in TABLES if not table.is_optional} >= {"snapshots", "consumer_lag", "records"}
    assert {"acls", "configs", "producers"} <= {table.name for table in TABLES if table.is_optional}


def test_snapshots_are_read_before_what_they_name(monkeypatch: pytest.MonkeyPatch) -> None:
    """`snapshots` is written last and read first, so a run that publishes meanwhile is seen completely or not at all."""
    opened: list[str] = []
    monkeypatch.setattr(
        "kafka_lagoon.query.duckdb_engine.select_rows",
        lambda _, name, *__: opened.append(name) or TableQuery("SELECT 1 AS cluster"),
    )
    with pytest.raises(TableError), rows_of(Path("any"), "FROM lag_by_group, records_now"):
        pass
    assert opened == ["snapshots", "consumer_groups", "consumer_lag", "records", "record_ranges"]


def test_rows_come_before_all_are_read() -> None:
    """A result that would take years returns its first rows at once, in batches that fit into memory, and can be closed."""
    with rows_of(Path("any"), "FROM range(1_000_000_000_000) AS a, range(1_000_000) AS b") as rows:
        assert 0 < next(rows.batches).num_rows <= 2048


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        ("SELECT nope FROM records", r'Binder Error: Referenced column "nope" not found .* Candidate bindings: '),
        ("SELECT FROM", "Parser Error: "),
        ("FROM record", r"there is no table or view record \(did you mean records\?\)"),
        ("SELECT CAST(topic AS INT) FROM records", "Conversion Error: Could not convert string 'orders' to INT32"),
        ("SELECT 1; SELECT 2", "one statement at a time"),
        ("DELETE FROM records", "runs SELECT and other statements that read"),
        ("FROM read_parquet('s3://nowhere/x')", "lagoon sql reads the files of the warehouse only$"),
    ],
)
def test_a_wrong_statement_is_one_line(lake: Path, statement: str, said: str) -> None:
    """The line has DuckDB's suggestions; nothing is fetched from a network."""
    assert re.search(said, refused(lake, statement))


def test_limits_hold_while_tables_are_opened(new_tables: Path) -> None:
    """Views that are computed once are rows, too: they take no longer than allowed, and spill into a private folder."""
    with (
        pytest.raises(TableError, match="timeout_ms = 1"),
        opened(new_tables, {"topology_changes"}, Limits(timeout_ms=1)),
    ):
        pytest.fail("it was opened in a millisecond")
    names, limits = {"day_snapshots"}, Limits(memory_mb=300, threads=1, spill_mb=7)
    settings = ("memory_limit", "threads", "max_temp_directory_size", "temp_directory")
    values = ", ".join(f"current_setting('{name}')" for name in settings)
    with opened(new_tables, names, limits) as ask:
        ((memory, threads, spill, folder),) = tuples(ask(f"SELECT {values}"))
        assert (memory, threads, spill) == ("300.0 MiB", 1, "7.0 MiB")
        assert Path(folder).stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize(
    ("limits", "cure"),
    [
        (Limits(memory_mb=2, threads=1), "raise sql.memory_mb"),
        (Limits(memory_mb=20, threads=1, spill_mb=1), "raise sql.spill_mb, let TMPDIR name a folder with more space"),
    ],
)
def test_a_query_that_needs_more_than_it_may_have_names_the_cure(limits: Limits, cure: str) -> None:
    """DuckDB advises SET, which is refused. What it may spill is bounded by the setting, or by the space of the disk."""
    statement = "SELECT i, hash(i) AS h FROM range(3_000_000) AS t (i) ORDER BY h"
    with pytest.raises(TableError) as spent, opened(Path("any"), (), limits) as ask:
        tuples(ask(statement))
    assert re.fullmatch(rf"Out of Memory Error: .*\): {cure}, or read fewer rows", str(spent.value))


_IN_LITTLE_ADDRESS_SPACE = """
import sys
from pathlib import Path
from kafka_lagoon.errors import TableError
from kafka_lagoon.query.duckdb_engine import opened
from kafka_lagoon.query.statements import tuples
try:
    with opened(Path(sys.argv[1]), ["records"]) as ask:
        print(*tuples(ask("SELECT count(*) FROM records")))
except TableError as error:
    print(error)
"""


@pytest.mark.parametrize(
    ("limit_mb", "printed"),
    [
        (1500, r"the address space of the process is limited to 1536000 KiB, .* needs \d+: raise `ulimit -v`.*\n"),
        (8000, r"\(3,\)\n"),
    ],
)
def test_too_little_address_space_is_one_line(tmp_path: Path, limit_mb: int, printed: str) -> None:
    """A thread of deltalake that cannot start would end the process without a word, or let it wait for ever."""
    folder = make_table(tmp_path, (DAY, records_like("t", 0, 3)))
    child = subprocess.run(
        [sys.executable, "-c", _IN_LITTLE_ADDRESS_SPACE, str(folder)],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit_mb << 20, limit_mb << 20)),
    )
    assert re.fullmatch(printed, child.stdout)


def test_an_error_in_the_midst_of_the_rows_is_one_line(tmp_path: Path) -> None:
    """Rows are read on demand, so an error may come after the first row."""
    folder = make_table(tmp_path, (DAY, records_like("t", 0, 50_000)))
    statement = "SELECT CAST(CASE WHEN offset = 40000 THEN 'x' ELSE '1' END AS INT) FROM records"
    assert refused(folder, statement).startswith("Conversion Error: ")


@pytest.mark.parametrize(
    ("statement", "wanted"),
    [
        ("SELECT offset, max(Offset) FROM r", 'SELECT "offset", max("Offset") FROM r'),
        ("SELECT r.offset FROM r LIMIT 1 OFFSET 2", 'SELECT r."offset" FROM r LIMIT 1 OFFSET 2'),
        ("SELECT 'é offset', offset", "SELECT 'é offset', \"offset\""),
        (
            'SELECT "offset", `offset` -- offset\nFROM r OFFSET (1)',
            'SELECT "offset", `offset` -- offset\nFROM r OFFSET (1)',
        ),
        ("SELECT offsets", "SELECT offsets"),
        ("ORDER BY offset", 'ORDER BY "offset"'),
    ],
)
def test_the_column_offset_needs_no_quotes(statement: str, wanted: str) -> None:
    """DuckDB reserves the word for LIMIT; Spark does not, and records have a column of that name."""
    assert quoted_offset(statement) == wanted


def protocol_of(folder: Path) -> Iterator[tuple[Path, list[dict[str, Any]]]]:
    for file in (folder / "records" / "_delta_log").glob("*.json"):
        yield file, [json.loads(line) for line in file.read_text().splitlines()]


@pytest.mark.parametrize(
    "feature", ["deletionVectors", "columnMapping", "typeWidening", "notYetThought", "catalogManaged"]
)
def test_what_duckdb_would_read_wrongly_is_refused(lake: Path, tmp_path: Path, feature: str) -> None:
    """Deleted rows would come back, and renamed columns would be null: such a table is only read by Spark."""
    folder = shutil.copytree(lake, tmp_path / "lake")
    for file, actions in protocol_of(folder):
        for action in actions:
            if "protocol" in action:
                features = {"readerFeatures": [feature], "writerFeatures": [feature]}
                action["protocol"] = {"minReaderVersion": 3, "minWriterVersion": 7, **features}
            if "metaData" in action and feature == "columnMapping":
                action["metaData"]["configuration"]["delta.columnMapping.mode"] = "name"
        file.write_text("\n".join(map(json.dumps, actions)))
    named = {"catalogManaged": "catalog-managed", "columnMapping": "Column mapping|columnMapping"}.get(feature, feature)
    # Deltalake refuses mapped columns without names of their own as a fault of the log.
    with pytest.raises(TableError if feature == "columnMapping" else NeedsSpark, match=named) as raised:
        ask(folder, "FROM records")
    assert "\n" not in str(raised.value)


def test_files_outside_of_their_partitions_folder_are_refused(lake: Path, tmp_path: Path) -> None:
    """A log may name any file, as that of a shallow clone does; Spark is used only if the user asks for it."""
    folder = shutil.copytree(lake, tmp_path / "lake")
    for file, actions in protocol_of(folder):
        for action in actions:
            if "add" in action:
                action["add"]["path"] = (lake / "records" / action["add"]["path"]).as_uri()
        file.write_text("\n".join(map(json.dumps, actions)))
    with pytest.raises(TableError, match="names a file that does not lie in it") as raised:
        ask(folder, "FROM records")
    assert not isinstance(raised.value, NeedsSpark)


@pytest.mark.long
def test_a_connection_of_a_notebook(new_tables: Path) -> None:
    """`register_duckdb` registers names in any connection, and a repeated call shows new rows."""
    with duckdb.connect() as connection:
        register_duckdb(connection, str(new_tables))
        assert connection.sql("SELECT count(*) FROM records_now").fetchall() == [(0,)]
        make_table(new_tables, (DAY, records_like("orders", 0, 2)))
        register_duckdb(connection, new_tables.as_uri())
        assert connection.sql("SELECT count(*) FROM records_now").fetchall() == [(2,)]
        with pytest.raises(TableError, match=r"s3a://b/w: DuckDB reads folders of this machine"):
            register_duckdb(connection, "s3a://b/w")


def test_names_of_a_notebook_in_upper_case(new_tables: Path) -> None:
    """Temporary tables and views of the connection are replaced however their names are spelled."""
    with duckdb.connect() as connection:
        connection.execute('CREATE TEMP TABLE "Snapshots" (a INT); CREATE TEMP VIEW SNAPSHOTS_NOW AS SELECT 1')
        make_available(connection, new_tables, {"snapshots_now"})
        assert connection.sql("SELECT count(slot) FROM snapshots").fetchall() == [(0,)]
        assert "slot" in connection.sql("FROM snapshots_now").columns


@pytest.fixture
def new_tables(tmp_path: Path) -> Path:
    """Make all tables, without rows."""
    for table in TABLES:
        schema = pa.schema([*table.file_schema(), pa.field(table.partition_by, pa.date32(), nullable=False)])
        DeltaTable.create(str(tmp_path / table.name), schema, partition_by=[table.partition_by])
    return tmp_path


def test_a_type_that_this_version_does_not_know() -> None:
    """Types of other writers, also nested ones, are translated to DuckDB's."""
    entry = {"type": "map", "keyType": "string", "valueType": {"type": "array", "elementType": "decimal(10,2)"}}
    assert duckdb_tables._type(entry) == "MAP(VARCHAR, decimal(10,2)[])"


def test_long_statements_are_read_once() -> None:
    """The rest of the statement is not copied for each of its words: 80,000 numbers in brackets took 43 s."""
    copied = list[int]()

    class Raw(bytes):
        """Bytes that note how many of them are copied."""

        def __getitem__(self, key: Any) -> Any:
            copied.append(len(part := super().__getitem__(key)))
            return part

    class Statement(str):
        """A statement whose bytes are noted."""

        __slots__ = ()

        def encode(self, *_: Any) -> Raw:
            return Raw(super().encode())

    numbers = ", ".join(map(str, range(500)))
    statement = Statement(f"SELECT offset FROM lag_now WHERE partition IN ({numbers})")
    assert quoted_offset(statement) == f'SELECT "offset" FROM lag_now WHERE partition IN ({numbers})'
    assert sum(copied) < 10 * len(statement)


def test_a_place_for_spilled_rows_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A command that reads tables says so in one line, as of a pod without /tmp."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "gone"))
    with (
        pytest.raises(TableError, match=r"^temporary files: No such file or directory: let TMPDIR name"),
        connected(tmp_path),
    ):
        pass
