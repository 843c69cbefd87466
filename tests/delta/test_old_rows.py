"""Old rows are removed as the retention settings demand: whole snapshots, and never a row that a kept one needs."""

import json
import shutil
import tracemalloc
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import replace
from datetime import date, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import pyarrow as pa
import pytest
from deltalake import DeltaTable
from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession

from kafka_lagoon.delta import compact as compact_module
from kafka_lagoon.delta import old_rows
from kafka_lagoon.delta.arrow import arrow_table
from kafka_lagoon.delta.files import LiveFile, parquet_bytes
from kafka_lagoon.delta.kernel import Kernel
from kafka_lagoon.delta.maintain import Maintained, MaintainOptions, maintain
from kafka_lagoon.delta.old_rows import OldRows
from kafka_lagoon.delta.open_warehouse import at_path, open_warehouse
from kafka_lagoon.delta.retention import PublishedSnapshot, StoredRows
from kafka_lagoon.delta.storage import Storage
from kafka_lagoon.delta.warehouse import Warehouse
from kafka_lagoon.errors import LockHeld, TableError
from kafka_lagoon.job_settings import RetentionSettings
from kafka_lagoon.tables.record_tables import RECORD_PROBLEMS, RECORD_RANGES, RECORDS
from kafka_lagoon.tables.schema import ADMIN_ACTIONS, SNAPSHOT_DATE, STATE_TABLES, WRITE_DATE
from kafka_lagoon.tables.table import Table
from kafka_lagoon.tables.table_states import table_state
from tests.clock import CLOCK, clock_at
from tests.delta.awkward import row_of
from tests.delta.dated import (
    MIDNIGHT,
    SOME,
    a_day_passes,
    day_of_snapshots,
    ids_in,
    moment,
    publish_all,
    shown,
    taken,
)
from tests.delta.foreign import live, removes, write
from tests.delta.record_samples import run
from tests.delta.samples import lag_row, snapshot
from tests.delta.test_growth import cost, counts
from tests.delta.test_maintain import committing
from tests.delta.test_publish import publish_once, rows_of
from tests.duckdb_views import connected
from tests.ingest.writers import Died, contents, dies, ingest, kernel_writer
from tests.object_store import BUCKET, ObjectStore
from tests.warehouses import settings

pytestmark = pytest.mark.spark

STEPWISE = RetentionSettings(snapshots_all_days=7, snapshots_hourly_days=14, snapshots_daily_days=30)
OPTIONS = MaintainOptions(tables=SOME, retention=STEPWISE)
AT_ONCE = replace(OPTIONS, keep_hours=0, force=True)
HISTORY = [
    *day_of_snapshots(40, "00:10", "12:00"),
    taken(moment(35, "08:00"), lag_row("g", "t", 0, lag=1), cluster="gone"),
    *day_of_snapshots(20, "00:10", "00:40", "05:00", partial=["00:10"]),
    *day_of_snapshots(10, "10:02", "10:30", "11:00"),
    *day_of_snapshots(3, "10:00", "10:05"),
]
KEPT = {
    f"{moment(35, '08:00'):%Y%m%d-%H%M}-gone",
    *(
        f"{moment(days, time):%Y%m%d-%H%M}-default"
        for days, time in ((20, "00:40"), (10, "10:02"), (10, "11:00"), (3, "10:00"), (3, "10:05"))
    ),
}


@pytest.fixture(scope="module")
def template(spark: SparkSession, new_lake: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the history, to be copied."""
    place = tmp_path_factory.mktemp("old") / "lake"
    shutil.copytree(new_lake, place)
    publish_all(at_path(spark, str(place)), HISTORY)
    return place


@pytest.fixture
def lake(spark: SparkSession, template: Path, tmp_path: Path) -> Warehouse:
    """The history."""
    shutil.copytree(template, tmp_path / "lake")
    return at_path(spark, str(tmp_path / "lake"))


def removed(done: list[Maintained]) -> dict[str, tuple[int, int]]:
    """Return the removed days and rows by table; tables without any are left out."""
    return {one.table: (one.old.days, one.old.rows) for one in done if one.old.rows}


def whole(before: dict[str, Any]) -> dict[str, Any]:
    """Return the shown rows of the kept snapshots."""
    return {name: facts for name, facts in before.items() if name in KEPT}


LAG_ROWS = {"consumer_lag": (3, 11 + 1 + 11 + 1 + 31), "coverage": (3, 5)}


def test_snapshots_go_as_a_whole(lake: Warehouse) -> None:
    """Views show the kept snapshots unchanged and no others; a day later the rows of the others are removed.

    Until then whoever has read `snapshots` before finds their rows. Then all readers find the same.
    """
    before = shown(lake)
    assert set(before) == {made.header.snapshot_id for made in HISTORY}
    assert removed(maintain(lake, replace(OPTIONS, dry_run=True), CLOCK)) == {"snapshots": (3, 5)}
    assert shown(lake) == before
    assert removed(maintain(lake, OPTIONS, CLOCK)) == {"snapshots": (3, 5)}
    assert shown(lake) == whole(before)
    assert ids_in(lake, "consumer_lag") == set(before)
    a_day_passes(lake)
    would = removed(maintain(lake, replace(OPTIONS, dry_run=True), CLOCK))
    assert removed(maintain(lake, OPTIONS, CLOCK)) == would == {**LAG_ROWS, "acls": (1, 1)}
    assert shown(lake) == whole(before)
    assert ids_in(lake, "consumer_lag") == KEPT
    of_day_20 = f"{moment(20, '00:10'):%Y%m%d-%H%M}-default"
    assert of_day_20 in ids_in(lake, "acls") - KEPT  # a kept snapshot of the day refers to these rows
    a_day_passes(lake)
    last = maintain(lake, OPTIONS, CLOCK)
    assert removed(last) == {}
    assert sum(one.days for one in last) == 0
    assert set(counts(lake, "consumer_lag").values()) == {1 + 41 + 3 + 1 + 1 + 6}


def test_rows_stay_for_readers_of_the_day(lake: Warehouse) -> None:
    """Whoever has read `snapshots` before its rows were removed finds theirs for 20 hours."""
    maintain(lake, OPTIONS, CLOCK)
    a_day_passes(lake, hours=19)
    assert removed(maintain(lake, OPTIONS, CLOCK)) == {}
    a_day_passes(lake, hours=2)
    assert removed(maintain(lake, OPTIONS, CLOCK)) == {**LAG_ROWS, "acls": (1, 1)}


def test_files_in_folders_of_other_names(lake: Warehouse) -> None:
    """An OPTIMIZE of others may place files anywhere: the day of a file is what the log says."""
    before, files = shown(lake), live(lake, "snapshots")
    folder = Path(lake.locations["snapshots"].removeprefix("file:"))
    (folder / "aB").mkdir()
    adds = []
    for number, file in enumerate(files):
        shutil.copy(folder / file.path, folder / f"aB/{number}.parquet")
        add = {"path": f"aB/{number}.parquet", "partitionValues": {SNAPSHOT_DATE: str(file.day)}, "size": file.size}
        stats = json.dumps({"numRecords": file.rows})
        adds.append({"add": {**add, "modificationTime": 1, "dataChange": False, "stats": stats}})
    write(lake, "snapshots", "OPTIMIZE", *removes(files, data_change=False), *adds, predicate="[]")
    assert removed(maintain(lake, OPTIONS, CLOCK)) == {"snapshots": (3, 5)}
    a_day_passes(lake)
    assert removed(maintain(lake, OPTIONS, CLOCK)) == {**LAG_ROWS, "acls": (1, 1)}
    assert {row["snapshot_id"] for row in rows_of(lake, "snapshots")} == KEPT < before.keys()


@pytest.mark.parametrize("key", ["delta.enableChangeDataFeed", "delta.enableRowTracking"])
def test_days_that_are_not_thinned(key: str) -> None:
    """Days of which rows stay are not thinned if readers would see these rows as deleted or new; whole days go."""
    kernel = SimpleNamespace(table_property=lambda _, name: "true" if name == key else None)
    days = {
        date(2026, 1, 1): old_rows._Day([], frozenset({"kept"}), 1),
        date(2026, 1, 2): old_rows._Day([], frozenset(), 1),
    }
    warehouse: Any = SimpleNamespace(kernel=kernel, state=lambda _: None)
    removal = OldRows(warehouse, OPTIONS.retention, 168, CLOCK)
    assert list(removal._with_feed(STATE_TABLES[0], days)) == [date(2026, 1, 1)]


def test_a_table_with_a_feed_of_changes(lake: Warehouse) -> None:
    """Its readers never see a kept snapshot as deleted: only whole days are removed, and a line says why."""
    snapshots = replace(OPTIONS, tables=("snapshots",))
    lake.kernel.set_properties(lake.state("snapshots"), {"delta.enableChangeDataFeed": "true"})
    version = lake.state("snapshots").version
    for options in (replace(snapshots, dry_run=True), snapshots):
        with pytest.raises(
            TableError, match=r"^table snapshots has delta\.enableChangeDataFeed .* 2 days are not thinned; "
        ):
            maintain(lake, options, CLOCK)
    table = DeltaTable(lake.locations["snapshots"].removeprefix("file:"))
    feed = pa.table(table.load_cdf(starting_version=version + 1).read_all()).select(["snapshot_id", "_change_type"])
    gone = [f"{moment(40, time):%Y%m%d-%H%M}-default" for time in ("00:10", "12:00")]
    assert sorted(tuple(row.values()) for row in feed.to_pylist()) == [(name, "delete") for name in gone]


@pytest.mark.proof
@pytest.mark.parametrize(
    ("where", "method", "call"),
    [
        (Storage, "write", 1),
        (Storage, "write", 4),
        (Kernel, "replace", 1),  # the snapshots are removed, but not yet their rows
        (Kernel, "replace", 2),
        (Kernel, "replace", 3),
        (Kernel, "replace", 4),
        (Kernel, "checkpoint", 1),
        (Kernel, "checkpoint", 2),
        (Storage, "delete", 1),
        (Storage, "delete", 9),
    ],
)
def test_dead_in_the_middle(lake: Warehouse, where: type, method: str, call: int) -> None:
    """After a run died at any step, views show only whole snapshots, and the next run completes the work."""
    before = shown(lake)
    with dies(where, method, call), pytest.raises(Died):
        maintain(lake, AT_ONCE, CLOCK)
    now = shown(lake)
    assert now in (before, whole(before))
    maintain(lake, AT_ONCE, CLOCK)
    assert shown(lake) == whole(before)
    assert {table: ids_in(lake, table) for table in ("consumer_lag", "coverage")} == {
        "consumer_lag": KEPT,
        "coverage": KEPT - {f"{moment(35, '08:00'):%Y%m%d-%H%M}-gone"},
    }


@pytest.mark.proof
def test_a_snapshot_is_published_meanwhile(lake: Warehouse, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each waits for the other only during a commit, and without a lock both commits are valid."""
    before, real, others = shown(lake), Kernel.replace, [1, 2, 3]
    monkeypatch.setattr(Warehouse, "exclusively", lambda *_: nullcontext())

    def late(kernel: Kernel, *arguments: Any, **named: Any) -> int:
        if others:
            publish_once(lake, taken(MIDNIGHT + timedelta(minutes=others.pop()), lag_row("g", "t", 0, lag=1)))
        return real(kernel, *arguments, **named)

    monkeypatch.setattr(Kernel, "replace", late)
    maintain(lake, AT_ONCE, CLOCK)
    new = {f"{MIDNIGHT + timedelta(minutes=minute):%Y%m%d-%H%M}-default" for minute in (1, 2, 3)}
    assert {name: facts for name, facts in shown(lake).items() if name not in new} == whole(before)
    assert ids_in(lake, "consumer_lag") == KEPT | new


@pytest.mark.proof
def test_a_commit_lock_in_other_hands(lake: Warehouse, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is removed while another process holds the commit lock for longer than the wait."""
    monkeypatch.setattr("kafka_lagoon.delta.maintain.COMMIT_LOCK_WAIT_MS", 50)
    before = shown(lake)
    with committing(lake), pytest.raises(LockHeld):
        maintain(lake, OPTIONS, CLOCK)
    assert shown(lake) == before


@pytest.mark.proof
def test_rows_that_were_never_published(lake: Warehouse) -> None:
    """They are removed with the day's other rows after a week; a day without any snapshot is left alone."""
    fact = lag_row("left", "behind", 0)
    lag = [table for table in STATE_TABLES if table.name == "consumer_lag"]
    young, old, alone = (taken(moment(days, "20:00"), fact) for days in (3, 10, 25))
    publish_all(lake, [young, old, alone], lag)
    assert removed(maintain(lake, replace(OPTIONS, tables=("consumer_lag",)), CLOCK)) == {"consumer_lag": (1, 1)}
    assert {one.header.snapshot_id for one in (young, alone)} < ids_in(lake, "consumer_lag")
    assert old.header.snapshot_id not in ids_in(lake, "consumer_lag")


def test_snapshots_of_version_0_1_0(warehouse: Warehouse) -> None:
    """They have no numbers of rows, so the rows are read."""
    first, second = (taken(moment(10, time), lag_row("g", "t", 0), lists_tables=False) for time in ("10:00", "10:30"))
    publish_all(warehouse, [first, second, taken(moment(0, "00:00"))])
    assert removed(maintain(warehouse, AT_ONCE, CLOCK)) == {"snapshots": (1, 1), "consumer_lag": (1, 1)}
    assert ids_in(warehouse, "consumer_lag") == {first.header.snapshot_id}
    assert removed(maintain(warehouse, AT_ONCE, CLOCK)) == {}


@pytest.mark.proof
def test_snapshots_in_a_bucket(spark: SparkSession, bucket: ObjectStore) -> None:
    """Object stores have neither locks nor folders: the same snapshots are removed, in the same order."""
    lake = open_warehouse(spark, settings(f"warehouse=s3a://{BUCKET}/old"), CLOCK)
    goes, stays, last = (
        taken(moment(days, time), lag_row("g", "t", 0)) for days, time in ((10, "10:30"), (10, "10:00"), (0, "00:00"))
    )
    for made in (goes, stays, last):
        publish_once(lake, made)

    def ids(table: str) -> set[str]:
        rows = lake.spark.table(lake.identifiers[table]).select("snapshot_id").collect()
        return {snapshot_id for (snapshot_id,) in rows}

    assert removed(maintain(lake, OPTIONS, CLOCK)) == {"snapshots": (1, 1)}
    kept = {made.header.snapshot_id for made in (stays, last)}
    assert (ids("snapshots"), ids("consumer_lag")) == (kept, kept | {goes.header.snapshot_id})
    assert removed(maintain(lake, AT_ONCE, CLOCK)) == {"consumer_lag": (1, 1)}
    assert (ids("snapshots"), ids("consumer_lag")) == (kept, kept)
    assert any(one.method == "DELETE" and "/old/consumer_lag/" in one.path for one in bucket.requests())


BY_DAYS = MaintainOptions(
    tables=("records", "record_ranges", "record_problems", "admin_actions"),
    retention=RetentionSettings(records_days=7, admin_actions_days=30),
)


def archive(warehouse: Warehouse, days_ago: int, number: int) -> None:
    """Archive run `number` on a day: five records, a range and a problem."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tests.delta.record_samples.DAY", (MIDNIGHT - timedelta(days=days_ago)).date())
        ingest(kernel_writer(warehouse), number, 5 * number)


def test_ingests_go_by_days(warehouse: Warehouse) -> None:
    """A day is removed from all three tables, and the next ingest continues at the last end."""
    for number, days_ago in enumerate((20, 8, 7, 0), 1):
        archive(warehouse, days_ago, number)
    state = contents(warehouse)
    wanted = {name: (2, rows) for name, rows in (("records", 10), ("record_ranges", 2), ("record_problems", 2))}
    assert removed(maintain(warehouse, replace(BY_DAYS, dry_run=True), CLOCK)) == wanted
    assert contents(warehouse) == state
    assert removed(maintain(warehouse, BY_DAYS, CLOCK)) == wanted
    assert contents(warehouse) == (list(range(10, 20)), [(10, 15), (15, 20)], [10, 15])
    archive(warehouse, 0, 5)
    assert contents(warehouse) == (list(range(10, 25)), [(10, 15), (15, 20), (20, 25)], [10, 15, 20])
    assert removed(maintain(warehouse, BY_DAYS, CLOCK)) == {}


def test_ranges_and_problems_go_after_their_records(warehouse: Warehouse) -> None:
    """A run that dies, or only includes ranges or problems, leaves no records without them."""
    for number, days_ago in enumerate((20, 0), 1):
        archive(warehouse, days_ago, number)
    alone = replace(BY_DAYS, tables=("record_ranges", "record_problems"))
    assert removed(maintain(warehouse, replace(alone, dry_run=True), CLOCK)) == {}
    assert removed(maintain(warehouse, alone, CLOCK)) == {}
    with dies(Kernel, "replace", 1), pytest.raises(Died):
        maintain(warehouse, BY_DAYS, CLOCK)
    assert contents(warehouse) == (list(range(5, 10)), [(0, 5), (5, 10)], [0, 5])
    assert removed(maintain(warehouse, BY_DAYS, CLOCK)) == {"record_ranges": (1, 1), "record_problems": (1, 1)}


@pytest.mark.parametrize(
    ("tables", "days"), [((RECORDS, RECORD_RANGES, RECORD_PROBLEMS), 1), ((RECORD_RANGES, RECORD_PROBLEMS), 0)]
)
def test_a_dry_run_counts_ranges_only_with_their_records(tables: Sequence[Table], days: int) -> None:
    """A run that leaves the records leaves their ranges and problems, and a dry run says so."""
    day = (MIDNIGHT - timedelta(days=20)).date()
    file = LiveFile(path="a.parquet", day=day, size=1, rows=5, modified_at_ms=0)
    kernel = Mock(live_files=lambda _: [file])
    old_rows = OldRows(Mock(kernel=kernel), BY_DAYS.retention, BY_DAYS.keep_hours, CLOCK)
    assert [old_rows.would_go(table, [file]).days for table in tables] == [days] * len(tables)


@pytest.mark.parametrize(
    ("days_ago", "all_days", "is_published", "rows"),
    [
        (7, 1, True, 0),  # a run of that day may still publish for a week
        (8, 1, True, 2),
        (10, 10, True, 0),  # all snapshots of that day are kept
        (11, 10, True, 2),
        (30, 1, False, 0),  # the day should have a snapshot: table snapshots may have been replaced
        (31, 1, False, 5),
    ],
)
def test_rows_that_no_snapshot_has(days_ago: int, all_days: int, is_published: bool, rows: int) -> None:
    """They are removed when no run can publish them any more, and nothing of the day is kept without looking.

    Where the log does not count them, they are read; where a snapshot that was just removed needs them, they stay.
    """
    noon = MIDNIGHT + timedelta(hours=12)
    day = (noon - timedelta(days=days_ago)).date()
    lag = next(table for table in STATE_TABLES if table.name == "consumer_lag")
    file = LiveFile(path="a.parquet", day=day, size=1, rows=5, modified_at_ms=0)
    retention = RetentionSettings(snapshots_all_days=all_days, snapshots_daily_days=30)
    stored = parquet_bytes(pa.table({"snapshot_id": ["kept"] * 3 + ["gone"] * 2}))
    kernel = Mock(table_property=lambda *_: None, storage=Mock(read=lambda _: stored))
    warehouse = Mock(kernel=kernel, locations={lag.name: "file:/lake/consumer_lag"})
    removal = OldRows(warehouse, retention, 168, clock_at(noon))
    published = PublishedSnapshot(
        snapshot_id="kept",
        cluster="c",
        cluster_id="id",
        captured_at=noon,
        day=day,
        is_complete=True,
        stored={"consumer_lag": StoredRows("kept", 3)},
    )
    removal.__dict__.update(_published={day: [published]} if is_published else {}, _just_removed={})
    for counted in (file, replace(file, rows=None)):
        assert removal.would_go(lag, [counted]) == old_rows.RemovedRows(days=int(rows > 0), rows=rows)
    if is_published:
        gone = replace(published, snapshot_id="gone", stored={"consumer_lag": StoredRows("gone", 2)})
        removal.__dict__.update(_just_removed={day: [gone]})
        assert removal.would_go(lag, [file]) == old_rows.RemovedRows()


def test_days_whose_rows_the_log_does_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    """A run removes them, so a dry run and the result name them; other engines may write files without statistics."""
    first = LiveFile(path="a", day=(MIDNIGHT - timedelta(days=20)).date(), size=1, modified_at_ms=0, rows=None)
    files = [first, replace(first, path="b", day=(MIDNIGHT - timedelta(days=21)).date(), rows=5)]
    removal = OldRows(Mock(), BY_DAYS.retention, BY_DAYS.keep_hours, CLOCK)
    expected = old_rows.RemovedRows(days=2, rows=5, uncounted=1)
    assert removal.would_go(RECORDS, files) == expected
    monkeypatch.setattr(compact_module, "_commit", lambda *_: True)
    assert removal.remove(RECORDS, files, 1 << 30) == expected
    monkeypatch.setattr(compact_module, "_commit", lambda *_: False)
    assert removal.remove(RECORDS, files, 1 << 30) == old_rows.RemovedRows()


def test_the_memory_of_a_published_snapshot() -> None:
    """A warehouse has a hundred thousand snapshots a year: ids and names of tables are kept once, not for each table."""
    parts = []
    for number in range(100):
        own = f"0192-{number:04d}-default"
        states = tuple(
            table_state(
                table.name, "complete", 1_000 + number, own, "d", "0192-0000-default" if table.when_changed else own
            )
            for table in STATE_TABLES
        )
        made = snapshot(number, tables=states)
        parts.append(arrow_table(STATE_TABLES[-1], made.header, made.rows[STATE_TABLES[-1].row]))
    data = parquet_bytes(pa.concat_tables(parts))
    warehouse: Any = SimpleNamespace(kernel=SimpleNamespace(storage=SimpleNamespace(read=lambda _: data)))
    rows = OldRows(warehouse, RetentionSettings(), 168, CLOCK)
    rows._read("file")  # imports
    tracemalloc.start()
    try:
        published = rows._read("file")
        assert len(published) == 100
        assert published[7].stored is not None
        assert published[7].stored["topics"] == StoredRows("0192-0007-default", 1_007)
        held, _ = tracemalloc.get_traced_memory()
        del published  # what is freed now was theirs: threads of other tests in this process have memory, too
        left, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert 100 * 100 < held - left < 100 * 2_500


def test_many_days_that_go_as_a_whole_are_one_commit() -> None:
    """Their files are not read, so their size does not matter: the first run with a retention may remove years."""
    file = LiveFile(path="f", day=MIDNIGHT.date(), size=1 << 30, modified_at_ms=0, rows=5)
    days = [file.day - timedelta(days=number) for number in range(1_000)]
    whole = {day: old_rows._Day(files=[replace(file, day=day)], kept=frozenset(), rows=5) for day in days}
    assert [len(batch) for batch in old_rows._batches(whole, 256 << 20)] == [1_000]
    thinned = {day: replace(of_day, kept=frozenset({"kept"})) for day, of_day in whole.items()}
    assert [len(batch) for batch in old_rows._batches(thinned, 256 << 20)] == [1] * 1_000


def test_records_that_a_truncation_took_back(warehouse: Warehouse) -> None:
    """They count as history at no step of their removal, also if a run dies between two tables."""
    archive(warehouse, 20, 1)
    writer = kernel_writer(warehouse)
    with writer.lock() as lock, pytest.MonkeyPatch.context() as patch:
        patch.setattr("tests.delta.record_samples.DAY", (MIDNIGHT - timedelta(days=8)).date())
        made = run(lock, 2, 2, 7)
        back = replace(made.reconciled.ranges[0], from_offset=5, to_offset=2, records=0, problem="LOG_TRUNCATED")
        ranges = [back, *made.reconciled.ranges]
        writer.commit(lock, replace(made, reconciled=replace(made.reconciled, ranges=ranges)))

    def history() -> list[tuple[str, int]]:
        with connected(warehouse.name, ["records_now"]) as connection:
            return connection.sql('SELECT ingest_id, "offset" FROM records_now ORDER BY ALL').fetchall()

    first, second = [("0192-0001", offset) for offset in (0, 1)], [("0192-0002", offset) for offset in range(2, 7)]
    assert history() == [*first, *second]
    for days, left in ((10, second), (7, [])):
        options = replace(BY_DAYS, retention=RetentionSettings(records_days=days))
        with dies(Kernel, "replace", 1), pytest.raises(Died):
            maintain(warehouse, options, CLOCK)
        assert history() == left
        maintain(warehouse, options, CLOCK)
        assert history() == left


@pytest.mark.proof
def test_an_ingest_commits_meanwhile(warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a lock both commits are in the table."""
    archive(warehouse, 20, 1)
    real, others = Kernel.replace, [4, 3, 2]
    monkeypatch.setattr(Warehouse, "exclusively", lambda *_: nullcontext())

    def late(kernel: Kernel, *arguments: Any, **named: Any) -> int:
        if others:
            archive(warehouse, 0, others.pop())
        return real(kernel, *arguments, **named)

    monkeypatch.setattr(Kernel, "replace", late)
    maintain(warehouse, BY_DAYS, CLOCK)
    assert contents(warehouse) == (list(range(5, 20)), [(5, 10), (10, 15), (15, 20)], [5, 10, 15])


def test_alterations_go_by_days(warehouse: Warehouse) -> None:
    """Days of admin_actions that are older than the setting allows are removed, and no others."""
    for days_ago in (40, 31, 30, 0):
        day = (MIDNIGHT - timedelta(days=days_ago)).date()
        action = row_of(ADMIN_ACTIONS, 0, action_id=f"{days_ago} days ago")
        file = warehouse.write_rows(ADMIN_ACTIONS, [action], day)
        warehouse.kernel.append(warehouse.state(ADMIN_ACTIONS.name), [file], (WRITE_DATE, day))
    assert removed(maintain(warehouse, BY_DAYS, CLOCK)) == {"admin_actions": (2, 2)}
    assert sorted(one["action_id"] for one in rows_of(warehouse, "admin_actions")) == ["0 days ago", "30 days ago"]


@pytest.mark.proof
def test_streams_of_a_state_table(lake: Warehouse, tmp_path: Path) -> None:
    """A stream that ignores deletes returns each row once; another one reports that rows were removed."""

    def read(name: str, **options: str) -> int:
        source = lake.spark.readStream.format("delta").options(**options).load(lake.locations["consumer_lag"])
        place = str(tmp_path / name)
        started = source.writeStream.format("delta").option("checkpointLocation", f"{place}-checkpoint")
        started.trigger(availableNow=True).start(place).awaitTermination()
        return lake.spark.read.format("delta").load(place).count()

    (rows,) = set(counts(lake, "consumer_lag").values())
    assert (read("ignores", ignoreDeletes="true"), read("stops")) == (rows, rows)
    maintain(lake, AT_ONCE, CLOCK)
    publish_once(lake, taken(MIDNIGHT, lag_row("g", "t", 0, lag=1)))
    assert read("ignores", ignoreDeletes="true") == rows + 1
    with pytest.raises(StreamingQueryException, match="ignoreDeletes"):
        read("stops")


@pytest.mark.proof
@pytest.mark.timeout(1_800)
def test_a_thousand_snapshots(warehouse: Warehouse, capsys: pytest.CaptureFixture[str]) -> None:
    """Thinning takes seconds, once; the next run, without work, takes no longer than one without retention."""
    facts = [row_of(table, seed) for table in STATE_TABLES[:-1] for seed in range(20)]
    lag = [lag_row(f"group-{group}", f"topic-{at}", at, lag=group * at) for group in range(20) for at in range(20)]
    times = [f"{minute // 60:02}:{minute % 60:02}" for minute in range(0, 24 * 60, 36)]
    publish_all(warehouse, (taken(moment(days, time), *facts, *lag) for days in range(1, 26) for time in times))
    never = MaintainOptions()
    thinning = replace(never, retention=STEPWISE)

    def spent(options: MaintainOptions) -> float:
        return round(cost(warehouse.spark, lambda: maintain(warehouse, options, CLOCK)), 1)

    def size() -> tuple[int, int, int]:
        files = [file for table in STATE_TABLES for file in warehouse.kernel.live_files(warehouse.state(table.name))]
        return len(files), sum(file.size for file in files) // 1000, sum(file.rows or 0 for file in files)

    names = [table.name for table in STATE_TABLES]
    figures = {"before": size(), "joined s": spent(never), "joined": size(), "nothing to do s": spent(never)}
    figures |= {"dry run s": spent(replace(thinning, dry_run=True)), "snapshots removed s": spent(thinning)}
    a_day_passes(warehouse, names)
    figures |= {"rows removed s": spent(thinning), "after": size()}
    a_day_passes(warehouse, names)
    figures |= {"nothing old s": spent(thinning), "without retention s": spent(never)}
    with capsys.disabled():
        print(figures)
    assert figures["after"][2] < figures["before"][2] * 0.6
    assert figures["nothing old s"] < 1.5 * figures["without retention s"] + 1
