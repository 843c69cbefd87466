"""Files that no table names, temporary files and held locks are found in a warehouse."""

import fcntl
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from tests.proof.soak import disk
from tests.proof.soak.soak import growth


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    """Make a warehouse of one table with two versions."""
    for day in ("2026-11-01", "2026-11-02"):
        rows = pa.table({"lag": [1], "snapshot_date": [day]})
        write_deltalake(str(tmp_path / "lag"), rows, partition_by=["snapshot_date"], mode="append")
    (tmp_path / ".lagoon-commit.lock").touch()
    return tmp_path


def test_nothing_is_left(lake: Path) -> None:
    """Files of the table, of its log, Hadoop's checksums of them, and a free lock are no remains."""
    (table,) = disk.tables(lake)
    (table / "_delta_log" / ".00000000000000000000.json.crc").touch()
    assert disk.unneeded(table) == disk.temporary(lake) == [*disk.held(lake)] == []
    size = disk.size(table)
    assert (size.log_files, size.files, size.pending) == (3, 2, 0)
    assert min(size.log_bytes, size.bytes) > 0


def test_planted_remains_are_found(lake: Path) -> None:
    """A data file that no version names, files beside the tables and in a log, and a lock that somebody holds."""
    table = lake / "lag"
    orphan = table / "snapshot_date=2026-11-01" / "orphan.parquet"
    planted = [
        lake / "lost.tmp",
        table / "_delta_log" / ".0.json.tmp",
        table / "_delta_log" / ".gone.crc",
        table / "stray.parquet",
    ]
    for path in (orphan, *planted):
        path.touch()
    assert disk.unneeded(table) == [orphan]
    assert disk.temporary(lake) == sorted(planted)
    with (lake / ".lagoon-commit.lock").open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert [*disk.held(lake)] == [lake / ".lagoon-commit.lock"]
    assert [*disk.held(lake)] == []


def test_commits_leave_the_log_early(lake: Path) -> None:
    """The commit changes properties and nothing else."""
    before = DeltaTable(str(lake / "lag"))
    disk.keep_commits_for(lake / "lag", 7, 5)
    after = DeltaTable(str(lake / "lag"))
    assert after.version() == before.version() + 1
    assert after.metadata().configuration == {
        "delta.checkpointInterval": "5",
        "delta.logRetentionDuration": "interval 7 minutes",
        "delta.deletedFileRetentionDuration": "interval 7 minutes",
    }
    assert after.file_uris() == before.file_uris()
    assert after.schema() == before.schema()


def test_growth_of_a_table() -> None:
    """A log is compared by its size, data by what is added between two measurements."""
    sizes = [
        disk.Size(log_files=9, log_bytes=1024, files=10 * number, bytes=2048 * number, pending=1) for number in range(4)
    ]
    figures = growth("lag", sizes)
    assert figures["log of lag: files"].values == [9] * 4
    assert figures["log of lag: size"].values == [1] * 4
    assert figures["lag: files added"].values == [10] * 3
    assert figures["lag: size added"].values == [2] * 3
