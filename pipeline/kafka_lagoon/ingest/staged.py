"""Exactly-once archiving where a catalog insists that Spark writes the tables.

Spark's writer commits no offsets with the data, so what a run has read is written down first. A ledger in the staging folder
names the staged files and the offsets to go on from; from then on every append has the run's number as its transaction id,
which Delta skips when it is there. Wherever a run dies, the next one repeats the rest.
"""

import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import functions as F  # noqa: N812  everybody's name for it
from pyspark.sql.types import StructType

from kafka_lagoon.clock import Clock
from kafka_lagoon.delta.arrow import parquet_bytes, plain_table
from kafka_lagoon.delta.files import DataFile
from kafka_lagoon.delta.kernel import Fence
from kafka_lagoon.delta.schema import RECORD_PROBLEMS, RECORD_RANGES, RECORDS, Table
from kafka_lagoon.delta.storage import Storage, reason
from kafka_lagoon.delta.warehouse import COMMIT_LOCK_WAIT_MS, Warehouse
from kafka_lagoon.errors import ChecksFailed, LockHeld, TableError
from kafka_lagoon.fetch.plan import Archived
from kafka_lagoon.ingest.archive import ArchiveLock, Run
from kafka_lagoon.ingest.next_offsets import LastRun, Ledger, StagedFile, from_json, to_json
from kafka_lagoon.ingest.pending import FOLDER, Pending, Report
from kafka_lagoon.ingest.pending_commits import app_id, is_added, refuse_replaced, remake

_LEDGER, _PAID = ".ledger.json", ".paid"
_FOLDERS = {RECORD_RANGES.name: "ranges", RECORD_PROBLEMS.name: "problems"}
_READ_AGAIN = "had staged data files that were removed before Spark wrote them: their offsets are read again"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Staging:
    """A cluster's staging folder: ledgers by number, the marks of those that are in the tables, and staged files."""

    storage: Storage
    root: str

    def newest(self) -> int:
        """Number of the last ledger, 0 if there is none."""
        names = self.storage.names(self.root)
        return max((int(name.removesuffix(_LEDGER)) for name in names if name.endswith(_LEDGER)), default=0)

    def ledger(self, number: int) -> Ledger:
        """What a run wrote down."""
        return from_json(self.storage.read(self.url(number, _LEDGER)).decode() if number else None)

    def is_paid(self, number: int) -> bool:
        """Whether all that a ledger names is in the tables."""
        return self.url(number, _PAID).rpartition("/")[2] in self.storage.names(self.root)

    def give_up(self, number: int) -> Ledger:
        """Forget what a run wrote down; what the run before it left is the newest then."""
        before = self.ledger(number - 1)
        self.storage.delete(self.url(number, _LEDGER))
        return before

    def url(self, number: int, kind: str) -> str:
        """Where a ledger or its mark is."""
        return f"{self.root}/{number:012d}{kind}"


@contextmanager
def staged_lock(
    warehouse: Warehouse,
    staging: str,
    cluster_id: str,
    clock: Clock,
    wait_ms: int = 0,
    after_restore: str | None = None,
) -> Iterator[ArchiveLock]:
    """Holds the lock on a cluster's archive, after the last run's files are in the tables.

    LockHeld if another run has it for longer than `wait_ms` milliseconds.
    """
    with warehouse.exclusively(f"records-{cluster_id}", clock, wait_ms):
        place = _place(warehouse, staging, cluster_id)
        number = place.newest()
        ledger = place.ledger(number)
        refuse_replaced(warehouse, cluster_id, ledger.last, after_restore)
        pending = Pending(storage=place.storage, root=place.root, cluster_id=cluster_id)
        if ledger.last and _is_lost(warehouse, place, cluster_id, ledger.last):
            pending.write_report(Report(ledger.last.ingest_id, _READ_AGAIN, is_loss=False))
            number, ledger = number - 1, place.give_up(number)
        if ledger.last:
            _pay(warehouse, place, pending, ledger.last, ledger.topics, clock)
        yield ArchiveLock(
            warehouse=warehouse,
            cluster_id=cluster_id,
            clock=clock,
            topics=ledger.topics,
            fence=Fence(app_id(cluster_id), number + 1),
            root=place.root,
            pending=pending,
            reports=pending.reports(ledger.last),
        )


def commit_staged(lock: ArchiveLock, run: Run) -> None:
    """Write down what a run has read, then let Spark write it into the tables.

    LockHeld if another run has written down its own since the lock was taken; then nothing of this one is seen.
    """
    place = _Staging(storage=lock.warehouse.kernel.storage, root=lock.root)
    last = LastRun(
        ingest_id=run.ingest_id,
        sequence=lock.fence.version,
        ingest_date=run.ingest_date.isoformat(),
        base_version=0,
        ranges=_stage(place, RECORD_RANGES, run, run.reconciled.ranges),
        problems=_stage(place, RECORD_PROBLEMS, run, run.reconciled.problems),
        records=tuple(_staged(place, file) for file in run.files),
    )
    lock.pending.write_losses(last.sequence, run.ingest_id, run.reconciled.ranges)
    ledger = to_json(Ledger(topics=run.reconciled.topics, last=last))
    if place.newest() >= last.sequence:
        raise LockHeld(f"the archive of cluster {lock.cluster_id}", "it committed in the meantime")
    place.storage.write(place.url(last.sequence, _LEDGER), ledger.encode())
    _pay(lock.warehouse, place, lock.pending, last, run.reconciled.topics, lock.clock)


def _place(warehouse: Warehouse, staging: str, cluster_id: str) -> _Staging:
    storage = warehouse.kernel.storage
    return _Staging(storage=storage, root=f"{storage.qualified(staging)}/{cluster_id}")


def _staged(place: _Staging, file: DataFile) -> StagedFile:
    name = file.url.removeprefix(f"{place.root}/")
    return StagedFile(name=name, size=file.size, rows=file.statistics.rows, modified_at_ms=file.modified_at_ms)


def _stage(place: _Staging, table: Table, run: Run, rows: Sequence[Any]) -> StagedFile | None:
    """Write a run's rows into the staging folder."""
    if not rows:
        return None
    return _write(place, table, f"{table.partition_by}={run.ingest_date}/{run.ingest_id}.parquet", rows)


def _write(place: _Staging, table: Table, name: str, rows: Sequence[Any]) -> StagedFile:
    data = parquet_bytes(plain_table(table, rows))
    stored = place.storage.write(f"{place.root}/{_FOLDERS[table.name]}/{name}", data)
    return StagedFile(name=name, size=stored.size, rows=len(rows), modified_at_ms=stored.modified_at_ms)


def _is_lost(warehouse: Warehouse, place: _Staging, cluster_id: str, last: LastRun) -> bool:
    """Whether data files that Spark has still to write into `records` were removed from the staging folder."""
    if place.is_paid(last.sequence) or is_added(warehouse, RECORDS, cluster_id, last.sequence):
        return False
    return any(place.storage.size(f"{place.root}/{file.name}") != file.size for file in last.records)


def _pay(
    warehouse: Warehouse,
    place: _Staging,
    pending: Pending,
    last: LastRun,
    topics: Mapping[str, Archived],
    clock: Clock,
) -> None:
    """Bring what a run wrote down into the tables, records first, and clear the staging folder."""
    if not place.is_paid(last.sequence):
        with warehouse.exclusively("commit", clock, COMMIT_LOCK_WAIT_MS):
            _add(
                warehouse,
                pending.cluster_id,
                RECORDS,
                last,
                [(f"{place.root}/{one.name}", one) for one in last.records],
            )
            for table, staged in ((RECORD_RANGES, last.ranges), (RECORD_PROBLEMS, last.problems)):
                if staged and not is_added(warehouse, table, pending.cluster_id, last.sequence):
                    files = _whole(warehouse, place, pending, table, last, topics, staged)
                    _add(warehouse, pending.cluster_id, table, last, files)
        place.storage.write(place.url(last.sequence, _PAID), b"")
    _clear(place, last)


def _whole(
    warehouse: Warehouse,
    place: _Staging,
    pending: Pending,
    table: Table,
    last: LastRun,
    topics: Mapping[str, Archived],
    staged: StagedFile,
) -> list[tuple[str, StagedFile]]:
    """A staged file of ranges or problems with its URL; what can be made again of it if it was removed."""
    folder = f"{place.root}/{_FOLDERS[table.name]}"
    if place.storage.size(f"{folder}/{staged.name}") == staged.size:
        return [(f"{folder}/{staged.name}", staged)]
    rows = remake(warehouse, pending, table, last, topics, staged.rows)
    if not rows:
        return []
    made = _write(place, table, f"{staged.name.removesuffix('.parquet')}-{uuid.uuid4().hex}.parquet", rows)
    return [(f"{folder}/{made.name}", made)]


def _add(
    warehouse: Warehouse, cluster_id: str, table: Table, last: LastRun, files: Sequence[tuple[str, StagedFile]]
) -> None:
    if files:
        _append(warehouse, table, [url for url, _ in files], cluster_id, last)
        _check(warehouse, table, last, sum(file.rows for _, file in files))


def _append(warehouse: Warehouse, table: Table, urls: Sequence[str], cluster_id: str, last: LastRun) -> None:
    day = F.lit(date.fromisoformat(last.ingest_date)).alias(table.partition_by)
    declared = StructType.fromJson(table.delta_schema()).fields  # files lack columns that are null throughout
    stored = StructType(declared[: len(table.stored())])
    try:
        rows = warehouse.spark.read.schema(stored).parquet(*urls).select("*", day)
        writer = rows.write.format("delta").mode("append")
        writer = writer.option("txnAppId", app_id(cluster_id)).option("txnVersion", last.sequence)
        if warehouse.in_catalog:
            writer.saveAsTable(warehouse.identifiers[table.name])
        else:
            writer.save(warehouse.locations[table.name])
    except PySparkException as error:
        raise TableError(f"table {table.name} cannot be appended to: {reason(error)}") from error


def _check(warehouse: Warehouse, table: Table, last: LastRun, expected: int) -> None:
    """Look again: an append under a number that is not above the last one is skipped without a word."""
    name = warehouse.identifiers[table.name]
    lock = f"{table.partition_by} = DATE'{last.ingest_date}' AND ingest_id = '{last.ingest_id}'"
    found = warehouse.spark.sql(f"SELECT count(*) FROM {name} WHERE {lock}").collect()[0][0]  # noqa: S608  our own names
    if found != expected:
        raise ChecksFailed(f"table {table.name} holds {found} of {expected} rows of ingest {last.ingest_id}")


def _clear(place: _Staging, last: LastRun) -> None:
    """Remove staged files and the ledgers before the last one."""
    for name in place.storage.names(place.root):
        is_newest = name.startswith(f"{last.sequence:012d}")
        if not is_newest and name != FOLDER:
            place.storage.delete(f"{place.root}/{name}")
