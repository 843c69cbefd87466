"""Staged files that are missing before Spark has written them are read again; other tests are in test_commit.py."""

from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kafka_lagoon.delta.lock import locked
from kafka_lagoon.delta.open_warehouse import open_warehouse
from kafka_lagoon.delta.storage import Storage
from kafka_lagoon.delta.warehouse import Warehouse
from kafka_lagoon.errors import ChecksFailed, LockHeld, RangesPending, TableError
from kafka_lagoon.fetch.archived import Archived
from kafka_lagoon.fetch.offset_specs import AtTime
from kafka_lagoon.ingest import pending_commits, staged_commit, staging_folder
from kafka_lagoon.ingest.next_offsets import LastRun
from kafka_lagoon.ingest.staged_commit import commit_staged, staged_lock, store_examined
from kafka_lagoon.ingest.staging_folder import StagingFolder
from kafka_lagoon.tables.record_tables import RECORD_RANGES
from kafka_lagoon.tables.table import Table
from tests.clock import CLOCK
from tests.delta import foreign
from tests.delta.record_samples import CLUSTER, run
from tests.effort import first
from tests.ingest.test_staging_folder import Staged, staged_file
from tests.ingest.writers import Died, Writer, contents, dies, ingest, remove
from tests.proof.points.watch import Watch
from tests.warehouses import settings

pytestmark = pytest.mark.spark


@pytest.mark.proof
def test_staged_files_that_are_gone_are_read_again(warehouse: Warehouse, tmp_path: Path):
    """If Spark had not written them yet, next offsets go back to those of the run before."""
    writer = Writer(lambda: staged_lock(warehouse, str(tmp_path / "staging"), CLUSTER, CLOCK), commit_staged)
    with dies(Storage, "write_whole", 1), pytest.raises(Died):
        ingest(writer, 1, 5)
    remove(tmp_path, "0192-0001-0.parquet")
    with writer.lock() as lock:
        assert [report.is_loss for report in lock.reports.values()] == [False]
        assert lock.topics == {}
    ingest(writer, 2, 9)
    assert contents(warehouse)[:2] == (list(range(9)), [(0, 9)])


def test_staged_files_that_another_process_commits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where no lock is, it has appended the rows of a dead run meanwhile, and removed the files: nothing is missing."""
    storage, added = Staged(), list[str]()
    file = staged_file("ingest_date=2026-11-21/run-1.parquet")
    last = LastRun(
        ingest_id="run-1",
        sequence=1,
        ingest_date="2026-11-21",
        base_version=0,
        ranges=file,
        problems=None,
        records=(file,),
    )

    def gone(url: str) -> int:
        added.append(url)  # the other process commits before this one looks at the file
        return 0

    storage.size = gone  # type: ignore[method-assign]
    folder = StagingFolder(storage=storage, root="staging", is_locked=False)  # type: ignore[arg-type]
    warehouse: Any = SimpleNamespace(state=lambda _: SimpleNamespace(version=7))
    pending: Any = SimpleNamespace(cluster_id=CLUSTER)
    monkeypatch.setattr(staged_commit, "is_added", lambda *_: bool(added))
    assert not staged_commit._is_lost(warehouse, folder, CLUSTER, last)
    assert staged_commit._staged_or_rebuilt(warehouse, folder, pending, RECORD_RANGES, last, {}, file) == []

    def unreadable(*_: object) -> None:
        raise TableError("there is no file")

    checked = list[int]()
    monkeypatch.setattr(staged_commit, "_append", unreadable)
    monkeypatch.setattr(staged_commit, "_check", lambda *arguments: checked.append(arguments[-1]))
    staged_commit._add(warehouse, CLUSTER, RECORD_RANGES, last, [("staging/file", file)])
    assert checked == [1]
    added.clear()
    with pytest.raises(TableError, match="there is no file"):
        staged_commit._add(warehouse, CLUSTER, RECORD_RANGES, last, [("staging/file", file)])


def spark_writer(
    warehouse: Warehouse, tmp_path: Path, cluster_id: str = CLUSTER, after_restore: str | None = None
) -> Writer:
    """Writes with Spark, as settings may select."""
    staging = str(tmp_path / "staging")
    return Writer(lambda: staged_lock(warehouse, staging, cluster_id, CLOCK, 0, after_restore), commit_staged)


@pytest.mark.proof
def test_a_restore_of_records(warehouse: Warehouse, tmp_path: Path):
    """While a run reads and after it: refused with the statement that undoes it, or kept."""
    writer = spark_writer(warehouse, tmp_path)
    ingest(writer, 1, 5)
    ingest(writer, 2, 9)
    with writer.lock() as lock:
        made = run(lock, 3, 9, 12)
        foreign.restore(warehouse, "records", 1)
        with pytest.raises(
            TableError, match=r"^table records was restored to version 1 \(version 3.*nothing is committed"
        ):
            writer.commit(lock, made)
    with pytest.raises(TableError, match="RESTORE TABLE records TO VERSION AS OF 2 brings them back"), writer.lock():
        pass
    warehouse.spark.sql(f"RESTORE {warehouse.identifiers['records']} TO VERSION AS OF 2")
    ingest(writer, 4, 12)
    assert contents(warehouse)[:2] == (list(range(12)), [(0, 5), (5, 9), (9, 12)])
    foreign.overwrite(warehouse, "records")
    ingest(spark_writer(warehouse, tmp_path, after_restore="keep"), 5, 14)
    assert contents(warehouse)[0] == [12, 13]


@pytest.mark.proof
def test_a_run_without_records_keeps_the_table_as_it_is(warehouse: Warehouse, tmp_path: Path):
    """The next run does not ask again. A run that dies while it stores that leaves next offsets that can be read."""
    writer, keeping = spark_writer(warehouse, tmp_path), spark_writer(warehouse, tmp_path, after_restore="keep")
    ingest(writer, 1, 5)
    foreign.overwrite(warehouse, "records")
    with keeping.lock() as lock, dies(Storage, "write_whole", 1), pytest.raises(Died):
        store_examined(lock, {})
    with writer.lock() as lock:
        assert lock.topics["t"].partitions[0].next_offset == 5
    foreign.overwrite(warehouse, "record_ranges")
    with pytest.raises(TableError, match="had rows replaced"), writer.lock():
        pass
    for _ in range(2):
        with keeping.lock() as lock:
            store_examined(lock, {})
    with writer.lock() as lock:
        assert (lock.unstored({}), lock.notes) == (None, [])
    ingest(writer, 2, 9)
    assert contents(warehouse)[0] == [5, 6, 7, 8]


def test_a_lock_that_is_held_for_long(warehouse: Warehouse, tmp_path: Path):
    """A run that waits in vain for the lock of commits has staged no next offsets: another one reads the same offsets."""
    writer = spark_writer(warehouse, tmp_path)
    commits = Path(warehouse.locations["records"].removeprefix("file:")).parent / ".lagoon-commit.lock"
    with writer.lock() as lock, locked(commits, CLOCK), pytest.raises(LockHeld):
        commit_staged(lock, run(lock, 1, 0, 5), wait_ms=0)
    with writer.lock() as lock:
        assert (lock.topics, lock.fence.version) == ({}, 1)


@pytest.mark.proof
def test_rows_that_are_deleted_before_a_run_is_marked(warehouse: Warehouse, tmp_path: Path):
    """The next run misses them, and says how to go on; it then adds the ranges and problems of the run that died."""
    writer = spark_writer(warehouse, tmp_path)
    with dies(staged_commit, "_append", 1), pytest.raises(Died):
        ingest(writer, 1, 5)
    warehouse.spark.sql(f"DELETE FROM {warehouse.identifiers['records']} WHERE offset = 2")
    for _ in range(2):
        with (
            pytest.raises(ChecksFailed, match=r"records holds 4 of 5 rows .* give --after-restore keep"),
            writer.lock(),
        ):
            pass
    with spark_writer(warehouse, tmp_path, after_restore="keep").lock():
        pass
    ingest(writer, 2, 9)
    assert contents(warehouse) == ([0, 1, 3, 4, 5, 6, 7, 8], [(0, 5), (5, 9)], [0, 5])


@pytest.mark.proof
def test_ranges_that_spark_cannot_write(warehouse: Warehouse, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """The error says that the records are committed, and the next run adds the ranges."""
    writer, real = spark_writer(warehouse, tmp_path), staged_commit._append

    def append(written: Warehouse, table: Table, *arguments: Any) -> None:
        if table == RECORD_RANGES:
            raise TableError("no space is left")
        real(written, table, *arguments)

    with monkeypatch.context() as patch:
        patch.setattr(staged_commit, "_append", append)
        with pytest.raises(RangesPending, match=r"^the records of ingest 0192-0001 are committed"):
            ingest(writer, 1, 5)
    assert contents(warehouse) == (list(range(5)), [], [])
    ingest(writer, 2, 9)
    assert contents(warehouse) == (list(range(9)), [(0, 5), (5, 9)], [0, 5])


def test_starts_before_the_first_run(warehouse: Warehouse, tmp_path: Path):
    """Topics of which no partition answered are stored before there is a run, and kept beside later ones."""
    silent = Archived(topic_id="id", partitions={}, unstarted={0: AtTime(5)})
    writer, known = spark_writer(warehouse, tmp_path), {}
    for name in ("a", "b"):
        with writer.lock() as lock:
            store_examined(lock, {**lock.topics, name: silent})
        known[name] = silent
        with writer.lock() as lock:
            assert (lock.topics, lock.fence.version) == (known, 1)
            store_examined(lock, lock.topics)
    (stored,) = (tmp_path / "staging").rglob("*.json")
    assert stored.name.startswith("000000000000.")


def test_next_offsets_that_the_other_writer_keeps(by_kernel: Writer, warehouse: Warehouse, tmp_path: Path):
    """The message names the settings, and does not advise to remove tables; it is the same for both writers and two folders."""
    ingest(by_kernel, 1, 5)
    with pytest.raises(TableError, match=r"^table records has records .* another records\.writer or records\.staging"):
        ingest(spark_writer(warehouse, tmp_path), 2, 9)
    ingest(by_kernel, 3, 9)
    assert contents(warehouse)[:2] == (list(range(9)), [(0, 5), (5, 9)])


@pytest.mark.proof
def test_next_offsets_that_are_staged_elsewhere(by_kernel: Writer, warehouse: Warehouse, tmp_path: Path):
    """An archive of Spark's writer is refused to Delta Kernel, and to Spark with another folder."""
    ingest(spark_writer(warehouse, tmp_path), 1, 5)
    for writer in (by_kernel, spark_writer(warehouse, tmp_path / "other")):
        with pytest.raises(
            TableError, match=r"^table records has records .* another records\.writer or records\.staging"
        ):
            ingest(writer, 2, 9)


@pytest.mark.proof
def test_a_staging_folder_of_another_warehouse(warehouse: Warehouse, tmp_path: Path):
    """The records that the other warehouse has are missed in this one, also after the first run."""
    ingest(spark_writer(warehouse, tmp_path), 1, 5)
    another = open_warehouse(warehouse.spark, settings(f"warehouse={tmp_path / 'another'}"), CLOCK)
    with pytest.raises(TableError, match=r"^table records does not have the records of run 1 .* another warehouse"):
        ingest(spark_writer(another, tmp_path), 2, 9)
    ingest(spark_writer(another, tmp_path, after_restore="keep"), 3, 9)
    assert contents(another)[0] == [5, 6, 7, 8]


@pytest.mark.proof
def test_next_offsets_are_whole_when_they_are_there(warehouse: Warehouse, tmp_path: Path):
    """The file gets its name with its content: a run that dies before leaves none that the next run could not read."""
    with spark_writer(warehouse, tmp_path).lock() as lock:
        folder = Path(lock.root.removeprefix("file:"))
    folder.mkdir(parents=True, exist_ok=True)  # how files came into a new folder cannot always be seen
    with Watch(folder) as watch:
        ingest(spark_writer(warehouse, tmp_path), 1, 5)
    name = f"000000000001{staging_folder._NEXT_OFFSETS}"
    assert [change.kind for change in watch.changes if change.path == name] == ["new"]


@pytest.mark.parametrize("cluster_id", ["../victim", "..", ".", "a/../../victim"])
def test_a_cluster_id_that_is_a_path(warehouse: Warehouse, tmp_path: Path, cluster_id: str):
    """Files outside the cluster's own staging folder are not read, written or removed."""
    others = [tmp_path / "victim" / "precious", tmp_path / "staging" / "other" / "000000000001.x"]
    for path in others:
        path.parent.mkdir(parents=True)
        path.write_text("precious")
    with spark_writer(warehouse, tmp_path, cluster_id).lock() as lock:
        folder = Path(lock.root.removeprefix("file:"))
        assert folder.resolve().parent == (tmp_path / "staging").resolve()
        day = folder / "ingest_date=2026-11-21"
        kept = folder / "what nobody of us has staged"
        for path in (day / "a.parquet", kept):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("x")
        last = LastRun(ingest_id="i", sequence=1, ingest_date="2026-11-21", base_version=0, ranges=None, problems=None)
        StagingFolder(storage=warehouse.kernel.storage, root=lock.root).clear(last)
    assert (day.exists(), kept.exists()) == (False, True)
    assert [path.read_text() for path in others] == ["precious", "precious"]


def append_by_kernel(
    warehouse: Warehouse, table: Table, urls: Sequence[str], cluster_id: str, last_run: LastRun
) -> None:
    """Append staged files as Spark does: not if the table already has the run's number."""
    rows = pa.concat_tables(pq.read_table(url.removeprefix("file:")) for url in urls)
    pending_commits._append(warehouse, table, cluster_id, last_run, rows)


@pytest.mark.parametrize("is_by_spark", first([False, True]))
def test_without_a_lock_one_of_several_runs_commits(
    warehouse: Warehouse, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, is_by_spark: bool
):
    """A run that was paused while others have committed ends with LockHeld, and its staged files are gone."""
    monkeypatch.setattr(Warehouse, "lock_file", lambda *_: None)
    if not is_by_spark:  # Spark takes seconds for each run
        monkeypatch.setattr(staged_commit, "_append", append_by_kernel)
        monkeypatch.setattr(staged_commit, "_check", lambda *_: None)
    writer = spark_writer(warehouse, tmp_path)
    with writer.lock() as lock:
        made = run(lock, 1, 0, 5, problems=1)
        ingest(writer, 2, 7)
        ingest(writer, 3, 9)
        with pytest.raises(LockHeld, match="it committed in the meantime"):
            commit_staged(lock, made)
    ingest(writer, 4, 12)
    assert contents(warehouse)[:2] == (list(range(12)), [(0, 7), (7, 9), (9, 12)])
    assert not [path for path in (tmp_path / "staging").rglob("*.parquet") if path.is_file()]


def test_without_a_lock_a_run_clears_late(warehouse: Warehouse, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """It was paused before it removed its files, and others have committed since."""
    monkeypatch.setattr(Warehouse, "lock_file", lambda *_: None)
    writer, clear = spark_writer(warehouse, tmp_path), StagingFolder.clear
    with monkeypatch.context() as patch:

        def paused(self: StagingFolder, last: LastRun) -> None:
            patch.setattr(StagingFolder, "clear", clear)
            ingest(writer, 2, 9)
            clear(self, last)

        patch.setattr(StagingFolder, "clear", paused)
        ingest(writer, 1, 5)
    ingest(writer, 3, 12)
    assert contents(warehouse)[:2] == (list(range(12)), [(0, 5), (5, 9), (9, 12)])
