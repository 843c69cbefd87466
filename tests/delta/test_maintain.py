"""Maintenance joins files and removes unneeded ones, and changes nothing else."""

import json
import os
import re
import shutil
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import deltalake
import pytest
from deltalake.exceptions import CommitFailedError
from pyspark.sql import SparkSession

from kafka_lagoon.delta import maintain as maintain_module
from kafka_lagoon.delta.files import LiveFile
from kafka_lagoon.delta.kernel import Fence
from kafka_lagoon.delta.lock import locked
from kafka_lagoon.delta.maintain import IN_ORDER, Files, Maintained, MaintainOptions, maintain
from kafka_lagoon.delta.record_files import RecordFiles
from kafka_lagoon.delta.storage import Storage
from kafka_lagoon.delta.warehouse import Warehouse
from kafka_lagoon.errors import ConfigError, LockHeld, TableError
from kafka_lagoon.tables.record_tables import INGEST_DATE
from kafka_lagoon.tables.record_tables import RECORDS as RECORDS_TABLE
from kafka_lagoon.tables.schema import ADMIN_ACTIONS, TABLES
from tests.clock import CLOCK
from tests.delta import test_record_files
from tests.delta.samples import lag_row, snapshot
from tests.delta.test_publish import publish_once, rows_of
from tests.effort import first

YESTERDAY = datetime.now(UTC).date() - timedelta(days=1)  # or earlier, if tests run over midnight
RECORDS = MaintainOptions(tables=("records",))
WEEK_S = 8 * 86_400


def ingest(
    warehouse: Warehouse, day: date, run: int, topics: tuple[str, ...] = ("t", "u"), sizes: tuple[int, ...] = (100, 100)
) -> None:
    """Add a run with ten records of each topic in a file of its own; `sizes` are the bytes of their values."""
    state = warehouse.state("records")
    files = RecordFiles(
        folder_url=f"{state.location}/{INGEST_DATE}={day}",
        ingest_id=f"run-{run}",
        cluster="name",
        cluster_id="cluster",
        target_bytes=1,
        compression="zstd-fast",
    )
    for topic, size in zip(topics, sizes, strict=True):
        records = [test_record_files.record(run * 10 + index, value=os.urandom(size)) for index in range(10)]
        files.write(topic, None, run % 2, test_record_files.batch_of(*records))
    fence = Fence("app", run)
    warehouse.kernel.append(state, files.close(), (INGEST_DATE, day), fence=fence, domains={"lagoon.x": str(run)})


def records(warehouse: Warehouse) -> list[str]:
    """Return every record."""
    return sorted(map(repr, rows_of(warehouse, "records")))


def paths(warehouse: Warehouse, table: str = "records") -> set[Path]:
    """Return all data files in a table's folder, needed or not."""
    return set(Path(warehouse.locations[table].removeprefix("file:")).rglob("*=*/*.parquet"))


def live(warehouse: Warehouse, day: date) -> list[str]:
    """Return the files of a day in the latest version."""
    files = deltalake.DeltaTable(warehouse.locations["records"]).file_uris()
    return [file for file in files if f"{INGEST_DATE}={day}" in file]


def _today() -> date:
    return datetime.now(UTC).date()


def test_closed_days_become_few_files(warehouse: Warehouse) -> None:
    """Days before today are rewritten, today is left to the runs that still add to it; no record is changed."""
    today = _today()
    for run in range(1, 5):
        ingest(warehouse, YESTERDAY if run < 4 else today, run)
    before, size = (
        records(warehouse),
        sum(path.stat().st_size for path in paths(warehouse) if str(YESTERDAY) in str(path)),
    )
    (done,) = maintain(warehouse, RECORDS, CLOCK)
    assert (done.table, done.days, done.before, done.after.count) == ("records", 1, Files(count=3, size=size), 1)
    assert (len(live(warehouse, YESTERDAY)), len(live(warehouse, today))) == (1, 1)
    assert records(warehouse) == before
    assert done.removed == Files()
    assert maintain(warehouse, RECORDS, CLOCK) == [
        Maintained(table="records", days=0, before=Files(), after=Files(), removed=Files())
    ]


def test_positions_and_fences_survive(warehouse: Warehouse) -> None:
    """Next offsets and the last run are unchanged."""
    for run in (1, 2):
        ingest(warehouse, YESTERDAY, run)
    maintain(warehouse, RECORDS, CLOCK)
    state = warehouse.state("records")
    assert (warehouse.kernel.domain(state, "lagoon.x"), warehouse.kernel.last_transaction(state, "app")) == ("2", 2)
    assert state.reader_version == 1


@pytest.mark.proof
def test_rewritten_files_hold_few_topics(warehouse: Warehouse) -> None:
    """After maintenance a query for one topic still skips the files of others."""
    topics = tuple(f"topic-{number}" for number in range(8))
    for run in range(1, 9):
        ingest(warehouse, YESTERDAY, run, topics)
    options = replace(RECORDS, target_bytes=25_000)
    (done,) = maintain(warehouse, options, CLOCK)
    filtered = warehouse.spark.table(warehouse.identifiers["records"]).where("topic = 'topic-3' AND partition = 1")
    assert filtered.count() == 40
    assert done.after.count > 2
    assert len(filtered.inputFiles()) < done.after.count


@pytest.mark.proof
def test_a_dry_run_changes_nothing(warehouse: Warehouse) -> None:
    """It reports the same days, files and bytes, and does nothing."""
    for run in (1, 2, 3):
        ingest(warehouse, YESTERDAY, run)
    before, version = paths(warehouse), warehouse.state("records").version
    (would,) = maintain(warehouse, replace(RECORDS, dry_run=True), CLOCK)
    assert (paths(warehouse), warehouse.state("records").version) == (before, version)
    (done,) = maintain(warehouse, RECORDS, CLOCK)
    assert (would.days, would.before, would.after.count) == (done.days, done.before, done.after.count)


def test_what_nobody_needs_is_removed_after_a_week(warehouse: Warehouse) -> None:
    """Files of failed tasks, and files that no version names any more, are removed when they are old enough; others stay."""
    for run in (1, 2):
        ingest(warehouse, YESTERDAY, run)
    (folder,) = {path.parent for path in paths(warehouse)}
    old, new = folder / "old.parquet", folder / "new.parquet"
    for path in (old, new):
        path.write_bytes(b"left behind")
    os.utime(old, (time.time() - WEEK_S,) * 2)
    (would,) = maintain(warehouse, replace(RECORDS, dry_run=True), CLOCK)
    assert (would.removed, old.exists()) == (Files(count=1, size=11), True)
    (done,) = maintain(warehouse, RECORDS, CLOCK)
    assert (done.removed, old.exists(), new.exists()) == (Files(count=1, size=11), False, True)


def test_parts_of_commits_are_removed_after_a_week(warehouse: Warehouse) -> None:
    """Parts of commits that killed writers left in the log are removed; all else of the log stays."""
    ingest(warehouse, YESTERDAY, 1)
    log = Path(warehouse.locations["records"].removeprefix("file:")) / "_delta_log"
    part = f".{7:020}.json.423ef962-38f4-40b3-91c5-b5a0ff52196b.tmp"
    old, new = [log / part, log / f".{part}.crc"], log / part.replace("7.json", "8.json")
    others = [log / "_last_checkpoint.tmp", log / f".{0:020}.json.crc"]
    for path in (*old, new, *others):
        path.write_bytes(b"left behind")
    before = set(log.iterdir())
    for path in before - {new}:
        os.utime(path, (time.time() - WEEK_S,) * 2)
    (would,) = maintain(warehouse, replace(RECORDS, dry_run=True), CLOCK)
    assert (would.removed, set(log.iterdir())) == (Files(count=2, size=22), before)
    (done,) = maintain(warehouse, RECORDS, CLOCK)
    assert (done.removed, set(log.iterdir())) == (Files(count=2, size=22), before - set(old))


def left_behind(warehouse: Warehouse, *hours: int) -> dict[int, Path]:
    """Make files that no version of `records` names, with their ages in hours."""
    folder = next(iter(paths(warehouse))).parent
    files = {age: folder / f"{age}.parquet" for age in hours}
    for age, path in files.items():
        path.write_bytes(b"left behind")
        os.utime(path, (time.time() - age * 3600,) * 2)
    return files


@pytest.mark.parametrize(("keep_hours", "removed"), first([(24, {30, 200, 1_100}), (1_000, {1_100})]))
def test_files_are_kept_for_the_hours_that_are_given(warehouse: Warehouse, keep_hours: int, removed: set[int]) -> None:
    """Files of a running ingest and of older versions are kept for that long, and no longer.

    A file that a version of the last hours needed is kept, however long ago it was written.
    """
    for run in (1, 2):
        ingest(warehouse, YESTERDAY, run)
    needed = paths(warehouse)
    for path in needed:
        os.utime(path, (time.time() - 2_000 * 3600,) * 2)
    files = left_behind(warehouse, 0, 20, 30, 200, 1_100)
    options = replace(RECORDS, keep_hours=keep_hours, force=keep_hours < 168)
    (would,) = maintain(warehouse, replace(options, dry_run=True), CLOCK)
    (done,) = maintain(warehouse, options, CLOCK)
    assert {age for age, path in files.items() if not path.exists()} == removed
    assert would.removed == done.removed == Files(count=len(removed), size=11 * len(removed))
    assert done.days == 1
    assert needed < paths(warehouse)
    table = deltalake.DeltaTable(warehouse.locations["records"], version=2)
    assert table.to_pyarrow_dataset().count_rows() == 40


def test_a_table_may_keep_removed_files_longer(warehouse: Warehouse) -> None:
    """Spark's VACUUM obeys the same property; with --force it does not count, and two numbers are refused."""
    ingest(warehouse, YESTERDAY, 1)
    files = left_behind(warehouse, 200, 1_100)
    kept = {"delta.logRetentionDuration": "interval 30 days", "delta.deletedFileRetentionDuration": "interval 30 days"}
    warehouse.kernel.set_properties(warehouse.state("records"), kept)
    maintain(warehouse, RECORDS, CLOCK)
    assert [path.exists() for path in files.values()] == [True, False]
    in_parts = {**kept, "delta.deletedFileRetentionDuration": "interval 1 day 12 hours"}
    warehouse.kernel.set_properties(warehouse.state("records"), in_parts)
    with pytest.raises(TableError, match="is interval 1 day 12 hours: write it as interval 30 days"):
        maintain(warehouse, RECORDS, CLOCK)
    maintain(warehouse, replace(RECORDS, keep_hours=100, force=True), CLOCK)
    assert not files[200].exists()


@pytest.mark.parametrize(
    ("text", "hours"),
    [(None, 0), ("interval 30 days", 720), ("1 week", 168), ("INTERVAL 90 minutes", 2), ("interval 3601 seconds", 2)],
)
def test_the_hours_of_a_property(text: str | None, hours: int) -> None:
    """Parts of an hour are rounded up, so that no file goes too early."""
    lake: Any = SimpleNamespace(kernel=SimpleNamespace(table_property=lambda *_: text), state=lambda _: None)
    assert maintain_module._kept_by_property(lake, ADMIN_ACTIONS) == hours


def test_files_in_order_are_not_rewritten_every_night(warehouse: Warehouse) -> None:
    """Records of one topic are large, those of another small: Z-order leaves small files, until others arrive."""
    options = replace(RECORDS, target_bytes=64 << 10)
    for run in range(1, 5):
        ingest(warehouse, YESTERDAY, 2 * run, ("large",), (10_000,))
        ingest(warehouse, YESTERDAY, 2 * run + 1, ("small",), (1,))
    nights = [maintain(warehouse, options, CLOCK)[0].days for _ in range(3)]
    assert nights == [1, 0, 0]


@pytest.mark.proof
def test_less_than_a_week_must_be_forced(warehouse: Warehouse) -> None:
    """Few hours are refused with the reason; with --force old versions are removed and records are not."""
    for run in (1, 2):
        ingest(warehouse, YESTERDAY, run)
    hasty = replace(RECORDS, keep_hours=0)
    with pytest.raises(ConfigError, match="0 hours are less than 168: "):
        maintain(warehouse, hasty, CLOCK)
    assert warehouse.state("records").version == 2
    before = records(warehouse)
    (done,) = maintain(warehouse, replace(hasty, force=True), CLOCK)
    assert done.removed == done.before
    assert len(paths(warehouse)) == 1
    assert records(warehouse) == before
    assert warehouse.spark.conf.get("spark.databricks.delta.retentionDurationCheck.enabled", None) is None


def test_unknown_tables_are_named(warehouse: Warehouse) -> None:
    """All faults are listed."""
    with pytest.raises(ConfigError) as refused:
        maintain(warehouse, MaintainOptions(tables=("record", "lags"), keep_hours=1), CLOCK)
    assert len(refused.value.problems) == 3


def test_all_tables_are_maintained(warehouse: Warehouse) -> None:
    """State tables are maintained, too: a day of snapshots becomes one file, and views show the same rows."""
    for number in (1, 2, 3):
        publish_once(warehouse, snapshot(number, lag_row("g", "t", 0, lag=number)))
    before = sorted(map(repr, rows_of(warehouse, "consumer_lag")))
    done = {one.table: one for one in maintain(warehouse, MaintainOptions(), CLOCK)}
    assert list(done) == [table.name for table in IN_ORDER]
    assert sorted(done) == sorted(table.name for table in TABLES)
    assert (done["consumer_lag"].before.count, done["consumer_lag"].after.count) == (3, 1)
    assert done["brokers"].days == 0
    assert sorted(map(repr, rows_of(warehouse, "consumer_lag"))) == before


@contextmanager
def committing(warehouse: Warehouse) -> Iterator[None]:
    """Another process that commits."""
    folder = Path(warehouse.name.removeprefix("file:"))
    with locked(folder / ".lagoon-commit.lock", CLOCK):
        yield


@pytest.mark.proof
def test_tables_whose_rows_have_ids_are_left_to_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its OPTIMIZE keeps the ids of rows, and files that are joined in this process would not."""
    file = LiveFile(path="a.parquet", day=date(2026, 1, 1), size=1, modified_at_ms=1000, rows=1)
    day = maintain_module._Day(day=file.day, files=[file], small=[file])
    lake: Any = SimpleNamespace(spark=None)
    monkeypatch.setattr(maintain_module, "_spark_settings", lambda *_: nullcontext())
    monkeypatch.setattr(maintain_module, "_optimize", lambda *_: "by Spark")
    monkeypatch.setattr(maintain_module, "compact", lambda *_: ([], []))
    for has_ids, expected in ((True, "by Spark"), (False, (Files(), Files()))):
        monkeypatch.setattr(maintain_module, "has_row_ids", lambda *_, has_ids=has_ids: has_ids)
        assert maintain_module._rewrite(lake, ADMIN_ACTIONS, [day], MaintainOptions(), CLOCK) == expected


def test_an_ingest_beside_a_rewrite(warehouse: Warehouse) -> None:
    """Runs commit while Spark rewrites a day: neither waits for the other, and no commit is lost."""
    for run in range(1, 6):
        ingest(warehouse, YESTERDAY, run)
    folder = warehouse.kernel.storage.local(warehouse.locations["records"])
    assert folder
    with ThreadPoolExecutor(1) as threads:
        rewriting, runs = threads.submit(maintain, warehouse, RECORDS, CLOCK), 5
        while not rewriting.done():
            runs += 1
            with warehouse.exclusively("commit", CLOCK, 2_000):
                ingest(warehouse, _today(), runs)
            time.sleep(0.2)
    (done,) = rewriting.result()
    commits = [
        json.loads(path.read_text().partition("\n")[0])["commitInfo"]
        for path in sorted(folder.glob("_delta_log/*.json"))
    ]
    ((version, read),) = [
        (number, one["readVersion"]) for number, one in enumerate(commits) if one["operation"] == "OPTIMIZE"
    ]
    assert version > read + 1, "no run has committed while Spark was rewriting"
    assert (done.before.count, done.after.count, len(commits)) == (5, 1, runs + 2)
    rows = records(warehouse)
    assert len(rows) == len(set(rows)) == 20 * runs
    assert list(folder.glob(".lagoon-probe-*")) == []


@pytest.mark.proof
def test_a_rewrite_where_there_are_no_hard_links(warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch) -> None:
    """There only the lock keeps commits apart, so it is held."""
    monkeypatch.setattr("kafka_lagoon.delta.log_store._has_links", lambda _: False)
    for run in (1, 2):
        ingest(warehouse, YESTERDAY, run)
    real, held = SparkSession.sql, list[bool]()

    def sql(session: SparkSession, text: str, *arguments: Any, **named: Any) -> Any:
        if text.startswith("OPTIMIZE"):
            with pytest.raises(LockHeld), locked(folder / ".lagoon-commit.lock", CLOCK):
                pass
            held.append(True)
        return real(session, text, *arguments, **named)

    folder = Path(warehouse.name.removeprefix("file:"))
    monkeypatch.setattr(SparkSession, "sql", sql)
    maintain(warehouse, RECORDS, CLOCK)
    assert held == [True]


def test_others_that_commit_are_waited_for(warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a local path two processes could lose each other's commits, so maintenance takes the same lock as all others."""
    monkeypatch.setattr("kafka_lagoon.delta.maintain.COMMIT_LOCK_WAIT_MS", 50)
    for run in (1, 2):
        ingest(warehouse, YESTERDAY, run)
    with committing(warehouse), pytest.raises(LockHeld):
        maintain(warehouse, RECORDS, CLOCK)
    assert warehouse.state("records").version == 2


def test_two_runs_do_not_rewrite_the_same_files(warehouse: Warehouse) -> None:
    """The second one wrote all of them, failed with Delta's words and exit code 1, and left what it had written."""
    for run in (1, 2):
        ingest(warehouse, YESTERDAY, run)
    lock, before = warehouse.lock_file("optimize-records"), paths(warehouse)
    assert lock is not None
    with locked(lock, CLOCK), pytest.raises(LockHeld):
        maintain(warehouse, RECORDS, CLOCK)
    assert paths(warehouse) == before


def test_deltalake_commits_nothing_to_tables_with_domains(warehouse: Warehouse) -> None:
    """docs/maintenance.md names these tables, and what deltalake says."""
    for run in (1, 2):
        ingest(warehouse, YESTERDAY, run)
    tables = {name: deltalake.DeltaTable(location) for name, location in warehouse.locations.items()}
    of_spark = {name for name, table in tables.items() if "domainMetadata" in (table.protocol().writer_features or ())}
    assert of_spark == {"records", "restore_map"}
    for commit in (tables["records"].optimize.compact, tables["records"].delete):
        with pytest.raises(CommitFailedError, match=r"^Unsupported table features required: \[DomainMetadata\]$"):
            commit()


def left_free(monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    """Let the disk have this many bytes free."""
    monkeypatch.setattr("shutil.disk_usage", lambda _: SimpleNamespace(free=size))


def test_records_are_not_rewritten_on_a_disk_that_cannot_hold_them(
    warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Spark would leave the files of the rewrite that failed, each night more: they filled the disk for a week."""
    for run in (1, 2):
        ingest(warehouse, YESTERDAY, run)
    before = paths(warehouse)
    needed = sum(path.stat().st_size for path in before)
    left_free(monkeypatch, needed - 1)
    disk = re.escape(str(min(before).parents[1]))
    problem = (
        rf"^2 files of 1 day of table records are not joined: that needs .* and the disk of {disk} has .* MB free$"
    )
    with pytest.raises(TableError, match=problem):
        maintain(warehouse, RECORDS, CLOCK)
    assert paths(warehouse) == before
    left_free(monkeypatch, needed)
    assert maintain(warehouse, RECORDS, CLOCK)[0].after.count == 1


def test_unneeded_files_are_removed_although_a_rewrite_fails(
    warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A full disk stayed full: the files that nobody needs were removed only after the days had been rewritten."""
    for run in (1, 2):
        ingest(warehouse, YESTERDAY, run)
    needed, left = paths(warehouse), left_behind(warehouse, 0, WEEK_S // 3600)
    left_free(monkeypatch, 0)
    with pytest.raises(TableError, match="are not joined"):
        maintain(warehouse, RECORDS, CLOCK)
    assert paths(warehouse) == {*needed, left[0]}


def test_a_table_that_a_later_version_added(warehouse: Warehouse) -> None:
    """Before a run of that version has created it, there is nothing to do."""
    shutil.rmtree(warehouse.locations["acls"].removeprefix("file:"))
    (done,) = maintain(warehouse, replace(RECORDS, tables=("acls",)), CLOCK)
    assert (done.table, done.days, done.removed.count) == ("acls", 0, 0)


@pytest.mark.proof
def test_a_broken_table_is_named(warehouse: Warehouse) -> None:
    """A missing file is one line with Delta's message, and Spark's settings are restored."""
    for run in (1, 2):
        ingest(warehouse, YESTERDAY, run)
    next(iter(paths(warehouse))).unlink()
    with pytest.raises(TableError, match=r"^table records cannot be maintained: "):
        maintain(warehouse, RECORDS, CLOCK)
    assert warehouse.spark.conf.get("parquet.block.size", None) is None


def test_checksums_of_commits_that_have_left_the_log(warehouse: Warehouse) -> None:
    """Spark writes one beside each of its commits, and Delta Kernel removes only the commits."""
    log = Path(warehouse.locations["records"].removeprefix("file:")) / "_delta_log"
    for text in ("one", "two", "three"):
        warehouse.spark.sql(f"COMMENT ON TABLE {warehouse.identifiers['records']} IS '{text}'")
        for path in log.iterdir():
            os.utime(path, (time.time() - WEEK_S,) * 2)
        warehouse.kernel.checkpoint(warehouse.locations["records"])
    gone, *there = sorted(log.glob("[0-9]*.crc"))
    assert [path.with_suffix(".json").exists() for path in (gone, *there)] == [False, True, True]
    maintain(warehouse, RECORDS, CLOCK)
    assert sorted(log.glob("[0-9]*.crc")) == there
    assert not (log / f".{gone.name}.crc").exists()


@pytest.mark.parametrize("before", ["", "{root}/", "file:{root}/", "file://{root}/"])
def test_a_file_that_the_log_names_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, before: str) -> None:
    """It stays however the log spells its path: Delta's protocol allows relative and absolute ones."""
    folder = tmp_path / "write_date=2026-01-01"
    folder.mkdir()
    for name in ("live", "dead"):
        (folder / f"{name}.parquet").write_bytes(b"x")
        os.utime(folder / f"{name}.parquet", (1, 1))
    path = f"{before.format(root=tmp_path)}{folder.name}/live.parquet"
    live = LiveFile(path=path, day=date(2026, 1, 1), size=1, modified_at_ms=1000, rows=1)
    monkeypatch.setattr(Storage, "names", lambda *_: [folder.name])
    kernel = SimpleNamespace(
        storage=Storage(jvm=None, conf=None),
        live_files=lambda _: [live],
        table_property=lambda *_: None,
    )
    name = ADMIN_ACTIONS.name
    lake: Any = SimpleNamespace(
        kernel=kernel, locations={name: f"file:{tmp_path}"}, has=lambda _: True, state=lambda _: None
    )
    (maintained,) = maintain(lake, MaintainOptions(tables=(name,), dry_run=True), CLOCK)
    assert maintained.removed == Files(count=1, size=1)


def test_folders_within_a_day_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The time of a folder is not that of the files in it, which may be new, or named in the log: it is left alone.

    Hidden files are left alone as well, as by VACUUM.
    """
    inner = tmp_path / "write_date=2026-01-01" / "inner"
    inner.mkdir(parents=True)
    (inner / "live.parquet").write_bytes(b"x")
    hidden = [inner.with_name(".unfinished.parquet"), inner.with_name("_unfinished.parquet")]
    for file in hidden:
        file.touch()
    for old in (inner, *hidden):
        os.utime(old, (1, 1))
    path = f"{inner.parent.name}/inner/live.parquet"
    live = LiveFile(path=path, day=date(2026, 1, 1), size=1, modified_at_ms=1000, rows=1)
    monkeypatch.setattr(Storage, "names", lambda *_: [inner.parent.name])
    removed: list[str] = []
    monkeypatch.setattr(Storage, "delete", lambda _, url: removed.append(url))
    kernel = SimpleNamespace(storage=Storage(jvm=None, conf=None), live_files=lambda _: [live])
    lake: Any = SimpleNamespace(kernel=kernel, locations={ADMIN_ACTIONS.name: f"file:{tmp_path}"}, state=lambda _: None)
    options = MaintainOptions(keep_hours=0, force=True)
    assert maintain_module._vacuum(lake, ADMIN_ACTIONS, options, CLOCK) == Files()
    assert removed == []


class _Folders(Storage):
    """Folders of this machine without a JVM."""

    def names(self, url: str) -> list[str]:
        return sorted(path.name for path in Path(url.removeprefix("file:")).iterdir())

    def delete(self, url: str) -> None:
        Path(url.removeprefix("file:")).unlink()


@pytest.mark.parametrize("is_planted_late", [False, True])
def test_files_behind_a_link_are_not_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_planted_late: bool
) -> None:
    """Whoever may write a shared warehouse could put a link in place of a day, to a folder that only we may write."""
    private, table = tmp_path / "private", tmp_path / "records"
    days = [table / f"{INGEST_DATE}=2026-01-0{day}" for day in (1, 2)]
    for folder in (private, *days, table / "_delta_log"):
        folder.mkdir(parents=True)
    for folder in (private, *days):
        (folder / "old").write_text("content")
    storage = _Folders(jvm=None, conf=None)

    def plant(*_: object) -> list[str]:
        shutil.rmtree(days[1])
        days[1].symlink_to(private)
        return []

    if not is_planted_late:
        plant()
    monkeypatch.setattr(maintain_module, "removed_since", plant if is_planted_late else lambda *_: [])
    kernel = SimpleNamespace(storage=storage, live_files=lambda _: [])
    warehouse: Any = SimpleNamespace(
        kernel=kernel, locations={"records": f"file:{table}"}, state=lambda _: SimpleNamespace()
    )
    options, clock = MaintainOptions(keep_hours=-1, force=True), SimpleNamespace(now_ms=lambda: time.time_ns() // 10**6)
    removed = maintain_module._vacuum(warehouse, RECORDS_TABLE, options, cast("Any", clock))
    assert removed.count == 1 + is_planted_late
    assert not (days[0] / "old").exists()
    assert (private / "old").read_text() == "content"


def test_old_files_of_a_change_data_feed_are_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are in a folder of their own that no file of a version is in; those of the last days stay for readers of the feed."""
    private, table = tmp_path / "private", tmp_path / "records"
    feed = table / "_change_data"
    for folder in (private, table / "_delta_log", feed / f"{INGEST_DATE}=2026-01-01"):
        folder.mkdir(parents=True)
    (feed / f"{INGEST_DATE}=2026-01-02").symlink_to(private)
    old = [private / "a", feed / "a", feed / f"{INGEST_DATE}=2026-01-01" / "a"]
    for file in old:
        file.write_text("content")
        os.utime(file, (1, 1))
    (feed / "new").write_text("content")
    monkeypatch.setattr(maintain_module, "removed_since", lambda *_: [])
    kernel = SimpleNamespace(storage=_Folders(jvm=None, conf=None), live_files=lambda _: [])
    warehouse: Any = SimpleNamespace(
        kernel=kernel, locations={"records": f"file:{table}"}, state=lambda _: SimpleNamespace()
    )
    options, clock = MaintainOptions(keep_hours=1, force=True), SimpleNamespace(now_ms=lambda: time.time_ns() // 10**6)
    removed = maintain_module._vacuum(warehouse, RECORDS_TABLE, options, cast("Any", clock))
    assert removed.count == 2
    assert [file.exists() for file in old] == [True, False, False]
    assert (feed / "new").exists()
