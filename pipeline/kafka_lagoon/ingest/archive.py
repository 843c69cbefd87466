"""Exactly-once archiving: the data files of a run and the offsets to go on from are one commit to table `records`.

That commit has a transaction id that was read when the run began. Before it, the rows of record_ranges and record_problems
and the losses to be reported are written to the table's pending folder (ingest/pending.py), and the commit names them. The
next run does what a dead one left undone, so the tables end the same wherever a run dies.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import date
from functools import partial

from kafka_lagoon.clock import Clock
from kafka_lagoon.delta.files import DataFile
from kafka_lagoon.delta.kernel import Fence, Fenced
from kafka_lagoon.delta.schema import RECORD_PROBLEMS, RECORD_RANGES, RECORDS
from kafka_lagoon.delta.storage import JAVA_ERRORS, reason
from kafka_lagoon.delta.warehouse import COMMIT_LOCK_WAIT_MS, Warehouse
from kafka_lagoon.errors import ChecksFailed, LockHeld, TableError
from kafka_lagoon.fetch.accounting import Reconciled
from kafka_lagoon.fetch.plan import Archived
from kafka_lagoon.fetch.tasks import Task
from kafka_lagoon.ingest.archive_task import TaskResult, TaskSettings, archive
from kafka_lagoon.ingest.next_offsets import LastRun, Ledger, domain, from_json, to_json
from kafka_lagoon.ingest.pending import Pending, Report
from kafka_lagoon.ingest.pending_commits import app_id, commit_pending, refuse_replaced
from kafka_lagoon.ingest.restored import restored

_CHECKED_AT_ONCE = 16  # files of a run whose sizes are asked for; on object stores each is a request


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchiveLock:
    """The right to archive one cluster; `topics` is where it goes on from.

    `reports` is what earlier runs found and did not live to say, by URL of the file that keeps it. Whoever has said that,
    and what this run found, calls `reported` before the lock is released.
    """

    warehouse: Warehouse
    cluster_id: str
    clock: Clock
    topics: Mapping[str, Archived]
    fence: Fence
    root: str  # URL of the folder below which data files are written
    pending: Pending
    reports: Mapping[str, Report]

    def folder(self, day: date) -> str:
        """URL of the folder that a day's data files go to."""
        return f"{self.root}/{RECORDS.partition_by}={day}"

    def reported(self, ingest_id: str | None) -> None:
        """Forget `reports`, and the losses of this run if it has committed: they have been said."""
        for url in self.reports:
            self.warehouse.kernel.storage.delete(url)
        if ingest_id:
            self.pending.remove_losses(self.fence.version, ingest_id)


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """What a run has read and written: its data files, and the rows and positions that go with them."""

    ingest_id: str
    ingest_date: date
    reconciled: Reconciled
    files: Sequence[DataFile]


@contextmanager
def archive_lock(
    warehouse: Warehouse, cluster_id: str, clock: Clock, wait_ms: int = 0, after_restore: str | None = None
) -> Iterator[ArchiveLock]:
    """Holds the lock on a cluster's archive, after the last run's debts are paid.

    LockHeld if another run has it for longer than `wait_ms` milliseconds; TableError if table `records` was restored to
    an older version and `after_restore` (see `restored`) does not say how to go on.
    """
    with warehouse.exclusively(f"records-{cluster_id}", clock, wait_ms):
        state = warehouse.state(RECORDS.name)
        ledger = from_json(warehouse.kernel.domain(state, domain(cluster_id)))
        refuse_replaced(warehouse, cluster_id, ledger.last, after_restore)
        topics, sequence = ledger.topics, 1
        if ledger.last:
            commit_pending(warehouse, cluster_id, ledger, clock)
            topics = restored(warehouse, cluster_id, state, ledger, clock, after_restore)
            sequence = ledger.last.sequence + 1
        pending = Pending(storage=warehouse.kernel.storage, root=state.location, cluster_id=cluster_id)
        yield ArchiveLock(
            warehouse=warehouse,
            cluster_id=cluster_id,
            clock=clock,
            topics=topics,
            fence=Fence(app_id(cluster_id), sequence),
            root=state.location,
            pending=pending,
            reports=pending.reports(ledger.last),
        )


def execute(lock: ArchiveLock, settings: TaskSettings, tasks: Sequence[Task]) -> list[TaskResult]:
    """Run the tasks on Spark's executors; TableError, with nothing left behind, if one of them could not write."""
    if not tasks:
        return []
    context = lock.warehouse.spark.sparkContext
    try:
        results = context.parallelize(tasks, len(tasks)).map(partial(archive, settings)).collect()
    except JAVA_ERRORS as error:
        raise TableError(f"reading on Spark's executors failed: {reason(error)}") from error
    errors = [result.error for result in results if result.error]
    if errors:
        for file in (file for result in results for file in result.files):
            lock.warehouse.kernel.storage.delete(file.url)
        raise TableError(errors[0])
    return results


def commit(lock: ArchiveLock, run: Run) -> None:
    """Make a run's records part of the table, with the positions behind them; then its ranges, then its problems.

    LockHeld if another run has committed since the lock was taken; then, and after a TableError, nothing of this one is seen.
    """
    warehouse, sequence = lock.warehouse, lock.fence.version
    ranges = lock.pending.write(sequence, run.ingest_id, RECORD_RANGES, run.reconciled.ranges)
    problems = lock.pending.write(sequence, run.ingest_id, RECORD_PROBLEMS, run.reconciled.problems)
    lock.pending.write_losses(sequence, run.ingest_id, run.reconciled.ranges)
    with warehouse.exclusively("commit", lock.clock, COMMIT_LOCK_WAIT_MS):
        state = warehouse.state(RECORDS.name)
        last = LastRun(
            ingest_id=run.ingest_id,
            sequence=sequence,
            ingest_date=run.ingest_date.isoformat(),
            base_version=state.version,
            ranges=ranges,
            problems=problems,
        )
        ledger = Ledger(topics=run.reconciled.topics, last=last)
        _refuse_removed(lock, run.files)
        try:
            warehouse.kernel.append(
                state,
                run.files,
                (RECORDS.partition_by, run.ingest_date),
                fence=lock.fence,
                domains={domain(lock.cluster_id): to_json(ledger)},
            )
        except Fenced as error:
            raise LockHeld(f"the archive of cluster {lock.cluster_id}", "it committed in the meantime") from error
    _check(warehouse, lock.cluster_id, to_json(ledger))
    commit_pending(warehouse, lock.cluster_id, ledger, lock.clock)


def pay_debts(warehouse: Warehouse, clock: Clock) -> None:
    """Add to record_ranges and record_problems what the last run of any cluster has still to add to them.

    To be called before old files are removed: earlier releases left it beside the tables in files that no version names.
    """
    state = warehouse.state(RECORDS.name)
    for name in warehouse.kernel.domains(state):
        cluster_id = name.removeprefix(domain(""))
        ledger = from_json(warehouse.kernel.domain(state, name)) if name != cluster_id else Ledger()
        commit_pending(warehouse, cluster_id, ledger, clock)


def _refuse_removed(lock: ArchiveLock, files: Sequence[DataFile]) -> None:
    """TableError if a data file of the run is not there any more, as after a VACUUM that keeps less than a run takes."""
    with ThreadPoolExecutor(_CHECKED_AT_ONCE) as threads:
        sizes = list(threads.map(_size_of(lock), files))
    gone = [file.url for file, size in zip(files, sizes, strict=True) if size != file.size]
    if gone:
        raise TableError(
            f"{len(gone)} of {len(files)} data files were removed or changed after they were written, such as {gone[0]}: "
            "nothing is committed. Does a VACUUM keep files for less time than an ingest takes?"
        )


def _size_of(lock: ArchiveLock) -> Callable[[DataFile], int]:
    """How the size of a data file is found, 0 if it is gone; on a local disk without asking the JVM."""
    storage, folder = lock.warehouse.kernel.storage, lock.warehouse.kernel.storage.local(lock.root)

    def size(file: DataFile) -> int:
        if folder is None:
            return storage.size(file.url)
        with suppress(OSError):
            return (folder / file.url.removeprefix(f"{lock.root}/")).stat().st_size
        return 0

    return size


def _check(warehouse: Warehouse, cluster_id: str, expected: str) -> None:
    """Look again: a commit that another one overwrote, or that was skipped, reports no error itself."""
    found = warehouse.kernel.domain(warehouse.state(RECORDS.name), domain(cluster_id))
    if found != expected:
        raise ChecksFailed("table records does not hold what was committed: does its log store keep writers apart?")
