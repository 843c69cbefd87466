"""Exactly-once archiving: what one run has read in, records with their accounting out, or nothing that anybody sees.

Guards one rule: data files and the positions behind them are one commit to table `records`, under a transaction id that
was read when the run began. The rows of record_ranges and record_problems lie beside their tables before that commit, which
names them; whoever comes next, this run or another, adds those that are still owed. So whatever point a run dies at, the
tables end the same.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date
from functools import partial
from typing import Any

from pipeline.client.deadline import Clock
from pipeline.errors import ChecksFailed, LockHeld, TableError
from pipeline.fetch.accounting import Settled
from pipeline.fetch.plan import Archived
from pipeline.fetch.tasks import Task
from pipeline.tables.archive_task import TaskResult, TaskSettings, archive
from pipeline.tables.arrow import parquet_bytes, plain_table, table_of
from pipeline.tables.files import DataFile, statistics_of
from pipeline.tables.kernel import Fence, Fenced
from pipeline.tables.ledger import LastRun, Ledger, StagedFile, domain, from_json, to_json
from pipeline.tables.restored import restored
from pipeline.tables.schema import RECORD_PROBLEMS, RECORD_RANGES, RECORDS, Table
from pipeline.tables.storage import JAVA_ERRORS, reason
from pipeline.tables.warehouse import COMMIT_LOCK_WAIT_MS, Warehouse


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchiveTurn:
    """The right to archive one cluster; `topics` is where it goes on from."""

    warehouse: Warehouse
    cluster_id: str
    clock: Clock
    topics: Mapping[str, Archived]
    fence: Fence
    root: str  # URL of the folder below which data files are written

    def folder(self, day: date) -> str:
        """URL of the folder that a day's data files go to."""
        return f"{self.root}/{RECORDS.partition_by}={day}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """What a run has read and written: its data files, and the rows and positions that go with them."""

    ingest_id: str
    ingest_date: date
    settled: Settled
    files: Sequence[DataFile]


@contextmanager
def archive_turn(
    warehouse: Warehouse, cluster_id: str, clock: Clock, wait_ms: int = 0, after_restore: str | None = None
) -> Iterator[ArchiveTurn]:
    """One run's turn at a cluster's archive, after the last run's debts are paid.

    LockHeld if another run has it for longer than `wait_ms` milliseconds; TableError if table `records` was restored to
    an older version and `after_restore` (see `restored`) does not say how to go on.
    """
    with warehouse.exclusively(f"records-{cluster_id}", clock, wait_ms):
        state = warehouse.state(RECORDS.name)
        ledger = from_json(warehouse.kernel.domain(state, domain(cluster_id)))
        _refuse_replaced(warehouse, cluster_id, ledger)
        topics, sequence = ledger.topics, 1
        if ledger.last:
            _pay_debts(warehouse, cluster_id, ledger.last, clock)
            topics = restored(warehouse, cluster_id, state, ledger, clock, after_restore)
            sequence = ledger.last.sequence + 1
        yield ArchiveTurn(
            warehouse=warehouse,
            cluster_id=cluster_id,
            clock=clock,
            topics=topics,
            fence=Fence(app_id(cluster_id), sequence),
            root=state.location,
        )


def execute(mine: ArchiveTurn, settings: TaskSettings, tasks: Sequence[Task]) -> list[TaskResult]:
    """Run the tasks on Spark's executors; TableError, with nothing left behind, if one of them could not write."""
    if not tasks:
        return []
    context = mine.warehouse.spark.sparkContext
    try:
        results = context.parallelize(tasks, len(tasks)).map(partial(archive, settings)).collect()
    except JAVA_ERRORS as error:
        raise TableError(f"reading on Spark's executors failed: {reason(error)}") from error
    errors = [result.error for result in results if result.error]
    if errors:
        for file in (file for result in results for file in result.files):
            mine.warehouse.kernel.storage.delete(file.url)
        raise TableError(errors[0])
    return results


def commit(mine: ArchiveTurn, run: Run) -> None:
    """Make a run's records part of the table, with the positions behind them; then its ranges, then its problems.

    LockHeld if another run has committed since the turn began; then, and after a TableError, nothing of this one is seen.
    """
    warehouse = mine.warehouse
    ranges = stage(warehouse, RECORD_RANGES, warehouse.locations[RECORD_RANGES.name], run, run.settled.ranges)
    problems = stage(warehouse, RECORD_PROBLEMS, warehouse.locations[RECORD_PROBLEMS.name], run, run.settled.problems)
    with warehouse.exclusively("commit", mine.clock, COMMIT_LOCK_WAIT_MS):
        state = warehouse.state(RECORDS.name)
        last = LastRun(
            ingest_id=run.ingest_id,
            sequence=mine.fence.version,
            ingest_date=run.ingest_date.isoformat(),
            base_version=state.version,
            ranges=ranges,
            problems=problems,
        )
        ledger = to_json(Ledger(topics=run.settled.topics, last=last))
        try:
            warehouse.kernel.append(
                state,
                run.files,
                (RECORDS.partition_by, run.ingest_date),
                fence=mine.fence,
                domains={domain(mine.cluster_id): ledger},
            )
        except Fenced as error:
            raise LockHeld(f"the archive of cluster {mine.cluster_id}", "it committed in the meantime") from error
    _check(warehouse, mine.cluster_id, ledger)
    _pay_debts(warehouse, mine.cluster_id, last, mine.clock)


def pay_debts(warehouse: Warehouse, clock: Clock) -> None:
    """Add to record_ranges and record_problems what the last run of any cluster still owes them.

    To be called before old files are removed: what is owed lies there in a file that no version names yet.
    """
    state = warehouse.state(RECORDS.name)
    for name in warehouse.kernel.domains(state):
        cluster_id = name.removeprefix(domain(""))
        ledger = from_json(warehouse.kernel.domain(state, name)) if name != cluster_id else Ledger()
        if ledger.last:
            _pay_debts(warehouse, cluster_id, ledger.last, clock)


def app_id(cluster_id: str) -> str:
    """The name under which a cluster's runs are numbered in the tables' transaction ids."""
    return f"lagoon/records/{cluster_id}"


def stage(warehouse: Warehouse, table: Table, root: str, run: Run, rows: Sequence[Any]) -> StagedFile | None:
    """Write a run's rows below `root`; until they are committed no reader sees them."""
    if not rows:
        return None
    name = f"{table.partition_by}={run.ingest_date}/{run.ingest_id}.parquet"
    data = parquet_bytes(plain_table(table, rows))
    stored = warehouse.kernel.storage.write(f"{root}/{name}", data)
    return StagedFile(name=name, size=stored.size, rows=len(rows), modified_at_ms=stored.modified_at_ms)


def _pay_debts(warehouse: Warehouse, cluster_id: str, last: LastRun, clock: Clock) -> None:
    """Add what a run owes to record_ranges, then to record_problems, unless it is there."""
    with warehouse.exclusively("commit", clock, COMMIT_LOCK_WAIT_MS):
        for table, staged in ((RECORD_RANGES, last.ranges), (RECORD_PROBLEMS, last.problems)):
            if staged:
                _add(warehouse, table, cluster_id, last, staged)


def _add(warehouse: Warehouse, table: Table, cluster_id: str, last: LastRun, staged: StagedFile) -> None:
    state = warehouse.state(table.name)
    fence = Fence(app_id(cluster_id), last.sequence)
    if (warehouse.kernel.last_transaction(state, fence.app_id) or 0) >= fence.version:
        return
    url = f"{state.location}/{staged.name}"
    statistics = statistics_of(table_of(warehouse.kernel.storage.read(url)))
    file = DataFile(url=url, size=staged.size, modified_at_ms=staged.modified_at_ms, statistics=statistics)
    warehouse.kernel.append(state, [file], (RECORDS.partition_by, date.fromisoformat(last.ingest_date)), fence=fence)


def _check(warehouse: Warehouse, cluster_id: str, expected: str) -> None:
    """Look again: a commit that another one overwrote, or that was skipped, reports no error itself."""
    found = warehouse.kernel.domain(warehouse.state(RECORDS.name), domain(cluster_id))
    if found != expected:
        raise ChecksFailed("table records does not hold what was committed: does its log store keep writers apart?")


def _refuse_replaced(warehouse: Warehouse, cluster_id: str, ledger: Ledger) -> None:
    ranges = warehouse.state(RECORD_RANGES.name)
    if ledger.last is None and warehouse.kernel.last_transaction(ranges, app_id(cluster_id)):
        raise TableError(
            "table records is new and record_ranges is not: archiving anew would double ranges. "
            "Put records back, or remove record_ranges and record_problems too"
        )
