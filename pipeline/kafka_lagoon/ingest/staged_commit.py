"""Archives exactly once where a catalog insists that Spark writes the tables.

Spark's writer commits no offsets with the data, so a run first writes its next offsets and the names of its files to the
staging folder. From then on every append has the run's number as its transaction id, which Delta skips if it is there
already. Wherever a run dies, the next one repeats the rest.
"""

import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import date
from typing import Any

from pyspark.sql import functions as F  # noqa: N812  everybody's name for it
from pyspark.sql.types import StructType

from kafka_lagoon.clock import Clock
from kafka_lagoon.delta.arrow import plain_table
from kafka_lagoon.delta.file_names import file_name
from kafka_lagoon.delta.files import DataFile, parquet_bytes
from kafka_lagoon.delta.kernel import Fence
from kafka_lagoon.delta.storage import JAVA_ERRORS, reason
from kafka_lagoon.delta.warehouse import COMMIT_LOCK_WAIT_MS, Warehouse
from kafka_lagoon.errors import ChecksFailed, LockHeld, TableError
from kafka_lagoon.fetch.archived import Archived
from kafka_lagoon.ingest.archive_lock import ArchiveLock
from kafka_lagoon.ingest.commit import RunOutput
from kafka_lagoon.ingest.examined_commits import KEEP, are_worth_storing, examine, refuse_after, refuse_before
from kafka_lagoon.ingest.next_offsets import (
    LastRun,
    NextOffsets,
    PendingFile,
    app_id,
    to_json,
    with_examined,
)
from kafka_lagoon.ingest.pending_commits import (
    after_records,
    is_added,
    last_problems_run,
    rebuild_rows,
    refuse_replaced_tables,
)
from kafka_lagoon.ingest.pending_files import PendingFiles, Report
from kafka_lagoon.ingest.staging_folder import StagingFolder
from kafka_lagoon.tables.record_tables import RECORD_PROBLEMS, RECORD_RANGES, RECORD_TABLES, RECORDS
from kafka_lagoon.tables.table import Table

_READ_AGAIN = "had staged data files that were removed before Spark wrote them: their offsets are read again"


@contextmanager
def staged_lock(
    warehouse: Warehouse,
    staging: str,
    cluster_id: str,
    clock: Clock,
    wait_ms: int = 0,
    after_restore: str | None = None,
) -> Iterator[ArchiveLock]:
    """Hold the lock on a cluster's archive, after the last run's files were committed.

    LockHeld if another run holds it for longer than `wait_ms` milliseconds.
    """
    with warehouse.exclusively(f"records-{cluster_id}", clock, wait_ms):
        folder = _staging_folder(warehouse, staging, cluster_id)
        number, stored = folder.last()
        problems_run = last_problems_run(warehouse, cluster_id)
        refuse_replaced_tables(warehouse, cluster_id, stored, problems_run, after_restore)
        examined = examine(warehouse, cluster_id, RECORD_TABLES, stored, None, after_restore)
        is_unstored = problems_run < (stored.problems_run or 0) or are_worth_storing(
            examined.commits, cluster_id, clock.now_ms()
        )
        pending = PendingFiles(storage=folder.storage, root=folder.root, cluster_id=cluster_id)
        if stored.last_run and _is_lost(warehouse, folder, cluster_id, stored.last_run):
            pending.write_report(Report(stored.last_run.ingest_id, _READ_AGAIN, is_loss=False))
            number, stored = number - 1, folder.discard(number)
        if stored.last_run:
            if not folder.is_committed(stored.last_run.sequence):
                with warehouse.exclusively("commit", clock, COMMIT_LOCK_WAIT_MS):
                    _commit_files(warehouse, folder, pending, stored.last_run, stored.topics, after_restore)
            elif after_restore != KEEP:
                _refuse_new_records(warehouse, cluster_id, stored.last_run)
            folder.clear(stored.last_run)
            if stored.last_run.problems:
                problems_run = max(problems_run, stored.last_run.sequence)
        yield ArchiveLock(
            warehouse=warehouse,
            cluster_id=cluster_id,
            clock=clock,
            topics=stored.topics,
            fence=Fence(app_id(cluster_id), number + 1),
            root=folder.root,
            pending=pending,
            reports=pending.reports(stored.last_run),
            versions=examined.versions,
            notes=examined.notes,
            problems_run=problems_run,
            next_offsets=with_examined(stored, examined.versions, problems_run),
            is_unstored=stored.last_run is not None and is_unstored,
        )


def commit_staged(lock: ArchiveLock, output: RunOutput, wait_ms: int = COMMIT_LOCK_WAIT_MS) -> None:
    """Write next offsets and file names to the staging folder, then let Spark write the rows into the tables.

    The lock on commits is waited for up to `wait_ms` milliseconds.

    LockHeld if another run has written its next offsets since the archive's lock was taken; readers then see nothing of this
    run. RangesPending if its records are committed, and its ranges or problems are not. After another error the next run
    commits the staged files.
    """
    folder = _folder_at(lock.warehouse, lock.root)
    run = LastRun(
        ingest_id=output.ingest_id,
        sequence=lock.fence.version,
        ingest_date=output.ingest_date.isoformat(),
        base_version=0,
        ranges=_stage(folder, RECORD_RANGES, output, output.reconciled.ranges),
        problems=_stage(folder, RECORD_PROBLEMS, output, output.reconciled.problems),
        records=tuple(_staged(folder, file) for file in output.files),
    )
    lock.pending.write_losses(run.sequence, output.ingest_id, output.reconciled.ranges)
    next_offsets = to_json(
        NextOffsets(
            topics=output.reconciled.topics, last_run=run, examined=lock.versions, problems_run=lock.problems_run
        )
    )
    # The lock is taken before the next offsets are written, so that a run that waits in vain has changed nothing.
    with lock.warehouse.exclusively("commit", lock.clock, wait_ms):
        if run.sequence > 1:
            refuse_before(lock.warehouse, lock.cluster_id, lock.versions, {})
        if not folder.write_next_offsets(run.sequence, next_offsets):
            with suppress(TableError):  # the next run removes what stays
                lock.pending.remove_all(run.sequence, output.ingest_id)
            folder.discard_staged(run)
            raise LockHeld(f"the archive of cluster {lock.cluster_id}", "it committed in the meantime")
        _commit_files(lock.warehouse, folder, lock.pending, run, output.reconciled.topics)
    with after_records(run.ingest_id):
        folder.clear(run)


def store_examined(lock: ArchiveLock, topics: Mapping[str, Archived]) -> None:
    """Write the examined versions and the new topics of a run that has archived nothing, if it has to store them."""
    if unstored := lock.unstored(topics):
        folder = _folder_at(lock.warehouse, lock.root)
        folder.write_examined(unstored.last_run.sequence if unstored.last_run else 0, unstored)


def _staging_folder(warehouse: Warehouse, staging: str, cluster_id: str) -> StagingFolder:
    return _folder_at(warehouse, f"{warehouse.kernel.storage.qualified(staging)}/{file_name(cluster_id)}")


def _folder_at(warehouse: Warehouse, root: str) -> StagingFolder:
    return StagingFolder(storage=warehouse.kernel.storage, root=root, is_locked=warehouse.has_locks)


def _staged(folder: StagingFolder, file: DataFile) -> PendingFile:
    name = file.url.removeprefix(f"{folder.root}/")
    return PendingFile(name=name, size=file.size, rows=file.statistics.rows, modified_at_ms=file.modified_at_ms)


def _stage(folder: StagingFolder, table: Table, output: RunOutput, rows: Sequence[Any]) -> PendingFile | None:
    """Write a run's rows into the staging folder."""
    if not rows:
        return None
    return _write(folder, table, f"{table.partition_by}={output.ingest_date}/{output.ingest_id}.parquet", rows)


def _write(folder: StagingFolder, table: Table, name: str, rows: Sequence[Any]) -> PendingFile:
    data = parquet_bytes(plain_table(table, rows))
    stored = folder.storage.write(f"{folder.of(table)}/{name}", data)
    return PendingFile(name=name, size=stored.size, rows=len(rows), modified_at_ms=stored.modified_at_ms)


def _is_lost(warehouse: Warehouse, folder: StagingFolder, cluster_id: str, run: LastRun) -> bool:
    """True if staged data files were removed before Spark has written them into `records`.

    Files are looked at first: where no lock is, another process may write them now, and then removes them.
    """
    if all(folder.storage.size(f"{folder.root}/{file.name}") == file.size for file in run.records):
        return False
    return not (folder.is_committed(run.sequence) or is_added(warehouse, RECORDS, cluster_id, run.sequence))


def _refuse_new_records(warehouse: Warehouse, cluster_id: str, run: LastRun) -> None:
    """TableError if table `records` does not know the last run, which has added records to it.

    The table was removed and created again, or the staging folder is that of another warehouse.
    """
    if run.records and not is_added(warehouse, RECORDS, cluster_id, run.sequence):
        raise TableError(
            f"table records does not have the records of run {run.sequence} of this cluster, which records.staging says are "
            "committed: it was removed or replaced, or the folder belongs to another warehouse. Put it back, name another "
            "folder, or give --after-restore keep to go on without them"
        )


def _commit_files(
    warehouse: Warehouse,
    folder: StagingFolder,
    pending: PendingFiles,
    run: LastRun,
    topics: Mapping[str, Archived],
    after_restore: str | None = None,
) -> None:
    """Append a run's staged files to the tables, records first; the caller holds the lock on commits.

    Records that others have deleted since an attempt appended them are missed, unless the user keeps the table as it is.
    """
    if after_restore != KEEP or not is_added(warehouse, RECORDS, pending.cluster_id, run.sequence):
        staged = [(f"{folder.root}/{file.name}", file) for file in run.records]
        _add(warehouse, pending.cluster_id, RECORDS, run, staged)
    with after_records(run.ingest_id):
        for table, file in ((RECORD_RANGES, run.ranges), (RECORD_PROBLEMS, run.problems)):
            if file and not is_added(warehouse, table, pending.cluster_id, run.sequence):
                files = _staged_or_rebuilt(warehouse, folder, pending, table, run, topics, file)
                _add(warehouse, pending.cluster_id, table, run, files)
        folder.mark_committed(run.sequence)


def _staged_or_rebuilt(
    warehouse: Warehouse,
    folder: StagingFolder,
    pending: PendingFiles,
    table: Table,
    run: LastRun,
    topics: Mapping[str, Archived],
    file: PendingFile,
) -> list[tuple[str, PendingFile]]:
    """A staged file of ranges or problems with its URL; if it was removed, one with the rows that can be rebuilt."""
    root = folder.of(table)
    if folder.storage.size(f"{root}/{file.name}") == file.size:
        return [(f"{root}/{file.name}", file)]
    if is_added(warehouse, table, pending.cluster_id, run.sequence):
        return []  # by another process, where there is no lock
    rows = rebuild_rows(warehouse, pending, table, run, topics, file.rows)
    if not rows:
        return []
    rebuilt = _write(folder, table, f"{file.name.removesuffix('.parquet')}-{uuid.uuid4().hex}.parquet", rows)
    return [(f"{root}/{rebuilt.name}", rebuilt)]


def _add(
    warehouse: Warehouse, cluster_id: str, table: Table, run: LastRun, files: Sequence[tuple[str, PendingFile]]
) -> None:
    if files:
        before = warehouse.state(table.name).version
        try:
            _append(warehouse, table, [url for url, _ in files], cluster_id, run)
        except TableError:
            # Where no lock is, another process may have appended the files meanwhile, and removed them.
            if not is_added(warehouse, table, cluster_id, run.sequence):
                raise
        if run.sequence > 1:
            refuse_after(warehouse, cluster_id, table, before, warehouse.state(table.name).version)
        _check(warehouse, table, run, sum(file.rows for _, file in files))


def _append(warehouse: Warehouse, table: Table, urls: Sequence[str], cluster_id: str, run: LastRun) -> None:
    day = F.lit(date.fromisoformat(run.ingest_date)).alias(table.partition_by)
    declared = StructType.fromJson(table.delta_schema()).fields  # files lack columns that are null throughout
    stored = StructType(declared[: len(table.stored())])
    try:
        rows = warehouse.spark.read.schema(stored).parquet(*urls).select("*", day)
        writer = rows.write.format("delta").mode("append")
        writer = writer.option("txnAppId", app_id(cluster_id)).option("txnVersion", run.sequence)
        if warehouse.in_catalog:
            writer.saveAsTable(warehouse.identifiers[table.name])
        else:
            writer.save(warehouse.locations[table.name])
    except JAVA_ERRORS as error:
        raise TableError(f"table {table.name} cannot be appended to: {reason(error)}") from error


def _check(warehouse: Warehouse, table: Table, run: LastRun, expected: int) -> None:
    """Count the appended rows: an append under a number that is not above the last one is skipped without an error."""
    is_of_day = F.col(table.partition_by) == F.lit(date.fromisoformat(run.ingest_date))
    rows = warehouse.spark.table(warehouse.identifiers[table.name])
    count = rows.filter(is_of_day & (F.col("ingest_id") == run.ingest_id)).count()
    if count != expected:
        raise ChecksFailed(
            f"table {table.name} holds {count} of {expected} rows of ingest {run.ingest_id}: if the others were deleted "
            "since it was committed, give --after-restore keep to go on without them"
        )
