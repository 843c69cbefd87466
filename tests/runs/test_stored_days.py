"""Maintenance stores the changes of days that are over; views show the same rows with and without them, in every engine."""

import random
import shutil
from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from deltalake import DeltaTable, TableFeatures
from pyspark.sql import SparkSession

from kafka_lagoon.cli.maintain import maintained_line
from kafka_lagoon.delta.maintain import Files, Maintained, MaintainOptions
from kafka_lagoon.delta.open_warehouse import at_path
from kafka_lagoon.delta.warehouse import Warehouse
from kafka_lagoon.errors import TableError
from kafka_lagoon.job_settings import SqlSettings
from kafka_lagoon.query import duckdb_engine, spark_engine
from kafka_lagoon.query.history import first_needed
from kafka_lagoon.query.statements import tuples
from kafka_lagoon.query.window import Span
from kafka_lagoon.runs import stored_days
from kafka_lagoon.runs.maintain import maintain_table
from kafka_lagoon.runs.stored_days import StoredDays, store_days
from kafka_lagoon.tables.schema import STORED_CHANGES
from tests.clock import clock_at
from tests.query.views.test_changes_by_day import HOURS_APART, drawn, written
from tests.query.views.worked_examples import lake_of, lake_of_text, read_examples

pytestmark = pytest.mark.spark
FIRST = date(2026, 11, 20)
DAYS = 4
SNAPSHOTS = DAYS * 24 // HOURS_APART
LAST = FIRST + timedelta(days=DAYS - 1)
AFTER = clock_at(datetime(LAST.year, LAST.month, LAST.day, 12, tzinfo=UTC) + timedelta(days=1))
CHANGES = "SELECT * FROM topology_changes ORDER BY ALL"


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A warehouse with a random history of four days."""
    folder = tmp_path_factory.mktemp("stored")
    examples = read_examples(written(drawn(random.Random(7))[:SNAPSHOTS], folder / "drawn.txt"))
    return lake_of(folder / "lake", examples)


@pytest.fixture
def lake(history: Path, tmp_path: Path) -> Path:
    """A copy of the warehouse."""
    return Path(shutil.copytree(history, tmp_path / "lake"))


@pytest.fixture(scope="module")
def maintained(spark: SparkSession, history: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The warehouse with all days stored."""
    lake = Path(shutil.copytree(history, tmp_path_factory.mktemp("maintained") / "lake"))
    assert store_days(opened(spark, lake), "stored_changes", SqlSettings(), AFTER) == StoredDays(stored=DAYS)
    return lake


@pytest.fixture
def stored_lake(maintained: Path, tmp_path: Path) -> Path:
    """A copy of it."""
    return Path(shutil.copytree(maintained, tmp_path / "lake"))


def opened(spark: SparkSession, lake: Path) -> Warehouse:
    """Open it as maintenance does."""
    return at_path(spark, str(lake))


def rows_of(lake: Path, statement: str = CHANGES) -> list[tuple[Any, ...]]:
    """Return rows by DuckDB."""
    with duckdb_engine.opened(lake, ("topology_changes", "change_days", "stored_changes", "day_snapshots")) as ask:
        return tuples(ask(statement))


def remove_snapshots(lake: Path, numbers: Sequence[int], day: date, cluster: str = "drawn") -> None:
    """Remove some of the snapshots of a day, as retention does."""
    table = DeltaTable(lake / "snapshots")
    of_day = pl.scan_delta(str(lake / "snapshots")).filter(pl.col("snapshot_date") == day, pl.col("cluster") == cluster)
    ids = of_day.sort("captured_at").collect()
    gone = [ids["snapshot_id"][number] for number in numbers]
    table.delete(f"snapshot_id IN ({', '.join(repr(one) for one in gone)})")


def days_computed(lake: Path) -> set[date]:
    """Return the days whose snapshots are still compared."""
    return {day for (day,) in rows_of(lake, "SELECT DISTINCT day FROM day_snapshots")}


def test_stored_changes_are_the_computed_ones(spark: SparkSession, lake: Path) -> None:
    """All days that are over are stored, in one file each; DuckDB, deltalake and Polars see the same rows."""
    computed = rows_of(lake)
    assert len(computed) > SNAPSHOTS
    warehouse = opened(spark, lake)
    assert store_days(warehouse, "stored_changes", SqlSettings(), AFTER, dry_run=True) == StoredDays(stored=DAYS)
    assert len(days_computed(lake)) == DAYS
    assert store_days(warehouse, "stored_changes", SqlSettings(), AFTER) == StoredDays(stored=DAYS)
    assert days_computed(lake) == set()
    assert rows_of(lake) == computed
    table = DeltaTable(lake / "stored_changes")
    assert len(table.file_uris()) == DAYS
    stored = table.to_pyarrow_table()
    assert stored.num_rows == len(computed) + DAYS
    assert pc.sum(stored["snapshots"]).as_py() == SNAPSHOTS
    is_day = pc.is_null(stored["change_type"])
    of_days, changes = stored.filter(is_day), stored.filter(pc.invert(is_day))
    for name in ("previous_snapshot_id", "entity_type", "entity", "is_proven"):
        assert (of_days[name].null_count, changes[name].null_count) == (DAYS, 0)
    assert (of_days["previous_captured_at"].null_count, changes["previous_captured_at"].null_count) == (1, 0)
    frame = pl.scan_delta(str(lake / "stored_changes")).filter(pl.col("change_type") == "moved_back").collect()
    assert len(frame) == sum(row[7] == "moved_back" for row in computed) > 0
    assert store_days(warehouse, "stored_changes", SqlSettings(), AFTER) == StoredDays()


@pytest.mark.proof
@pytest.mark.timeout(1200)
def test_stored_changes_in_spark(spark: SparkSession, lake: Path) -> None:
    """Spark shows the rows that DuckDB computed, and still computes the days that are not stored."""
    computed, warehouse = rows_of(lake), opened(spark, lake)
    noon = clock_at(datetime(LAST.year, LAST.month, LAST.day, 12, tzinfo=UTC))
    store_days(warehouse, "stored_changes", SqlSettings(), noon)
    with spark_engine.opened(warehouse, ("topology_changes",)) as ask:
        assert sorted(map(repr, tuples(ask("SELECT * FROM topology_changes")))) == sorted(map(repr, computed))


@pytest.mark.proof
def test_states_of_days_in_spark(spark: SparkSession, stored_lake: Path) -> None:
    """Spark and DuckDB see the same days, of which none is left to compute."""
    states = "SELECT * FROM change_days"
    with spark_engine.opened(opened(spark, stored_lake), ("change_days", "day_snapshots")) as ask:
        assert sorted(tuples(ask(states))) == sorted(rows_of(stored_lake, states))
        assert tuples(ask("SELECT * FROM day_snapshots")) == []


def test_the_first_day_needs_no_other(spark: SparkSession, lake: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The whole history is not opened in search of snapshots before the first one."""
    tried, real = list[Any](), duckdb_engine.make_available
    monkeypatch.setattr(duckdb_engine, "make_available", lambda *given: tried.append(given[3:]) or real(*given))  # type: ignore[func-returns-value]
    assert store_days(opened(spark, lake), "stored_changes", SqlSettings(), AFTER).stored == DAYS
    assert len(tried) == 2  # the days, and their snapshots


def test_today_is_left_to_the_view(spark: SparkSession, lake: Path) -> None:
    """Snapshots of a day that is not over may follow."""
    noon = clock_at(datetime(LAST.year, LAST.month, LAST.day, 12, tzinfo=UTC))
    before = rows_of(lake)
    assert store_days(opened(spark, lake), "stored_changes", SqlSettings(), noon) == StoredDays(stored=DAYS - 1)
    assert days_computed(lake) == {LAST}
    assert rows_of(lake) == before


def test_days_that_have_lost_snapshots(spark: SparkSession, stored_lake: Path) -> None:
    """They and the days after them are computed until they are stored again; those without any snapshot are removed."""
    warehouse, day = opened(spark, stored_lake), FIRST + timedelta(days=2)
    last_of_day = 24 // HOURS_APART - 1
    remove_snapshots(stored_lake, [1, last_of_day], day)
    remove_snapshots(stored_lake, range(last_of_day + 1), FIRST)
    shutil.copytree(stored_lake, stored_lake.with_name("computed"))
    DeltaTable(stored_lake.with_name("computed") / "stored_changes").delete()
    computed = rows_of(stored_lake.with_name("computed"))
    assert days_computed(stored_lake) == {FIRST + timedelta(days=1), day, LAST}
    assert rows_of(stored_lake) == computed
    done = store_days(warehouse, "stored_changes", SqlSettings(), AFTER)
    assert done == StoredDays(stored=3, removed=1)
    assert days_computed(stored_lake) == set()
    assert rows_of(stored_lake) == computed
    assert len(DeltaTable(stored_lake / "stored_changes").file_uris()) == DAYS - 1


def test_a_day_of_which_the_day_before_has_changed(spark: SparkSession, stored_lake: Path) -> None:
    """It is looked at, and stays as it is if its first snapshot is still compared with the same one."""
    warehouse, day = opened(spark, stored_lake), FIRST + timedelta(days=1)
    remove_snapshots(stored_lake, [1], day)
    assert store_days(warehouse, "stored_changes", SqlSettings(), AFTER, dry_run=True) == StoredDays(stored=1)
    assert store_days(warehouse, "stored_changes", SqlSettings(), AFTER) == StoredDays(stored=1)


@pytest.mark.proof
def test_a_day_that_is_compared_with_one_long_before(spark: SparkSession, tmp_path: Path) -> None:
    """Snapshots in between did not collect a table: the day is stored again when that first snapshot is gone."""
    text = """== gap
snapshots | captured_at | topics | groups
1 | 20 01:30 | 1 | 0
2 | 20 02:30 | 1 | 0
3 | 21 01:30 | 0 | 0
4 | 22 01:30 | 0 | 0
5 | 23 01:30 | 1 | 0

coverage | api | requests | visibility | not_collected_because | skipped_table
1 | Metadata | 1 | complete | - | -
2 | Metadata | 1 | complete | - | -
3 | Metadata | 0 | - | SKIPPED | topics
3 | ListGroups | 1 | complete | - | -
4 | Metadata | 0 | - | SKIPPED | topics
4 | ListGroups | 1 | complete | - | -
5 | Metadata | 1 | complete | - | -

topics | topic | topic_id | partitions
1 | a | A | 3
2 | a | A | 4
5 | a | A | 5
"""
    lake = lake_of_text(tmp_path, text)
    warehouse, before = opened(spark, lake), rows_of(lake)
    store_days(warehouse, "stored_changes", SqlSettings(), AFTER)
    assert rows_of(lake) == before
    remove_snapshots(lake, [1], FIRST, "gap")
    left = rows_of(lake)
    assert left != before
    store_days(warehouse, "stored_changes", SqlSettings(), AFTER)
    assert days_computed(lake) == set()
    assert rows_of(lake) == left


def test_rows_of_another_version(spark: SparkSession, stored_lake: Path) -> None:
    """They are not shown, and are replaced."""
    warehouse = opened(spark, stored_lake)
    table = DeltaTable(stored_lake / "stored_changes")
    table.update({"state": "concat('0', state)", "entity": "'wrong'"})
    assert len(days_computed(stored_lake)) == DAYS
    assert not [row for row in rows_of(stored_lake) if "wrong" in row]
    assert store_days(warehouse, "stored_changes", SqlSettings(), AFTER).stored == DAYS
    assert days_computed(stored_lake) == set()


@pytest.mark.proof
def test_a_run_stores_some_weeks(spark: SparkSession, lake: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A warehouse with years without stored changes has the latest ones first, and the others by and by.

    The first day that is stored is looked at again, because the one before it is not stored.
    """
    monkeypatch.setattr(stored_days, "_MOST_DAYS", 2)
    warehouse = opened(spark, lake)
    left = []
    for _ in range(3):
        store_days(warehouse, "stored_changes", SqlSettings(), AFTER)
        left.append(sorted(days_computed(lake)))
    assert [len(days) for days in left] == [2, 1, 0]
    assert left[0][-1] == LAST - timedelta(days=2)


@pytest.mark.proof
def test_others_write_the_day(spark: SparkSession, lake: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A commit in between is seen, and the rows of the day are replaced with it; too many are an error without rows."""
    warehouse = opened(spark, lake)
    before = rows_of(lake)
    real = type(warehouse.kernel).live_files
    times = iter([True])

    def live_files(kernel: Any, state: Any, wanted: Any) -> Any:
        files = real(kernel, state, wanted)
        if next(times, False):
            store_days(warehouse, "stored_changes", SqlSettings(), AFTER)
        return files

    monkeypatch.setattr(type(warehouse.kernel), "live_files", live_files)
    monkeypatch.setattr(type(warehouse), "exclusively", lambda *_: _Unlocked())
    assert store_days(warehouse, "stored_changes", SqlSettings(), AFTER).stored == DAYS
    assert rows_of(lake) == before
    assert len(DeltaTable(lake / "stored_changes").file_uris()) == DAYS
    monkeypatch.setattr("kafka_lagoon.delta.replace_files.ATTEMPTS", 0)
    remove_snapshots(lake, [1], FIRST)
    files = set(lake.rglob("stored_changes/*=*/*.parquet"))
    with pytest.raises(TableError, match="written by others"):
        store_days(warehouse, "stored_changes", SqlSettings(), AFTER)
    assert set(lake.rglob("stored_changes/*=*/*.parquet")) == files


class _Unlocked:
    def __enter__(self) -> None:
        """Hold nothing."""

    def __exit__(self, *_: object) -> None:
        """Release nothing."""


def test_days_that_duckdb_cannot_compare(spark: SparkSession, lake: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The table's line has the reason, later days are stored, and queries compute the others; so do days of a long run."""
    before, warehouse, real = rows_of(lake), opened(spark, lake), stored_days._rows
    monkeypatch.setattr(stored_days, "_AT_ONCE", 1)

    def rows(ask: Any, of: Any, day: date) -> pa.Table:
        if day < LAST:
            raise TableError("Out of Memory Error")
        return real(ask, of, day)

    monkeypatch.setattr(stored_days, "_rows", rows)
    done = maintain_table(warehouse, "stored_changes", MaintainOptions(), AFTER, sql=SqlSettings())
    day = LAST - timedelta(days=1)
    expected = f"stored_changes: 1 day stored; {day} to {day} are not stored: Out of Memory Error"
    assert maintained_line(done, MaintainOptions()) == expected
    assert rows_of(lake) == before
    monkeypatch.setattr(stored_days, "_LONGEST_S", -1)
    assert store_days(warehouse, "stored_changes", SqlSettings(), AFTER) == StoredDays()


@pytest.mark.parametrize("missing", ["duckdb", "folder", "readable"])
def test_where_duckdb_does_not_read(
    spark: SparkSession, lake: Path, monkeypatch: pytest.MonkeyPatch, missing: str
) -> None:
    """Nothing is stored without DuckDB, elsewhere than in a folder, and of tables that only Spark reads."""
    warehouse = opened(spark, lake)
    if missing == "duckdb":
        monkeypatch.setattr(stored_days, "find_spec", lambda _: None)
    elif missing == "folder":
        monkeypatch.setattr(type(warehouse.kernel.storage), "local", lambda *_: None)
    else:
        vectors = [TableFeatures.DeletionVectors]
        DeltaTable(lake / "topics").alter.add_feature(vectors, allow_protocol_versions_increase=True)
    assert store_days(warehouse, "stored_changes", SqlSettings(), AFTER) == StoredDays()
    assert DeltaTable(lake / "stored_changes").to_pyarrow_table().num_rows == 0


def test_maintenance_stores_and_says_so(spark: SparkSession, lake: Path) -> None:
    """The table's line names the days; a warehouse of an earlier version gets the table."""
    shutil.rmtree(lake / "stored_changes")
    warehouse = opened(spark, lake)
    options = MaintainOptions(dry_run=True)
    would = maintain_table(warehouse, "stored_changes", options, AFTER, sql=SqlSettings())
    assert maintained_line(would, options) == f"stored_changes: {DAYS} days would be stored"
    assert not (lake / "stored_changes").exists()
    done = maintain_table(warehouse, "stored_changes", MaintainOptions(), AFTER, sql=SqlSettings())
    assert maintained_line(done, MaintainOptions()) == f"stored_changes: {DAYS} days stored"
    assert days_computed(lake) == set()
    again = maintain_table(warehouse, "stored_changes", MaintainOptions(), AFTER, sql=SqlSettings())
    assert again == Maintained(table="stored_changes", days=0, before=Files(), after=Files(), removed=Files())


@pytest.mark.proof
def test_two_clusters(spark: SparkSession, tmp_path: Path) -> None:
    """The file of a day has both; what is right of one stays when the other is stored again, or is gone."""
    text = written(drawn(random.Random(8))[:SNAPSHOTS], tmp_path / "drawn.txt").read_text("utf-8")
    lake = lake_of_text(tmp_path, f"{text}\n{text.replace('== drawn', '== other')}")
    before, warehouse = rows_of(lake), opened(spark, lake)
    store_days(warehouse, "stored_changes", SqlSettings(), AFTER)
    assert rows_of(lake) == before
    of_a_day = range(24 // HOURS_APART)
    remove_snapshots(lake, of_a_day, FIRST + timedelta(days=1), "other")
    remove_snapshots(lake, [1], LAST, "other")
    left = rows_of(lake)
    assert len(left) < len(before)
    assert store_days(warehouse, "stored_changes", SqlSettings(), AFTER).stored == 3
    assert days_computed(lake) == set()
    assert rows_of(lake) == left


THROUGHPUT = "SELECT * FROM topic_throughput ORDER BY ALL"


@pytest.fixture
def busy_lake(tmp_path: Path) -> Path:
    """A warehouse with a topic that is created on the third day, an end that is unknown, and snapshots that begin at midnight."""
    begins = [(number, f"{FIRST.day + number // 3} {number % 3 * 8:02}:00") for number in range(DAYS * 3)]
    heads = (
        "snapshots | captured_at",
        "partitions | topic | topic_id | partition | leader_id",
        "partition_offsets | topic | topic_id | partition | log_start_offset | high_watermark | read_at",
        "log_dirs | broker_id | log_dir | topic | topic_id | partition | size_bytes | is_future",
    )
    rows = [[f"{number} | {begin}" for number, begin in begins], [], [], []]
    for number, begin in begins:
        for topic, partition in (("a", 0), ("a", 1), *([("b", 0)] if number > 6 else [])):
            of, end = f"{number} |", f"{topic} | {topic.upper()} | {partition}"
            rows[1].append(f"{of} {end} | {partition}")
            rows[2].append(
                f"{of} {end} | 0 | {'-' if (number, partition) == (5, 1) else number * number * 7} | {begin}:01"
            )
            rows[3].append(f"{of} {partition} | /d | {end} | {number * number * 700} | false")
    text = "\n\n".join("\n".join([head, *of_table]) for head, of_table in zip(heads, rows, strict=True))
    return lake_of_text(tmp_path, f"== busy\n{text}\n")


def throughput_of(lake: Path, statement: str = THROUGHPUT) -> list[tuple[Any, ...]]:
    """Return rows by DuckDB."""
    names = ("topic_throughput", "throughput_days", "stored_throughput", "unstored_snapshots", "partition_throughput")
    with duckdb_engine.opened(lake, names) as ask:
        return tuples(ask(statement))


def test_stored_throughput_is_the_computed_one(spark: SparkSession, busy_lake: Path) -> None:
    """All days that are over are stored; DuckDB, deltalake and Polars see the same rows, and each null has its reason."""
    computed, warehouse = throughput_of(busy_lake), opened(spark, busy_lake)
    unstored = "SELECT DISTINCT snapshot_date FROM unstored_snapshots"
    assert len(computed) == DAYS * 3 + 5
    assert len(throughput_of(busy_lake, unstored)) == DAYS
    assert store_days(warehouse, "stored_throughput", SqlSettings(), AFTER) == StoredDays(stored=DAYS)
    assert throughput_of(busy_lake, unstored) == []
    assert throughput_of(busy_lake) == computed
    stored = DeltaTable(busy_lake / "stored_throughput").to_pyarrow_table()
    is_day = pc.is_null(stored["topic"])
    of_days, of_topics = stored.filter(is_day), stored.filter(pc.invert(is_day))
    assert pc.sum(of_days["snapshots"]).as_py() == DAYS * 3
    assert (of_days["previous_captured_at"].null_count, of_topics["previous_captured_at"].null_count) == (
        1,
        len(computed),
    )
    for name in ("topic_id", "partitions", "rate_partitions", "bytes_partitions", "estimated_partitions"):
        assert (of_days[name].null_count, of_topics[name].null_count) == (DAYS, 0)
    for name in ("seconds", "produced", "records_per_second"):
        assert of_topics[name].null_count == 2  # the first snapshot of each topic
    frame = pl.scan_delta(str(busy_lake / "stored_throughput")).filter(pl.col("bytes_per_second") > 0).collect()
    assert len(frame) == len(of_topics.filter(pc.greater(of_topics["records"], 0))) - 1
    assert frame["size_bytes"].null_count() == 0
    assert store_days(warehouse, "stored_throughput", SqlSettings(), AFTER) == StoredDays()


@pytest.mark.proof
def test_stored_throughput_in_spark(spark: SparkSession, busy_lake: Path) -> None:
    """Spark shows the rows that DuckDB computed before they were stored."""
    computed, warehouse = throughput_of(busy_lake), opened(spark, busy_lake)
    store_days(warehouse, "stored_throughput", SqlSettings(), AFTER)
    with spark_engine.opened(warehouse, ("topic_throughput", "unstored_snapshots")) as ask:
        assert tuples(ask("SELECT * FROM unstored_snapshots")) == []
        assert sorted(map(repr, tuples(ask("SELECT * FROM topic_throughput")))) == sorted(map(repr, computed))


def test_throughput_of_days_that_have_lost_snapshots(spark: SparkSession, busy_lake: Path) -> None:
    """They, and a day whose first snapshot has another before it, are computed until they are stored again."""
    warehouse, day = opened(spark, busy_lake), FIRST + timedelta(days=1)
    store_days(warehouse, "stored_throughput", SqlSettings(), AFTER)
    remove_snapshots(busy_lake, [2], day, "busy")
    unstored = "SELECT DISTINCT snapshot_date FROM unstored_snapshots ORDER BY 1"
    assert throughput_of(busy_lake, unstored) == [(day,), (day + timedelta(days=1),)]
    left = throughput_of(busy_lake)
    assert {row[5] for row in left} == {"a", "b"}
    done = maintain_table(warehouse, "stored_throughput", MaintainOptions(), AFTER, sql=SqlSettings())
    assert maintained_line(done, MaintainOptions()) == "stored_throughput: 2 days stored"
    assert throughput_of(busy_lake, unstored) == []
    assert throughput_of(busy_lake) == left


def test_a_history_that_begins_within_a_day(stored_lake: Path) -> None:
    """It begins with the snapshot that the day was compared with, so that the stored rows of the day count."""
    day, noon = FIRST + timedelta(days=2), datetime(2026, 11, FIRST.day + 2, 13, tzinfo=UTC)
    names = ("topology_changes", "day_snapshots", "snapshots")

    def first_of(lake: Path) -> datetime | None:
        with duckdb_engine.opened(lake, ("snapshots", "stored_changes")) as ask:
            return first_needed(ask, "drawn", noon, ("stored_changes",))

    first = first_of(stored_lake)
    assert first is not None
    assert first.date() == day - timedelta(days=1)
    with duckdb_engine.opened(stored_lake, names, window=[Span(begin=first, end=noon + timedelta(days=9))]) as ask:
        assert tuples(ask(f"SELECT DISTINCT day FROM day_snapshots WHERE day >= DATE '{day}'")) == []
    DeltaTable(stored_lake / "stored_changes").delete()
    later = first_of(stored_lake)
    assert later is not None
    assert first <= later < datetime(2026, 11, day.day, tzinfo=UTC)


@pytest.mark.proof
def test_throughput_of_a_cluster_whose_id_was_unknown_once(spark: SparkSession, tmp_path: Path) -> None:
    """A day is compared with the last snapshot of the same id, although the name has a later one."""
    begins = [f"{day} {hour}:00" for day in range(FIRST.day, FIRST.day + DAYS) for hour in (10, 22)]
    ids = ["-" if number == 3 else "X" for number in range(len(begins))]
    snapshots = [f"{number} | {begin} | {ids[number]}" for number, begin in enumerate(begins)]
    ends = [f"{number} | a | A | 0 | 0 | {number * 100} | {begin}" for number, begin in enumerate(begins)]
    heads = (
        "== named\nsnapshots | captured_at | cluster_id",
        "partition_offsets | topic | topic_id | partition | log_start_offset | high_watermark | read_at",
    )
    text = "\n\n".join("\n".join([head, *rows]) for head, rows in zip(heads, (snapshots, ends), strict=True))
    lake = lake_of_text(tmp_path, f"{text}\n")
    before, warehouse = throughput_of(lake), opened(spark, lake)
    assert sum(row[13] is None for row in before) == 2  # the first one, and the one without an id
    for later in range(DAYS):
        noon = datetime(2026, 11, FIRST.day + 1 + later, 12, tzinfo=UTC)
        store_days(warehouse, "stored_throughput", SqlSettings(), clock_at(noon))
    assert throughput_of(lake, "SELECT * FROM unstored_snapshots") == []
    assert throughput_of(lake) == before


@pytest.mark.proof
def test_days_that_come_back(spark: SparkSession, stored_lake: Path) -> None:
    """If snapshots is restored to an earlier version, the day that was the first one is compared with others again."""
    warehouse, before = opened(spark, stored_lake), rows_of(stored_lake)
    version = DeltaTable(stored_lake / "snapshots").version()
    for day in (FIRST, FIRST + timedelta(days=1)):
        remove_snapshots(stored_lake, range(24 // HOURS_APART), day)
    assert store_days(warehouse, "stored_changes", SqlSettings(), AFTER) == StoredDays(stored=1, removed=2)
    DeltaTable(stored_lake / "snapshots").restore(version)
    assert rows_of(stored_lake) == before
    assert store_days(warehouse, "stored_changes", SqlSettings(), AFTER) == StoredDays(stored=3)
    assert days_computed(stored_lake) == set()
    assert rows_of(stored_lake) == before


def test_a_day_that_only_another_cluster_has_left(spark: SparkSession, tmp_path: Path) -> None:
    """The rows of the cluster whose snapshots retention has removed are gone with the next run."""
    days = range(FIRST.day, FIRST.day + DAYS)
    of_live = [f"{number} | {day} 10:00" for number, day in enumerate(days)]
    text = (
        f"== live\nsnapshots | captured_at\n{chr(10).join(of_live)}\n\n== dead\nsnapshots | captured_at\n{of_live[0]}\n"
    )
    lake, stored = lake_of_text(tmp_path, text), "stored_throughput"
    warehouse = opened(spark, lake)
    store_days(warehouse, stored, SqlSettings(), AFTER)
    remove_snapshots(lake, [0], FIRST, "live")
    done = maintain_table(warehouse, stored, MaintainOptions(), AFTER, sql=SqlSettings())
    assert done.stored_days == 2  # the day, and the next one, which was compared with it
    clusters = f"SELECT DISTINCT cluster FROM {stored} WHERE snapshot_date = DATE '{FIRST}'"
    assert throughput_of(lake, clusters) == [("dead",)]
    remove_snapshots(lake, [0], FIRST, "dead")
    done = maintain_table(warehouse, stored, MaintainOptions(), AFTER, sql=SqlSettings())
    assert (done.stored_days, done.dropped_days) == (0, 1)
    assert maintained_line(done, MaintainOptions()) == f"{stored}: 1 stored day without snapshots removed"


def test_a_day_that_others_write_meanwhile(monkeypatch: pytest.MonkeyPatch) -> None:
    """The run says so; the next one stores the day."""
    lake: Any = SimpleNamespace(kernel=None, locations={STORED_CHANGES.name: "file:/lake/stored_changes"})
    monkeypatch.setattr(stored_days, "replace_files", lambda *_: False)
    with pytest.raises(TableError, match="stored_changes was written by others 5 times meanwhile"):
        stored_days._replace(lake, STORED_CHANGES, FIRST, None, AFTER)


def test_a_feed_of_changes(spark: SparkSession, stored_lake: Path) -> None:
    """Delta refuses a commit that adds and removes rows of a table with a change data feed: a day is removed, then stored."""
    warehouse = opened(spark, stored_lake)
    state = warehouse.state("stored_changes")
    warehouse.kernel.set_properties(state, {"delta.enableChangeDataFeed": "true"})
    remove_snapshots(stored_lake, [1], FIRST)
    before = rows_of(stored_lake)
    assert store_days(opened(spark, stored_lake), "stored_changes", SqlSettings(), AFTER).stored > 0
    assert days_computed(stored_lake) == set()
    assert rows_of(stored_lake) == before
