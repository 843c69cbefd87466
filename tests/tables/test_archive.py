"""The archive's promise: records once, accounted for once, and where to go on beside them, whatever a run dies of."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable

from pipeline.errors import LockHeld, TableError
from pipeline.fetch.ranges import Position
from pipeline.tables import archive, staged
from pipeline.tables.archive import ArchiveTurn, Run, archive_turn, commit
from pipeline.tables.kernel import Kernel
from pipeline.tables.staged import commit_staged, staged_turn
from pipeline.tables.storage import Storage
from pipeline.tables.warehouse import Warehouse
from tests.clock import CLOCK
from tests.tables.record_samples import CLUSTER, run

pytestmark = pytest.mark.spark


class Died(BaseException):
    """The end of a process, as far as a test in one process can play it."""


@dataclass(frozen=True)
class Writer:
    """One of the two ways to write: through Delta Kernel, or by Spark from staged files."""

    turn: Callable[[], AbstractContextManager[ArchiveTurn]]
    commit: Callable[[ArchiveTurn, Run], None]


@pytest.fixture
def by_kernel(warehouse: Warehouse) -> Writer:
    return Writer(lambda: archive_turn(warehouse, CLUSTER, CLOCK), commit)


@pytest.fixture(params=["kernel", "spark"])
def writer(request: pytest.FixtureRequest, warehouse: Warehouse, by_kernel: Writer, tmp_path: Path) -> Writer:
    if request.param == "kernel":
        return by_kernel
    return Writer(lambda: staged_turn(warehouse, str(tmp_path / "staging"), CLUSTER, CLOCK), commit_staged)


def ingest(writer: Writer, number: int, upto: int) -> None:
    """Run `number` reads on from where the archive ended."""
    with writer.turn() as mine:
        known = mine.topics.get("t")
        start = known.partitions[0].next_offset if known else 0
        writer.commit(mine, run(mine, number, start, upto, problems=1))


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
    with writer.turn() as mine:
        assert mine.topics["t"].partitions[0] == Position(next_offset=9)


def test_a_run_without_records_moves_positions(by_kernel: Writer, warehouse: Warehouse):
    """All lost, or all aborted: the range is told, and nobody reads it again."""
    writer = by_kernel
    ingest(writer, 1, 5)
    with writer.turn() as mine:
        writer.commit(mine, run(mine, 2, 5, 5))
    assert found(warehouse)[:2] == (list(range(5)), [(0, 5), (5, 5)])


# Whatever changes something that outlives the process, in the order in which one run does it.
STEPS = {
    "kernel": [*((Storage, "write", call) for call in (1, 2)), *((Kernel, "append", call) for call in (1, 2, 3))],
    "spark": [(Storage, "write", 3), (staged, "_append", 1), (staged, "_append", 3)],  # each run costs Spark 5 s
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


def test_debts_are_paid_before_old_files_go(by_kernel: Writer, warehouse: Warehouse):
    """Maintenance adds what a dead run owes, for VACUUM would take the file that it lies in."""
    with dies(Kernel, "append", 1), pytest.raises(Died):
        ingest(by_kernel, 1, 5)
    assert found(warehouse)[1:] == ([], [])
    archive.pay_debts(warehouse, CLOCK)
    assert found(warehouse) == (list(range(5)), [(0, 5)], [0])


def test_two_runs_at_once(warehouse: Warehouse):
    """The second does not get the cluster's lock, and nothing is written; another cluster's turn is free."""
    with archive_turn(warehouse, CLUSTER, CLOCK):
        with pytest.raises(LockHeld), archive_turn(warehouse, CLUSTER, CLOCK):
            pass
        with archive_turn(warehouse, "other", CLOCK):
            pass


def test_the_fence_behind_the_lock(warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch):
    """Where no lock is possible, of two runs from the same position one commits; the other has written nothing anyone sees."""
    monkeypatch.setattr(Warehouse, "exclusively", lambda *_: _no_lock())
    with archive_turn(warehouse, CLUSTER, CLOCK) as one, archive_turn(warehouse, CLUSTER, CLOCK) as other:
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
        writer = Writer(lambda: archive_turn(warehouse, CLUSTER, CLOCK), commit)
        ingest(writer, 1, 5)
        version = warehouse.state("records").version
        ingest(writer, 2, 9)
        warehouse.spark.sql(f"RESTORE {warehouse.identifiers['records']} TO VERSION AS OF {version}")
        warehouse.spark.sql(f"OPTIMIZE {warehouse.identifiers['records']}")
        return warehouse

    def test_it_is_refused(self, turned_back: Warehouse):
        """The message names the two ways on."""
        with pytest.raises(TableError, match="--after-restore repeat"), archive_turn(turned_back, CLUSTER, CLOCK):
            pass

    def test_repeat_reads_again_what_is_missing(self, turned_back: Warehouse):
        """Positions, ranges and problems go back to the restored version; the next run needs no telling."""
        with archive_turn(turned_back, CLUSTER, CLOCK, after_restore="repeat") as mine:
            assert mine.topics["t"].partitions[0].next_offset == 5
            commit(mine, run(mine, 3, 5, 9, problems=1))
        assert found(turned_back) == (list(range(9)), [(0, 5), (5, 9)], [0, 5])
        with archive_turn(turned_back, CLUSTER, CLOCK) as mine:
            assert mine.topics["t"].partitions[0].next_offset == 9

    def test_keep_goes_on_without(self, turned_back: Warehouse):
        """The records stay gone, on somebody's word."""
        with archive_turn(turned_back, CLUSTER, CLOCK, after_restore="keep") as mine:
            commit(mine, run(mine, 3, 9, 12))
        assert found(turned_back)[0] == [*range(5), *range(9, 12)]
        with archive_turn(turned_back, CLUSTER, CLOCK):
            pass


def test_a_table_that_was_replaced(warehouse: Warehouse):
    """A new records table beside old ranges would archive everything twice in the ranges: it is refused."""
    with archive_turn(warehouse, CLUSTER, CLOCK) as mine:
        commit(mine, run(mine, 1, 0, 5))
    warehouse.kernel.storage.delete(warehouse.locations["records"])
    table = archive.RECORDS
    warehouse.kernel.create(warehouse.locations["records"], table.delta_schema(), table.partition_by, table.properties)
    with pytest.raises(TableError, match="record_ranges is not"), archive_turn(warehouse, CLUSTER, CLOCK):
        pass
