"""Exactly-once archiving where a catalog insists that Spark writes: staged files in, rows of tables out, by Spark's own writer.

Guards one rule: Spark's writer commits no positions with the data, so what a run has read is written down first. A ledger
in the staging folder names the staged files and the positions behind them; from then on every append has the run's number
as its transaction id, which Delta skips when it is there. Whatever point a run dies at, the next one repeats the rest.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date

from pyspark.errors import PySparkException
from pyspark.sql import functions as F  # noqa: N812  everybody's name for it
from pyspark.sql.types import StructType

from pipeline.client.deadline import Clock
from pipeline.errors import ChecksFailed, LockHeld, TableError
from pipeline.tables.archive import ArchiveTurn, Run, app_id, stage
from pipeline.tables.files import DataFile
from pipeline.tables.kernel import Fence
from pipeline.tables.ledger import LastRun, Ledger, StagedFile, from_json, to_json
from pipeline.tables.schema import RECORD_PROBLEMS, RECORD_RANGES, RECORDS, Table
from pipeline.tables.storage import Storage, reason
from pipeline.tables.warehouse import COMMIT_LOCK_WAIT_MS, Warehouse

_LEDGER, _PAID = ".ledger.json", ".paid"


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

    def url(self, number: int, kind: str) -> str:
        """Where a ledger or its mark is."""
        return f"{self.root}/{number:012d}{kind}"


@contextmanager
def staged_turn(
    warehouse: Warehouse, staging: str, cluster_id: str, clock: Clock, wait_ms: int = 0
) -> Iterator[ArchiveTurn]:
    """One run's turn at a cluster's archive, after the last run's files are in the tables.

    LockHeld if another run has it for longer than `wait_ms` milliseconds.
    """
    with warehouse.exclusively(f"records-{cluster_id}", clock, wait_ms):
        place = _place(warehouse, staging, cluster_id)
        number = place.newest()
        ledger = place.ledger(number)
        if ledger.last:
            _pay(warehouse, place, cluster_id, ledger.last, clock)
        yield ArchiveTurn(
            warehouse=warehouse,
            cluster_id=cluster_id,
            clock=clock,
            topics=ledger.topics,
            fence=Fence(app_id(cluster_id), number + 1),
            root=place.root,
        )


def commit_staged(mine: ArchiveTurn, run: Run) -> None:
    """Write down what a run has read, then let Spark write it into the tables.

    LockHeld if another run has written down its own since the turn began; then nothing of this one is seen.
    """
    place = _Staging(storage=mine.warehouse.kernel.storage, root=mine.root)
    last = LastRun(
        ingest_id=run.ingest_id,
        sequence=mine.fence.version,
        ingest_date=run.ingest_date.isoformat(),
        base_version=0,
        ranges=stage(mine.warehouse, RECORD_RANGES, f"{place.root}/ranges", run, run.settled.ranges),
        problems=stage(mine.warehouse, RECORD_PROBLEMS, f"{place.root}/problems", run, run.settled.problems),
        records=tuple(_staged(place, file) for file in run.files),
    )
    ledger = to_json(Ledger(topics=run.settled.topics, last=last))
    if place.newest() >= last.sequence:
        raise LockHeld(f"the archive of cluster {mine.cluster_id}", "it committed in the meantime")
    place.storage.write(place.url(last.sequence, _LEDGER), ledger.encode())
    _pay(mine.warehouse, place, mine.cluster_id, last, mine.clock)


def _place(warehouse: Warehouse, staging: str, cluster_id: str) -> _Staging:
    storage = warehouse.kernel.storage
    return _Staging(storage=storage, root=f"{storage.qualified(staging)}/{cluster_id}")


def _staged(place: _Staging, file: DataFile) -> StagedFile:
    name = file.url.removeprefix(f"{place.root}/")
    return StagedFile(name=name, size=file.size, rows=file.statistics.rows, modified_at_ms=file.modified_at_ms)


def _pay(warehouse: Warehouse, place: _Staging, cluster_id: str, last: LastRun, clock: Clock) -> None:
    """Bring what a run wrote down into the tables, records first, and clear the staging folder."""
    if not place.is_paid(last.sequence):
        owed = (
            (RECORDS, place.root, last.records),
            (RECORD_RANGES, f"{place.root}/ranges", [last.ranges] if last.ranges else []),
            (RECORD_PROBLEMS, f"{place.root}/problems", [last.problems] if last.problems else []),
        )
        with warehouse.exclusively("commit", clock, COMMIT_LOCK_WAIT_MS):
            for table, root, files in owed:
                if files:
                    _append(warehouse, table, [f"{root}/{file.name}" for file in files], cluster_id, last)
                    _check(warehouse, table, last, sum(file.rows for file in files))
        place.storage.write(place.url(last.sequence, _PAID), b"")
    _clear(place, last)


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
    mine = f"{table.partition_by} = DATE'{last.ingest_date}' AND ingest_id = '{last.ingest_id}'"
    found = warehouse.spark.sql(f"SELECT count(*) FROM {name} WHERE {mine}").collect()[0][0]  # noqa: S608  our own names
    if found != expected:
        raise ChecksFailed(f"table {table.name} holds {found} of {expected} rows of ingest {last.ingest_id}")


def _clear(place: _Staging, last: LastRun) -> None:
    """Remove staged files and the ledgers before the last one."""
    for name in place.storage.names(place.root):
        is_newest = name.startswith(f"{last.sequence:012d}")
        if not is_newest:
            place.storage.delete(f"{place.root}/{name}")
