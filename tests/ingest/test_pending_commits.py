"""Rows that a dead run left pending are committed by the next one, also after VACUUM and for earlier releases."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable

from kafka_lagoon.delta.arrow import plain_table
from kafka_lagoon.delta.files import parquet_bytes
from kafka_lagoon.delta.kernel import Kernel
from kafka_lagoon.delta.warehouse import Warehouse
from kafka_lagoon.errors import TableError
from kafka_lagoon.ingest.archive_lock import archive_lock
from kafka_lagoon.ingest.commit import commit
from kafka_lagoon.ingest.next_offsets import PendingFile
from kafka_lagoon.ingest.pending_commits import commit_pending_of_all
from kafka_lagoon.ingest.pending_files import PendingFiles
from kafka_lagoon.tables.record_tables import RECORD_RANGES, RECORDS
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


def test_a_table_that_was_replaced(warehouse: Warehouse):
    """With a new records table beside old ranges everything would be archived twice in the ranges: it is refused."""
    with archive_lock(warehouse, CLUSTER, CLOCK) as lock:
        commit(lock, run(lock, 1, 0, 5))
    warehouse.kernel.storage.delete(warehouse.locations["records"])
    table = RECORDS
    warehouse.kernel.create(warehouse.locations["records"], table.delta_schema(), table.partition_by, table.properties)
    with pytest.raises(TableError, match="record_ranges is not"), archive_lock(warehouse, CLUSTER, CLOCK):
        pass


def test_ranges_that_were_removed(by_kernel: Writer, warehouse: Warehouse):
    """A new record_ranges beside old records has a gap: it is refused until the user allows it."""
    ingest(by_kernel, 1, 5)
    ingest(by_kernel, 2, 9)
    table = RECORD_RANGES
    warehouse.kernel.storage.delete(warehouse.locations[table.name])
    warehouse.kernel.create(warehouse.locations[table.name], table.delta_schema(), table.partition_by, table.properties)
    with pytest.raises(TableError, match="--after-restore keep"), by_kernel.lock():
        pass
    with archive_lock(warehouse, CLUSTER, CLOCK, after_restore="keep") as lock:
        assert "rebuilt" in next(iter(lock.reports.values())).text
        commit(lock, run(lock, 3, 9, 12))
    with by_kernel.lock():
        pass
    assert contents(warehouse)[:2] == (list(range(12)), [(5, 9), (9, 12)])
