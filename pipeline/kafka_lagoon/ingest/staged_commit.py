"""Archives exactly once where a catalog insists that Spark writes the tables.

Spark's writer commits no offsets with the data, so a run first writes its next offsets and the names of its files to the
staging folder. From then on every append has the run's number as its transaction id, which Delta skips if it is there
already. Wherever a run dies, the next one repeats the rest.
"""

import json
import re
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import date, timedelta
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import functions as F  # noqa: N812  everybody's name for it
from pyspark.sql.types import StructType

from kafka_lagoon.clock import Clock
from kafka_lagoon.delta.arrow import plain_table
from kafka_lagoon.delta.file_names import file_name
from kafka_lagoon.delta.files import DataFile, parquet_bytes
from kafka_lagoon.delta.kernel import Fence
from kafka_lagoon.delta.storage import Storage, reason
from kafka_lagoon.delta.stored_json import reading
from kafka_lagoon.delta.warehouse import COMMIT_LOCK_WAIT_MS, Warehouse
from kafka_lagoon.errors import ChecksFailed, LockHeld, TableError
from kafka_lagoon.fetch.archived import Archived
from kafka_lagoon.frozen import frozen
from kafka_lagoon.ingest.archive_lock import ArchiveLock
from kafka_lagoon.ingest.commit import RunOutput
from kafka_lagoon.ingest.examined_commits import KEEP, are_worth_storing, examine, refuse_after, refuse_before
from kafka_lagoon.ingest.next_offsets import (
    LastRun,
    NextOffsets,
    PendingFile,
    app_id,
    from_json,
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
from kafka_lagoon.tables.record_tables import RECORD_PROBLEMS, RECORD_RANGES, RECORD_TABLES, RECORDS
from kafka_lagoon.tables.table import Table

_NEXT_OFFSETS, _COMMITTED = ".ledger.json", ".paid"  # words: ok, the names of files that 0.1.0 has written
_EXAMINED = ".examined.json"
_NUMBERED = re.compile(rf"(\d{{12}}){re.escape(_NEXT_OFFSETS)}")
_FOLDERS = {RECORD_RANGES.name: "ranges", RECORD_PROBLEMS.name: "problems"}
_STAGED = re.compile(rf"\d{{12}}\.|{RECORDS.partition_by}=|({'|'.join(_FOLDERS.values())})$")
_LEFT_FOR = timedelta(days=7)  # as maintenance keeps files that no version names: no run is older that may still commit
_READ_AGAIN = "had staged data files that were removed before Spark wrote them: their offsets are read again"


@frozen
class _StagingFolder:
    """A cluster's staging folder: next offsets by the number of the run, the marks of committed runs, and staged files.

    `is_locked` is false where no lock keeps other runs away: these may have staged files that they have not committed yet.
    """

    storage: Storage
    root: str
    is_locked: bool = True

    def last(self) -> tuple[int, NextOffsets]:
        """The number of the last run that wrote its next offsets, and these; a later run may remove them meanwhile."""
        while True:
            number = self.newest()
            try:
                return number, self.next_offsets(number)
            except TableError:
                if self.newest() == number:
                    raise

    def newest(self) -> int:
        """Number of the last run that wrote its next offsets, 0 if there is none."""
        names = self.storage.names(self.root)
        ours = (_NUMBERED.fullmatch(name) for name in names)
        return max((int(name[1]) for name in ours if name), default=0)

    def next_offsets(self, number: int) -> NextOffsets:
        """The next offsets that run `number` wrote, or a later run without new records. 0 stands for before the first run."""
        stored = from_json(self.storage.read(self.url(number, _NEXT_OFFSETS)).decode()) if number else NextOffsets()
        later = self._examined(number)
        if not later:
            return stored
        text = self.storage.read(later[-1])
        with reading(later[-1]):
            values = json.loads(text)
            if "topics" in values:
                return from_json(text.decode())
            # Earlier releases stored only these values of a run without new records.
            return replace(stored, examined=values["examined"], problems_run=values["problems_run"])

    def write_next_offsets(self, number: int, text: str) -> bool:
        """Write the next offsets of run `number`, which is committed as soon as they exist; False if another run was first.

        They exist as a whole, and once: a store without locks refuses to write them again.
        """
        if self.newest() >= number:
            return False
        url = self.url(number, _NEXT_OFFSETS)
        try:
            self.storage.write_whole(url, text)
        except TableError:
            if not self.storage.size(url):
                raise
            # The answer may have been lost, and repeating the request was refused. Log stores end each line.
            if self.storage.read(url).decode().rstrip("\n") != text:
                return False
        if self.newest() > number:  # those of the first run with this number have been removed by the run after it
            self.storage.delete(url)
            return False
        return True

    def write_examined(self, number: int, offsets: NextOffsets) -> None:
        """Write the next offsets of a run without new records after run `number`, in place of those of earlier such runs.

        If this process dies before it has removed the earlier ones, the next run may read those: it then stores its own again.
        """
        earlier = self._examined(number)
        self.storage.write_whole(self.url(number, f".{uuid.uuid4().hex}{_EXAMINED}"), to_json(offsets))
        for url in earlier:
            self.storage.delete(url)

    def _examined(self, number: int) -> list[str]:
        """URLs of the next offsets of runs without new records after a run."""
        names = self.storage.names(self.root)
        return [
            f"{self.root}/{name}"
            for name in names
            if name.startswith(_numbered(number, ".")) and name.endswith(_EXAMINED)
        ]

    def is_committed(self, number: int) -> bool:
        """True if all files of a run are in the tables."""
        return _numbered(number, _COMMITTED) in self.storage.names(self.root)

    def discard(self, number: int) -> NextOffsets:
        """Remove a run's next offsets; returns those of the run before it."""
        before = self.next_offsets(number - 1)
        self.storage.delete(self.url(number, _NEXT_OFFSETS))
        return before

    def url(self, number: int, suffix: str) -> str:
        """URL of a run's next offsets or mark."""
        return f"{self.root}/{_numbered(number, suffix)}"

    def clear(self, run: LastRun) -> None:
        """Remove the staged files of a committed run, and the next offsets of earlier runs; files of others stay.

        Files that dead runs have staged are removed under a lock, and after a week where there is none. A file that cannot be
        removed is left to the next run: its rows are committed, and nothing reads it again.
        """
        for name in self.storage.names(self.root):
            plain = name.lstrip(".")  # incomplete files begin with a dot
            # A run that was paused may come here after later runs have committed.
            is_old = plain < _numbered(run.sequence) if plain[:1].isdigit() else self.is_locked
            if is_old and _STAGED.match(plain):
                self._remove(name)
        if self.is_locked:
            return
        self.discard_staged(run)
        oldest = f"{RECORDS.partition_by}={date.fromisoformat(run.ingest_date) - _LEFT_FOR}"
        for above in ("", *(f"{folder}/" for folder in _FOLDERS.values())):
            for name in self.storage.names(f"{self.root}/{above}".rstrip("/")):
                if name.startswith(f"{RECORDS.partition_by}=") and name < oldest:
                    self._remove(f"{above}{name}")

    def discard_staged(self, run: LastRun) -> None:
        """Remove the files that a run has staged: they are in the tables, or will never be."""
        for name in _staged_names(run):
            self._remove(name)

    def _remove(self, name: str) -> None:
        with suppress(TableError):
            self.storage.delete(f"{self.root}/{name}")


def _staged_names(run: LastRun) -> Sequence[str]:
    """The files that a run has staged, as paths below the staging folder."""
    files = ((RECORD_RANGES, run.ranges), (RECORD_PROBLEMS, run.problems))
    return [
        *(file.name for file in run.records),
        *(f"{_FOLDERS[table.name]}/{file.name}" for table, file in files if file),
    ]


def _numbered(number: int, suffix: str = "") -> str:
    """The name of a run's file, which begins with the number of the run, so that names sort by it."""
    return f"{number:012d}{suffix}"


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


def _staging_folder(warehouse: Warehouse, staging: str, cluster_id: str) -> _StagingFolder:
    return _folder_at(warehouse, f"{warehouse.kernel.storage.qualified(staging)}/{file_name(cluster_id)}")


def _folder_at(warehouse: Warehouse, root: str) -> _StagingFolder:
    return _StagingFolder(storage=warehouse.kernel.storage, root=root, is_locked=warehouse.has_locks)


def _staged(folder: _StagingFolder, file: DataFile) -> PendingFile:
    name = file.url.removeprefix(f"{folder.root}/")
    return PendingFile(name=name, size=file.size, rows=file.statistics.rows, modified_at_ms=file.modified_at_ms)


def _stage(folder: _StagingFolder, table: Table, output: RunOutput, rows: Sequence[Any]) -> PendingFile | None:
    """Write a run's rows into the staging folder."""
    if not rows:
        return None
    return _write(folder, table, f"{table.partition_by}={output.ingest_date}/{output.ingest_id}.parquet", rows)


def _write(folder: _StagingFolder, table: Table, name: str, rows: Sequence[Any]) -> PendingFile:
    data = parquet_bytes(plain_table(table, rows))
    stored = folder.storage.write(f"{folder.root}/{_FOLDERS[table.name]}/{name}", data)
    return PendingFile(name=name, size=stored.size, rows=len(rows), modified_at_ms=stored.modified_at_ms)


def _is_lost(warehouse: Warehouse, folder: _StagingFolder, cluster_id: str, run: LastRun) -> bool:
    """True if staged data files were removed before Spark has written them into `records`.

    Files are looked at first: where no lock is, another process may write them now, and then removes them.
    """
    if all(folder.storage.size(f"{folder.root}/{file.name}") == file.size for file in run.records):
        return False
    return not (folder.is_committed(run.sequence) or is_added(warehouse, RECORDS, cluster_id, run.sequence))


def _commit_files(
    warehouse: Warehouse,
    folder: _StagingFolder,
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
        folder.storage.write(folder.url(run.sequence, _COMMITTED), b"")


def _staged_or_rebuilt(
    warehouse: Warehouse,
    folder: _StagingFolder,
    pending: PendingFiles,
    table: Table,
    run: LastRun,
    topics: Mapping[str, Archived],
    file: PendingFile,
) -> list[tuple[str, PendingFile]]:
    """A staged file of ranges or problems with its URL; if it was removed, one with the rows that can be rebuilt."""
    root = f"{folder.root}/{_FOLDERS[table.name]}"
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
    except PySparkException as error:
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
