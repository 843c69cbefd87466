"""Commits the data files of a run and the next offsets to table `records`, in one version of it: exactly once.

That commit has a transaction id that was read when the lock was taken. Before it, the rows of record_ranges and
record_problems and the losses to be reported are written to the table's pending folder (ingest/pending_files.py), and the
commit names them. The next run makes the commits that a dead one left pending, so the tables end the same wherever a run dies.
"""

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from datetime import date
from functools import partial
from pathlib import Path

from kafka_lagoon.delta.files import DataFile
from kafka_lagoon.delta.kernel import State
from kafka_lagoon.delta.kernel_errors import Fenced
from kafka_lagoon.delta.warehouse import COMMIT_LOCK_WAIT_MS, columns_to_add
from kafka_lagoon.errors import ChecksFailed, LockHeld, PipelineError, TableError
from kafka_lagoon.fetch.accounting import Reconciled
from kafka_lagoon.fetch.archived import Archived
from kafka_lagoon.frozen import frozen
from kafka_lagoon.ingest.archive_lock import ArchiveLock
from kafka_lagoon.ingest.examined_commits import refuse_after, refuse_before
from kafka_lagoon.ingest.next_offsets import LastRun, NextOffsets, domain, from_json, to_json
from kafka_lagoon.ingest.pending_commits import add_pending, after_records
from kafka_lagoon.tables.record_tables import RECORD_PROBLEMS, RECORD_RANGES, RECORDS
from kafka_lagoon.times import utc_day

_CHECKED_AT_ONCE = 16  # files of a run whose sizes are looked up at a time; on object stores each is a request


@frozen
class RunOutput:
    """The output of a run: its data files, and the rows and next offsets that belong to them."""

    ingest_id: str
    ingest_date: date
    reconciled: Reconciled
    files: Sequence[DataFile]


def commit(lock: ArchiveLock, output: RunOutput, wait_ms: int = COMMIT_LOCK_WAIT_MS) -> None:
    """Commit a run's records with the next offsets; then its ranges, then its problems.

    The lock on commits is waited for up to `wait_ms` milliseconds.

    LockHeld if another run has committed since the archive's lock was taken. After that, and after a TableError, readers see
    nothing of this run, unless the error says that it is committed. RangesPending if its records are committed, and its ranges
    or problems are not.
    """
    warehouse, sequence = lock.warehouse, lock.fence.version
    with ExitStack() as held:
        with _removed_after((TableError, LockHeld), lock, output):
            ranges = lock.pending.write(sequence, output.ingest_id, RECORD_RANGES, output.reconciled.ranges)
            problems = lock.pending.write(sequence, output.ingest_id, RECORD_PROBLEMS, output.reconciled.problems)
            lock.pending.write_losses(sequence, output.ingest_id, output.reconciled.ranges)
            held.enter_context(warehouse.exclusively("commit", lock.clock, wait_ms))
            state = warehouse.state(RECORDS.name)
            _refuse_changed(lock, state)
            last_run = LastRun(
                ingest_id=output.ingest_id,
                sequence=sequence,
                ingest_date=output.ingest_date.isoformat(),
                base_version=lock.versions[RECORDS.name] if sequence > 1 else state.version,
                ranges=ranges,
                problems=problems,
            )
            next_offsets = NextOffsets(
                topics=output.reconciled.topics,
                last_run=last_run,
                examined=_ranges_of(lock),
                problems_run=lock.problems_run,
            )
            stored = to_json(next_offsets)
            _refuse_removed_files(lock, output.files)
        version = _append(lock, output, state, stored)
        with after_records(output.ingest_id):
            _check(lock, stored, sequence)
            if sequence > 1:
                refuse_after(warehouse, lock.cluster_id, RECORDS, state.version, version)
            add_pending(warehouse, lock.cluster_id, next_offsets.topics, last_run)


def _append(lock: ArchiveLock, output: RunOutput, state: State, stored: str) -> int:
    """Commit data files and next offsets; returns the version that has them. LockHeld if another run was first."""
    kernel = lock.warehouse.kernel
    # An object store may still carry out the request of a commit that failed, which names the files: they must stay there.
    has_failed_for_good = kernel.storage.local(lock.root) is not None
    with _removed_after((TableError, LockHeld) if has_failed_for_good else (LockHeld,), lock, output):
        try:
            return kernel.append(
                state,
                output.files,
                (RECORDS.partition_by, output.ingest_date),
                fence=lock.fence,
                domains={domain(lock.cluster_id): stored},
            )
        except Fenced as error:
            if version := _version_with(lock, stored):
                return version
            raise LockHeld(f"the archive of cluster {lock.cluster_id}", "it committed in the meantime") from error
        except TableError:
            with suppress(TableError):
                if version := _version_with(lock, stored):
                    return version
            raise


def _version_with(lock: ArchiveLock, stored: str) -> int | None:
    """The latest version if it has these next offsets, so that a commit which seems to have failed was made; else None.

    Delta Kernel repeats a request without an answer, and then meets its own commit.
    """
    newest = lock.warehouse.state(RECORDS.name)
    return newest.version if _stored(lock, newest) == stored else None


def commit_examined(lock: ArchiveLock, topics: Mapping[str, Archived], wait_ms: int = COMMIT_LOCK_WAIT_MS) -> None:
    """Commit the examined versions and the new topics of a run that has archived nothing, if it has to store them.

    The next offsets of the lock's topics and the last run stay. Nothing is committed if another run has committed since the
    lock was taken. A run that goes back to earlier next offsets stores these, so that the next run needs no option.
    """
    unstored = lock.unstored(topics)
    if unstored is None:
        return
    warehouse, content = lock.warehouse, to_json(unstored)
    day = utc_day(lock.clock.now_ms())  # any day: the commit has no files

    def is_overtaken(state: State) -> bool:
        stored = from_json(_stored(lock, state))
        return (stored.last_run, stored.topics) != (unstored.last_run, lock.stored_topics)

    with warehouse.exclusively("commit", lock.clock, wait_ms):
        state = warehouse.state(RECORDS.name)
        if is_overtaken(state):
            return
        try:
            # No fence is needed: the Kernel refuses the commit if another commit since this state has set the same domain.
            warehouse.kernel.append(state, [], (RECORDS.partition_by, day), domains={domain(lock.cluster_id): content})
        except TableError:
            newest = warehouse.state(RECORDS.name)
            # The answer to the commit may have been lost, and its repetition was refused.
            if _stored(lock, newest) != content and not is_overtaken(newest):
                raise


def _refuse_changed(lock: ArchiveLock, state: State) -> None:
    """Raise TableError if others have changed tables since the lock was taken, so that the run's output does not fit."""
    columns_to_add(RECORDS, state)
    _refuse_replaced(lock, state)
    if lock.fence.version > 1:
        refuse_before(lock.warehouse, lock.cluster_id, lock.versions, {RECORDS.name: state.version})


def _refuse_replaced(lock: ArchiveLock, state: State) -> None:
    """Raise TableError if the table no longer has the last run: its folder was removed, and the table re-created."""
    last = lock.warehouse.kernel.last_transaction(state, lock.fence.app_id) or 0
    if state.version < lock.versions[RECORDS.name] or last < lock.fence.version - 1:
        raise TableError(
            "table records was removed and created again while this run was under way: nothing is committed"
        )


def _ranges_of(lock: ArchiveLock) -> dict[str, int]:
    """The examined versions of record_ranges and record_problems."""
    return {name: version for name, version in lock.versions.items() if name != RECORDS.name}


@contextmanager
def _removed_after(errors: tuple[type[PipelineError], ...], lock: ArchiveLock, output: RunOutput) -> Iterator[None]:
    """Remove the files of a run that ends in one of these errors: beside them a full disk has no room for another attempt."""
    try:
        yield
    except errors:
        _remove(lock, output)
        raise


def _remove(lock: ArchiveLock, output: RunOutput) -> None:
    """Remove the files of a run, unless the table may have them after all."""
    wanted: dict[str, str | date] = {RECORDS.partition_by: output.ingest_date, "ingest_id": output.ingest_id}
    with suppress(TableError):
        state = lock.warehouse.state(RECORDS.name)
        last_run = from_json(_stored(lock, state)).last_run
        is_committed = last_run is not None and last_run.ingest_id == output.ingest_id
        if is_committed or lock.warehouse.kernel.files(state, wanted):
            return
        lock.pending.remove_all(lock.fence.version, output.ingest_id)
        for file in output.files:
            lock.warehouse.kernel.storage.delete(file.url)


def _refuse_removed_files(lock: ArchiveLock, files: Sequence[DataFile]) -> None:
    """TableError if a data file of the run is gone or changed, as after a VACUUM that keeps less than a run takes."""
    with ThreadPoolExecutor(_CHECKED_AT_ONCE) as threads:
        sizes = list(threads.map(partial(_size, lock, lock.warehouse.kernel.storage.local(lock.root)), files))
    gone = [file.url for file, size in zip(files, sizes, strict=True) if size != file.size]
    if gone:
        raise TableError(
            f"{len(gone)} of {len(files)} data files were removed or changed after they were written, such as {gone[0]}: "
            "nothing is committed. Does a VACUUM keep files for less time than an ingest takes?"
        )


def _size(lock: ArchiveLock, folder: Path | None, file: DataFile) -> int:
    """The size of a data file, 0 if it is gone; in a `folder` of this machine without the JVM."""
    if folder is None:
        return lock.warehouse.kernel.storage.size(file.url)
    with suppress(OSError):
        return (folder / file.url.removeprefix(f"{lock.root}/")).stat().st_size
    return 0


def _check(lock: ArchiveLock, expected: str, sequence: int) -> None:
    """Read back the commit: one that was overwritten by another, or skipped, reports no error itself.

    Where no lock keeps runs apart, the next run may have committed by now.
    """
    stored = _stored(lock, lock.warehouse.state(RECORDS.name))
    if stored == expected:
        return
    last_run = from_json(stored).last_run
    if last_run is None or last_run.sequence <= sequence:
        raise ChecksFailed("table records does not hold what was committed: does its log store keep writers apart?")


def _stored(lock: ArchiveLock, state: State) -> str | None:
    """The next offsets in a version of table `records`, in their stored form."""
    return lock.warehouse.kernel.domain(state, domain(lock.cluster_id))
