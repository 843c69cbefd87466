"""Rows that a dead run left pending are committed by the next one, also after VACUUM and for earlier releases."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from shutil import copytree, rmtree
from typing import Any, cast

import pytest
from deltalake import DeltaTable

from kafka_lagoon.delta.arrow import plain_table
from kafka_lagoon.delta.files import parquet_bytes
from kafka_lagoon.delta.kernel import Kernel
from kafka_lagoon.delta.warehouse import Warehouse
from kafka_lagoon.errors import TableError
from kafka_lagoon.ingest import commit as ingest_commit
from kafka_lagoon.ingest.archive_lock import archive_lock
from kafka_lagoon.ingest.commit import commit, commit_examined
from kafka_lagoon.ingest.next_offsets import LastRun, NextOffsets, PendingFile
from kafka_lagoon.ingest.pending_commits import commit_pending_of_all, refuse_older_records
from kafka_lagoon.ingest.pending_files import PendingFiles
from kafka_lagoon.tables.record_tables import RECORD_PROBLEMS, RECORD_RANGES, RECORDS
from kafka_lagoon.tables.table import Table
from tests.clock import CLOCK
from tests.delta.record_samples import CLUSTER, DAY, run
from tests.ingest.writers import Died, Writer, contents, dies, ingest, reports

pytestmark = pytest.mark.spark


def test_pending_commits_are_made_before_old_files_are_removed(by_kernel: Writer, warehouse: Warehouse):
    """Maintenance commits the rows that a dead run left pending."""
    with dies(Kernel, "append", 1), pytest.raises(Died):
        ingest(by_kernel, 1, 5)
    assert contents(warehouse)[1:] == ([], [])
    commit_pending_of_all(warehouse, CLOCK)
    assert contents(warehouse) == (list(range(5)), [(0, 5)], [0])


def vacuum(warehouse: Warehouse) -> list[str]:
    """Remove unneeded files at once with both modes of delta-rs; return the files that it would remove of `records`.

    Of that it only says so: its commits do not know domain metadata.
    """
    for table in ("record_ranges", "record_problems"):
        delta = DeltaTable(warehouse.locations[table].removeprefix("file:"))
        for full in (False, True):
            delta.vacuum(0, dry_run=False, enforce_retention_duration=False, full=full)
    return DeltaTable(warehouse.locations["records"].removeprefix("file:")).vacuum(0, True, False, full=True)


def vacuum_by_spark(warehouse: Warehouse) -> None:
    """Do the same with Spark, for table records; VACUUM LITE removes only files in the log, and no pending file."""
    conf = {
        "spark.databricks.delta.retentionDurationCheck.enabled": "false",
        "spark.sql.sources.parallelPartitionDiscovery.parallelism": "2",
    }
    for key, value in conf.items():
        warehouse.spark.conf.set(key, value)
    warehouse.spark.sql(f"VACUUM {warehouse.identifiers['records']} RETAIN 0 HOURS").collect()
    for key in conf:
        warehouse.spark.conf.unset(key)


@pytest.mark.parametrize("by_spark", [False, pytest.param(True, marks=pytest.mark.proof)])
def test_vacuum_leaves_what_has_still_to_be_added(by_kernel: Writer, warehouse: Warehouse, by_spark: bool):
    """A run dies before the commit of its ranges, VACUUM removes files, and nothing is missing."""
    ingest(by_kernel, 1, 5)
    with dies(Kernel, "append", 1), pytest.raises(Died):
        ingest(by_kernel, 2, 9)
    unnamed = Path(warehouse.locations["records"].removeprefix("file:")) / "unnamed.parquet"
    unnamed.write_bytes(b"")
    assert vacuum(warehouse) == [unnamed.name]
    if by_spark:
        vacuum_by_spark(warehouse)
        assert not unnamed.exists()
    ingest(by_kernel, 3, 9)
    assert contents(warehouse) == (list(range(9)), [(0, 5), (5, 9), (9, 9)], [0, 5, 9])


def beside(pending: PendingFiles, _: int, ingest_id: str, table: Table, rows: Sequence[Any]) -> PendingFile | None:
    """Keep rows as earlier releases did: as a file in the folder of their table."""
    if not rows:
        return None
    name, data = f"{table.partition_by}={DAY}/{ingest_id}.parquet", parquet_bytes(plain_table(table, rows))
    folder = pending.root.rpartition("/")[0]
    stored = pending.storage.write(f"{folder}/{table.name}/{name}", data)
    return PendingFile(name=name, size=stored.size, rows=len(rows), modified_at_ms=stored.modified_at_ms)


@pytest.mark.proof
@pytest.mark.parametrize("is_vacuumed", [False, True])
def test_a_run_of_an_earlier_release(
    by_kernel: Writer, warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch, is_vacuumed: bool
):
    """Files beside the tables are added; rows that VACUUM removed are rebuilt, and no table names removed files."""
    with monkeypatch.context() as patch:
        patch.setattr(PendingFiles, "write", beside)
        with dies(Kernel, "append", 1), pytest.raises(Died):
            ingest(by_kernel, 1, 5)
    if is_vacuumed:
        vacuum(warehouse)
    assert len(reports(by_kernel)) == 2 * is_vacuumed
    assert contents(warehouse) == (list(range(5)), [(0, 5)], [] if is_vacuumed else [0])
    vacuum(warehouse)
    ingest(by_kernel, 2, 9)
    assert contents(warehouse)[:2] == (list(range(9)), [(0, 5), (5, 9)])


def replace_table(warehouse: Warehouse, table: Table) -> None:
    """Remove the folder of a table, and create the table again, as the next run does."""
    warehouse.kernel.storage.delete(warehouse.locations[table.name])
    warehouse.kernel.create(warehouse.locations[table.name], table.delta_schema(), table.partition_by, table.properties)


def test_a_table_that_was_replaced(warehouse: Warehouse):
    """With a new records table beside old ones everything would be archived twice in these: it is refused."""
    with archive_lock(warehouse, CLUSTER, CLOCK) as lock:
        commit(lock, run(lock, 1, 0, 5, problems=1))
    replace_table(warehouse, RECORDS)
    with pytest.raises(TableError, match="record_ranges is not"), archive_lock(warehouse, CLUSTER, CLOCK):
        pass
    replace_table(warehouse, RECORD_RANGES)
    with pytest.raises(TableError, match="record_problems is not"), archive_lock(warehouse, CLUSTER, CLOCK):
        pass
    replace_table(warehouse, RECORD_PROBLEMS)
    with archive_lock(warehouse, CLUSTER, CLOCK) as lock:
        commit(lock, run(lock, 2, 0, 5))


def test_next_offsets_that_are_kept_elsewhere(warehouse: Warehouse):
    """A run of the other writer has archived records, and its ranges are pending: from the start, each would be archived twice."""
    with archive_lock(warehouse, CLUSTER, CLOCK) as lock:
        files = run(lock, 1, 0, 5).files
        warehouse.kernel.append(warehouse.state("records"), files, (RECORDS.partition_by, DAY), fence=lock.fence)
    with (
        pytest.raises(TableError, match=r"next offsets are not where .* another records\.writer or records\.staging"),
        archive_lock(warehouse, CLUSTER, CLOCK),
    ):
        pass
    with archive_lock(warehouse, "another cluster", CLOCK):
        pass


@dataclass(frozen=True)
class Numbered:
    """Stands for a warehouse and its kernel: the number of the last run that each table has rows of."""

    numbers: Mapping[str, int]

    @property
    def kernel(self) -> "Numbered":
        """Return itself."""
        return self

    def state(self, table: str) -> str:
        """Return the name of the table as its state."""
        return table

    def last_transaction(self, state: str, app_id: str) -> int | None:
        """Return the number of a table's last run."""
        assert app_id == f"lagoon/records/{CLUSTER}"
        return self.numbers.get(state)


@pytest.mark.parametrize("later", ["record_ranges", "record_problems"])
def test_an_older_copy_of_records(later: str):
    """The numbers of runs begin again there: ranges of the next runs would count as added, and would be left out."""
    last_run = LastRun(ingest_id="i", sequence=5, ingest_date="2026-11-28", base_version=7, ranges=None, problems=None)
    numbers = {"records": 5, "record_ranges": 5, "record_problems": 3}
    refuse_older_records(cast("Warehouse", Numbered(numbers)), CLUSTER, last_run)
    refuse_older_records(cast("Warehouse", Numbered({later: 8})), CLUSTER, None)  # said otherwise
    refuse_older_records(cast("Warehouse", Numbered({**numbers, "records": 8, later: 8})), CLUSTER, last_run)
    with pytest.raises(TableError, match=rf"^table {later} has rows of run 8 .* records has is 5: an older copy"):
        refuse_older_records(cast("Warehouse", Numbered({**numbers, later: 8})), CLUSTER, last_run)


def test_an_older_copy_of_records_is_refused(by_kernel: Writer, warehouse: Warehouse, tmp_path: Path):
    """A run under the lock would archive again what the copy lacks, and add no ranges."""
    folder = Path(warehouse.locations["records"].removeprefix("file:"))
    ingest(by_kernel, 1, 5)
    copytree(folder, tmp_path / "copy")
    ingest(by_kernel, 2, 9)
    rmtree(folder)
    copytree(tmp_path / "copy", folder)
    with pytest.raises(TableError, match="an older copy of records was put back, or a commit"), by_kernel.lock():
        pass


def test_a_table_that_was_replaced_while_commits_were_pending(by_kernel: Writer, warehouse: Warehouse):
    """Maintenance refuses to commit: with the last ranges the next run would not see that the others are gone."""
    ingest(by_kernel, 1, 5)
    with dies(Kernel, "append", 1), pytest.raises(Died):
        ingest(by_kernel, 2, 9)
    replace_table(warehouse, RECORD_RANGES)
    with pytest.raises(TableError, match=r"^table record_ranges .*--after-restore keep"):
        commit_pending_of_all(warehouse, CLOCK)
    assert contents(warehouse)[1:] == ([], [0])
    with pytest.raises(TableError, match=r"^table record_ranges .*--after-restore keep"), by_kernel.lock():
        pass


@pytest.mark.parametrize("is_idle", [False, True])
def test_problems_that_were_removed(by_kernel: Writer, warehouse: Warehouse, *, is_idle: bool):
    """It is refused until the user allows it, also if the last run had no problems; pending rows are no sign of it."""
    ingest(by_kernel, 1, 5)
    with by_kernel.lock() as lock:
        by_kernel.commit(lock, run(lock, 2, 5, 7))
    with dies(Kernel, "append", 2), pytest.raises(Died):
        ingest(by_kernel, 3, 8)
    with by_kernel.lock() as lock:
        by_kernel.commit(lock, run(lock, 4, 8, 9))
    replace_table(warehouse, RECORD_PROBLEMS)
    for _ in range(2):
        with (
            pytest.raises(TableError, match=r"^table record_problems .* run 3 .*--after-restore keep"),
            by_kernel.lock(),
        ):
            pass
    with archive_lock(warehouse, CLUSTER, CLOCK, after_restore="keep") as lock:
        if is_idle:
            commit_examined(lock, {})
        else:
            commit(lock, run(lock, 5, 9, 12))
    with by_kernel.lock():
        pass
    ingest(by_kernel, 6, 14)
    assert contents(warehouse)[2] == [9 if is_idle else 12]


def test_problems_of_an_earlier_release(by_kernel: Writer, warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch):
    """It stored no number of a run; from the next commit on a table that was removed is refused."""
    with monkeypatch.context() as patch:
        patch.setattr(ingest_commit, "NextOffsets", lambda problems_run, **more: NextOffsets(**more))  # noqa: ARG005
        ingest(by_kernel, 1, 5)
    with by_kernel.lock() as lock:
        assert lock.problems_run == 1
        by_kernel.commit(lock, run(lock, 2, 5, 7))
    replace_table(warehouse, RECORD_PROBLEMS)
    with pytest.raises(TableError, match=r"^table record_problems .* run 1 "), by_kernel.lock():
        pass


def test_ranges_that_were_removed(by_kernel: Writer, warehouse: Warehouse):
    """A new record_ranges beside old records has a gap: it is refused until the user allows it."""
    ingest(by_kernel, 1, 5)
    ingest(by_kernel, 2, 9)
    replace_table(warehouse, RECORD_RANGES)
    with pytest.raises(TableError, match="--after-restore keep"), by_kernel.lock():
        pass
    with archive_lock(warehouse, CLUSTER, CLOCK, after_restore="keep") as lock:
        assert "rebuilt" in next(iter(lock.reports.values())).text
        commit(lock, run(lock, 3, 9, 12))
    with by_kernel.lock():
        pass
    assert contents(warehouse)[:2] == (list(range(12)), [(5, 9), (9, 12)])
