"""The archive's promise: records once, accounted for once, and where to go on beside them, whatever a run dies of."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable

from kafka_lagoon.delta.arrow import parquet_bytes, plain_table
from kafka_lagoon.delta.kernel import Kernel
from kafka_lagoon.delta.schema import RECORD_RANGES, RECORDS, Table
from kafka_lagoon.delta.storage import Storage
from kafka_lagoon.delta.warehouse import Warehouse
from kafka_lagoon.errors import LockHeld, TableError
from kafka_lagoon.fetch.ranges import Position
from kafka_lagoon.ingest import staged_commit
from kafka_lagoon.ingest.archive_lock import ArchiveLock, archive_lock
from kafka_lagoon.ingest.commit import RunOutput, commit
from kafka_lagoon.ingest.next_offsets import PendingFile
from kafka_lagoon.ingest.pending_commits import commit_pending_of_all
from kafka_lagoon.ingest.pending_files import PendingFiles
from kafka_lagoon.ingest.staged_commit import commit_staged, staged_lock
from tests.clock import CLOCK
from tests.delta.record_samples import CLUSTER, DAY, run

pytestmark = pytest.mark.spark


class Died(BaseException):
    """The end of a process, as far as a test in one process can play it."""


@dataclass(frozen=True)
class Writer:
    """One of the two ways to write: through Delta Kernel, or by Spark from staged files."""

    lock: Callable[[], AbstractContextManager[ArchiveLock]]
    commit: Callable[[ArchiveLock, RunOutput], None]


@pytest.fixture
def by_kernel(warehouse: Warehouse) -> Writer:
    return Writer(lambda: archive_lock(warehouse, CLUSTER, CLOCK), commit)


@pytest.fixture(params=["kernel", "spark"])
def writer(request: pytest.FixtureRequest, warehouse: Warehouse, by_kernel: Writer, tmp_path: Path) -> Writer:
    if request.param == "kernel":
        return by_kernel
    return Writer(lambda: staged_lock(warehouse, str(tmp_path / "staging"), CLUSTER, CLOCK), commit_staged)


def ingest(writer: Writer, number: int, upto: int) -> None:
    """Run `number` reads on from where the archive ended."""
    with writer.lock() as lock:
        known = lock.topics.get("t")
        start = known.partitions[0].next_offset if known else 0
        writer.commit(lock, run(lock, number, start, upto, problems=1))


def found(warehouse: Warehouse) -> tuple[list[int], list[tuple[int, int]], list[int]]:
    """Offsets in records, ranges, and offsets with problems, by a reader that is not Spark."""

    def rows(table: str, *columns: str) -> list[tuple[int, ...]]:
        place = warehouse.locations[table].removeprefix("file:")
        read = pa.table(DeltaTable(place).to_pyarrow_table(columns=list(columns)))
        return sorted(tuple(row.values()) for row in read.to_pylist())

    ranges = rows("record_ranges", "from_offset", "to_offset")
    return (
        [one[0] for one in rows("records", "offset")],
        [(one[0], one[1]) for one in ranges],
        [one[0] for one in rows("record_problems", "base_offset")],
    )


def test_runs_go_on_where_the_last_one_ended(writer: Writer, warehouse: Warehouse):
    """Records once, ranges that tile, and the position as it was left."""
    ingest(writer, 1, 5)
    ingest(writer, 2, 9)
    assert found(warehouse) == (list(range(9)), [(0, 5), (5, 9)], [0, 5])
    with writer.lock() as lock:
        assert lock.topics["t"].partitions[0] == Position(next_offset=9)


def test_a_run_without_records_moves_positions(by_kernel: Writer, warehouse: Warehouse):
    """All lost, or all aborted: the range is told, and nobody reads it again."""
    writer = by_kernel
    ingest(writer, 1, 5)
    with writer.lock() as lock:
        writer.commit(lock, run(lock, 2, 5, 5))
    assert found(warehouse)[:2] == (list(range(5)), [(0, 5), (5, 5)])


# Whatever changes something that outlives the process, in the order in which one run does it.
STEPS = {
    "kernel": [
        *((Storage, "write", call) for call in (1, 2, 3, 4)),
        *((Kernel, "append", call) for call in (1, 2, 3)),
        *((Storage, "delete", call) for call in (1, 2)),
    ],
    "spark": [
        (Storage, "write", 3),
        (staged_commit, "_append", 1),
        (staged_commit, "_append", 3),
    ],  # each run costs Spark 5 s
}


@contextmanager
def dies(where: object, what: str, call: int) -> Iterator[None]:
    """The process ends right after the n-th call of a function has done its work."""
    calls = 0
    with pytest.MonkeyPatch.context() as patch:
        real = getattr(where, what)

        def called(*arguments: object, **named: object) -> object:
            nonlocal calls
            calls += 1
            made = real(*arguments, **named)
            if calls == call:
                raise Died
            return made

        patch.setattr(where, what, called)
        yield
    assert calls >= call, "the run never came to the point where it was to die"


def test_death_at_every_step_of_a_commit(writer: Writer, warehouse: Warehouse):
    """After each write and each commit: the next run completes or repeats it, and the tables end the same."""
    upto = 0
    for number, (where, what, call) in enumerate(STEPS["kernel" if writer.commit is commit else "spark"]):
        upto += 3
        with dies(where, what, call), pytest.raises(Died):
            ingest(writer, 2 * number, upto)
        ingest(writer, 2 * number + 1, upto)  # brings what the dead run did not, which may be nothing
        offsets, ranges, problems = found(warehouse)
        assert offsets == list(range(upto)), (what, call)
        joined = [one for one in ranges if one[0] != one[1]]
        assert [joined[0][0], *(one[1] for one in joined)] == [0, *(one[0] for one in joined[1:]), upto], (what, call)
        assert len(problems) == len(ranges), (what, call)


def test_pending_commits_are_made_before_old_files_are_removed(by_kernel: Writer, warehouse: Warehouse):
    """Maintenance commits the rows that a dead run left pending."""
    with dies(Kernel, "append", 1), pytest.raises(Died):
        ingest(by_kernel, 1, 5)
    assert found(warehouse)[1:] == ([], [])
    commit_pending_of_all(warehouse, CLOCK)
    assert found(warehouse) == (list(range(5)), [(0, 5)], [0])


def vacuum(warehouse: Warehouse) -> list[str]:
    """Remove what no version names and keep nothing for later, by delta-rs in both its ways; what it removes of `records`.

    Of that it only says so: its commits do not know domain metadata.
    """
    for table in ("record_ranges", "record_problems"):
        delta = DeltaTable(warehouse.locations[table].removeprefix("file:"))
        for full in (False, True):
            delta.vacuum(0, dry_run=False, enforce_retention_duration=False, full=full)
    return DeltaTable(warehouse.locations["records"].removeprefix("file:")).vacuum(0, True, False, full=True)


def vacuum_by_spark(warehouse: Warehouse) -> None:
    """The same by Spark, for table records; VACUUM LITE removes what the log knows only, so no pending file."""
    told = {
        "spark.databricks.delta.retentionDurationCheck.enabled": "false",
        "spark.sql.sources.parallelPartitionDiscovery.parallelism": "2",
    }
    for key, value in told.items():
        warehouse.spark.conf.set(key, value)
    warehouse.spark.sql(f"VACUUM {warehouse.identifiers['records']} RETAIN 0 HOURS").collect()
    for key in told:
        warehouse.spark.conf.unset(key)


def test_vacuum_leaves_what_has_still_to_be_added(by_kernel: Writer, warehouse: Warehouse):
    """A run dies between its commit and that of its ranges, files are removed by every VACUUM, and nothing is missing."""
    ingest(by_kernel, 1, 5)
    with dies(Kernel, "append", 1), pytest.raises(Died):
        ingest(by_kernel, 2, 9)
    unnamed = Path(warehouse.locations["records"].removeprefix("file:")) / "unnamed.parquet"
    unnamed.write_bytes(b"")
    assert vacuum(warehouse) == [unnamed.name]
    vacuum_by_spark(warehouse)
    assert not unnamed.exists()
    ingest(by_kernel, 3, 9)
    assert found(warehouse) == (list(range(9)), [(0, 5), (5, 9), (9, 9)], [0, 5, 9])


def reports(writer: Writer) -> list[str]:
    """What the next run has to report of runs that died."""
    with writer.lock() as lock:
        return [report.text for report in lock.reports.values()]


def lossy(made: RunOutput) -> RunOutput:
    """The run, with a range before its own that retention took."""
    row = replace(made.reconciled.ranges[0], lost=7, records=0, files=0, problem="LOST")
    return replace(made, reconciled=replace(made.reconciled, ranges=[row]))


def test_a_loss_is_reported_until_somebody_said_it(by_kernel: Writer):
    """A run dies at its report or between two commits, and so does the next one: the loss is still told, and only once."""
    with by_kernel.lock() as lock:
        by_kernel.commit(lock, lossy(run(lock, 1, 0, 0)))
    assert reports(by_kernel) == ["had 7 LOST, LOST in 1 ranges, see table record_ranges"]
    ingest(by_kernel, 2, 5)
    with by_kernel.lock() as lock:
        assert len(lock.reports) == 1
        by_kernel.commit(lock, lossy(run(lock, 3, 5, 5)))
        lock.remove_reports("0192-0003")
    assert reports(by_kernel) == []


def test_losses_of_a_run_that_did_not_commit_are_not_reported(by_kernel: Writer):
    """They are found again."""
    with dies(Storage, "write", 2), pytest.raises(Died), by_kernel.lock() as lock:
        by_kernel.commit(lock, lossy(run(lock, 1, 0, 0)))
    ingest(by_kernel, 2, 5)
    ingest(by_kernel, 3, 9)
    assert reports(by_kernel) == []


def remove(tmp_path: Path, name: str) -> None:
    """Remove the files below a warehouse and its staging folder that have such a path."""
    places = list(tmp_path.rglob(name))
    assert places, name
    for place in places:
        place.unlink()


@pytest.mark.parametrize("writer", ["kernel", pytest.param("spark", marks=pytest.mark.proof)], indirect=True)
def test_ranges_whose_file_was_removed_are_rebuilt(writer: Writer, warehouse: Warehouse, tmp_path: Path):
    """From what was committed: they tile and say that their counts are lost, the next report too; later runs go on."""
    ingest(writer, 1, 5)
    is_kernel = writer.commit is commit
    with dies(Kernel if is_kernel else staged_commit, "append" if is_kernel else "_append", 1), pytest.raises(Died):
        ingest(writer, 2, 9)
    pending = "_lagoon/*/*-record_{}.parquet" if is_kernel else "{}/*/0192-0002.parquet"
    for table in ("ranges", "problems"):
        remove(tmp_path, pending.format(table))
    told = reports(writer)
    assert len(told) == 2
    assert "1 ranges were rebuilt" in told[0] + told[1]
    ingest(writer, 3, 12)
    assert found(warehouse) == (list(range(12)), [(0, 5), (5, 9), (9, 12)], [0, 9])
    ranges = DeltaTable(warehouse.locations["record_ranges"].removeprefix("file:")).to_pyarrow_table().to_pylist()
    assert [
        (row["records"], row["lost"], row["files"], row["problem"]) for row in ranges if row["from_offset"] == 5
    ] == [(4, 0, 1, "COUNTS_LOST")]


def beside(pending: PendingFiles, _: int, ingest_id: str, table: Table, rows: Sequence[Any]) -> PendingFile | None:
    """Keep rows as earlier releases did: as a file in the folder of their table."""
    if not rows:
        return None
    name, data = f"{table.partition_by}={DAY}/{ingest_id}.parquet", parquet_bytes(plain_table(table, rows))
    folder = pending.root.rpartition("/")[0]
    stored = pending.storage.write(f"{folder}/{table.name}/{name}", data)
    return PendingFile(name=name, size=stored.size, rows=len(rows), modified_at_ms=stored.modified_at_ms)


@pytest.mark.parametrize("is_vacuumed", [False, True])
def test_a_run_of_an_earlier_release(
    by_kernel: Writer, warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch, is_vacuumed: bool
):
    """What it left beside the tables is added; what VACUUM took of that is rebuilt, and no table names what is gone."""
    with monkeypatch.context() as patch:
        patch.setattr(PendingFiles, "write", beside)
        with dies(Kernel, "append", 1), pytest.raises(Died):
            ingest(by_kernel, 1, 5)
    if is_vacuumed:
        vacuum(warehouse)
    assert len(reports(by_kernel)) == 2 * is_vacuumed
    assert found(warehouse) == (list(range(5)), [(0, 5)], [] if is_vacuumed else [0])
    vacuum(warehouse)
    ingest(by_kernel, 2, 9)
    assert found(warehouse)[:2] == (list(range(9)), [(0, 5), (5, 9)])


def test_data_files_that_are_gone_are_not_committed(by_kernel: Writer, warehouse: Warehouse, tmp_path: Path):
    """A file is looked at before it is committed: without one of its files a run commits nothing."""
    with by_kernel.lock() as lock:
        made = run(lock, 1, 0, 5)
        remove(tmp_path, "0192-0001-0.parquet")
        with pytest.raises(TableError, match="1 of 1 data files were removed"):
            by_kernel.commit(lock, made)
    ingest(by_kernel, 2, 9)
    assert found(warehouse)[:2] == (list(range(9)), [(0, 9)])


def test_staged_files_that_are_gone_are_read_again(warehouse: Warehouse, tmp_path: Path):
    """Where Spark had still to write them: positions go back to those of the run before."""
    writer = Writer(lambda: staged_lock(warehouse, str(tmp_path / "staging"), CLUSTER, CLOCK), commit_staged)
    with dies(Storage, "write", 3), pytest.raises(Died):
        ingest(writer, 1, 5)
    remove(tmp_path, "0192-0001-0.parquet")
    with writer.lock() as lock:
        assert [report.is_loss for report in lock.reports.values()] == [False]
        assert lock.topics == {}
    ingest(writer, 2, 9)
    assert found(warehouse)[:2] == (list(range(9)), [(0, 9)])


def test_two_runs_at_once(warehouse: Warehouse):
    """The second does not get the cluster's lock, and nothing is written; another cluster's lock is free."""
    with archive_lock(warehouse, CLUSTER, CLOCK):
        with pytest.raises(LockHeld), archive_lock(warehouse, CLUSTER, CLOCK):
            pass
        with archive_lock(warehouse, "other", CLOCK):
            pass


def test_the_fence_behind_the_lock(warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch):
    """Where no lock is possible, of two runs from the same position one commits; the other has written nothing anyone sees."""
    monkeypatch.setattr(Warehouse, "exclusively", lambda *_: _no_lock())
    with archive_lock(warehouse, CLUSTER, CLOCK) as one, archive_lock(warehouse, CLUSTER, CLOCK) as other:
        commit(one, run(one, 1, 0, 5))
        with pytest.raises(LockHeld):
            commit(other, run(other, 2, 0, 7))
    assert found(warehouse)[:2] == (list(range(5)), [(0, 5)])


@contextmanager
def _no_lock() -> Iterator[None]:
    yield


def test_compaction_between_two_runs(by_kernel: Writer, warehouse: Warehouse):
    """OPTIMIZE rewrites the files and loses neither positions nor the number of the last run."""
    writer = by_kernel
    ingest(writer, 1, 5)
    ingest(writer, 2, 9)
    warehouse.spark.sql(f"OPTIMIZE {warehouse.identifiers['records']}")
    ingest(writer, 3, 12)
    assert found(warehouse)[:2] == (list(range(12)), [(0, 5), (5, 9), (9, 12)])


class TestRestore:
    """RESTORE brings back old records and not the positions: nothing goes on before a person has said how."""

    @pytest.fixture
    def turned_back(self, warehouse: Warehouse) -> Warehouse:
        """Two runs of which the second's records are gone; compacted in between, to make it harder to see."""
        writer = Writer(lambda: archive_lock(warehouse, CLUSTER, CLOCK), commit)
        ingest(writer, 1, 5)
        version = warehouse.state("records").version
        ingest(writer, 2, 9)
        warehouse.spark.sql(f"RESTORE {warehouse.identifiers['records']} TO VERSION AS OF {version}")
        warehouse.spark.sql(f"OPTIMIZE {warehouse.identifiers['records']}")
        return warehouse

    def test_it_is_refused(self, turned_back: Warehouse):
        """The message names the two ways on."""
        with pytest.raises(TableError, match="--after-restore repeat"), archive_lock(turned_back, CLUSTER, CLOCK):
            pass

    def test_repeat_reads_again_what_is_missing(self, turned_back: Warehouse):
        """Positions, ranges and problems go back to the restored version; the next run needs no telling."""
        with archive_lock(turned_back, CLUSTER, CLOCK, after_restore="repeat") as lock:
            assert lock.topics["t"].partitions[0].next_offset == 5
            commit(lock, run(lock, 3, 5, 9, problems=1))
        assert found(turned_back) == (list(range(9)), [(0, 5), (5, 9)], [0, 5])
        with archive_lock(turned_back, CLUSTER, CLOCK) as lock:
            assert lock.topics["t"].partitions[0].next_offset == 9

    def test_keep_goes_on_without(self, turned_back: Warehouse):
        """The records stay gone, on somebody's word."""
        with archive_lock(turned_back, CLUSTER, CLOCK, after_restore="keep") as lock:
            commit(lock, run(lock, 3, 9, 12))
        assert found(turned_back)[0] == [*range(5), *range(9, 12)]
        with archive_lock(turned_back, CLUSTER, CLOCK):
            pass


def test_a_table_that_was_replaced(warehouse: Warehouse):
    """A new records table beside old ranges would archive everything twice in the ranges: it is refused."""
    with archive_lock(warehouse, CLUSTER, CLOCK) as lock:
        commit(lock, run(lock, 1, 0, 5))
    warehouse.kernel.storage.delete(warehouse.locations["records"])
    table = RECORDS
    warehouse.kernel.create(warehouse.locations["records"], table.delta_schema(), table.partition_by, table.properties)
    with pytest.raises(TableError, match="record_ranges is not"), archive_lock(warehouse, CLUSTER, CLOCK):
        pass


def test_ranges_that_were_removed(by_kernel: Writer, warehouse: Warehouse):
    """A new record_ranges beside old records has a hole: it is refused until somebody says that it may."""
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
    assert found(warehouse)[:2] == (list(range(12)), [(5, 9), (9, 12)])
