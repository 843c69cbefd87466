"""Publishes the rows of a snapshot to the state tables, so that readers see all of them or none.

A slot of a cluster is published at most once. Rows count only if table `snapshots` has their snapshot_id, and that row is
written last, under a transaction id that was read when the run began: whoever publishes in between uses it up, and this run
fails. What a dead attempt has left stays invisible.
"""

from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from datetime import UTC, date, datetime
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from kafka_lagoon.clock import Clock
from kafka_lagoon.delta.arrow import arrow_blocks, read_table, rows_with, snapshot_date, write_parquet
from kafka_lagoon.delta.files import DataFile
from kafka_lagoon.delta.foreign_commits import CLOCKS_DIFFER_MS, Commit, commits_between, contradiction
from kafka_lagoon.delta.kernel import Fence, State
from kafka_lagoon.delta.kernel_errors import Fenced
from kafka_lagoon.delta.log_files import added_files
from kafka_lagoon.delta.warehouse import COMMIT_LOCK_WAIT_MS, PARALLEL, Warehouse, refuse_replaced
from kafka_lagoon.delta.withdraw import withdraw
from kafka_lagoon.errors import ChecksFailed, LockHeld, SnapshotExists, TableError
from kafka_lagoon.frozen import frozen
from kafka_lagoon.tables.columns import TIMESTAMP
from kafka_lagoon.tables.row_columns import BLOCK
from kafka_lagoon.tables.schema import SNAPSHOT_DATE, STATE_TABLES
from kafka_lagoon.tables.snapshot_rows import Snapshot
from kafka_lagoon.tables.table import Table
from kafka_lagoon.tables.table_states import StoredTable

_FACTS, _SNAPSHOTS = STATE_TABLES[:-1], STATE_TABLES[-1]
_OUR_WRITER_VERSION = 2  # of the state tables that are created here; to check others takes milliseconds each


@frozen
class SnapshotLock:
    """The lock on a cluster's snapshots; `history` is the state of table `snapshots` when it was taken."""

    warehouse: Warehouse
    cluster: str
    clock: Clock
    history: State
    fence: Fence


@frozen
class PublishedSlot:
    """The published snapshot of a slot; `cluster_id` is that of its Kafka cluster, None if no broker returned it."""

    snapshot_id: str
    cluster_id: str | None
    slot_ms: int
    captured_at_ms: int
    status: str
    failures: int


@frozen
class Published:
    """The rows by table that were written and read back, and the seconds that it took."""

    snapshot_id: str
    rows: Mapping[str, int]
    seconds: float


@contextmanager
def snapshot_lock(warehouse: Warehouse, cluster: str, clock: Clock, wait_ms: int = 0) -> Iterator[SnapshotLock]:
    """Hold the lock on a cluster's snapshots; LockHeld if another run holds it for longer than `wait_ms` milliseconds.

    Where no lock is possible (`Warehouse.exclusively`) two runs may both begin; the fence lets only one publish. TableError if
    the rows of a snapshot could not be written.
    """
    with warehouse.exclusively(f"cluster-{cluster}", clock, wait_ms):
        _refuse_unwritable(warehouse)
        history = warehouse.state(_SNAPSHOTS.name)
        app_id = f"lagoon/snapshots/{cluster}"
        last = warehouse.kernel.last_transaction(history, app_id)
        fence = Fence(app_id, 1 if last is None else last + 1)
        yield SnapshotLock(warehouse=warehouse, cluster=cluster, clock=clock, history=history, fence=fence)


def _refuse_unwritable(warehouse: Warehouse) -> None:
    """TableError if a table needs writers with a feature that Delta Kernel does not write, such as CHECK constraints.

    Otherwise each run would collect everything, and leave rows in the other tables that no view shows.
    """
    states = (warehouse.opened.get(table.name) for table in STATE_TABLES)
    for state in states:
        if state and state.writer_version > _OUR_WRITER_VERSION:
            warehouse.kernel.refuse_unwritable(state)


def published(lock: SnapshotLock, slot_ms: int) -> PublishedSlot | None:
    """The snapshot that was published for a slot of the cluster when the lock was taken."""
    wanted: dict[str, str | datetime] = {"cluster": lock.cluster, "slot": _instant(slot_ms)}
    columns = ("snapshot_id", "cluster_id", "captured_at", "status", "failures")
    rows = _rows(lock.warehouse, lock.history, wanted, columns)
    if not rows.num_rows:
        return None
    row = rows.to_pylist()[0]
    captured_at_ms = round(row["captured_at"].timestamp() * 1000)
    return PublishedSlot(
        snapshot_id=row["snapshot_id"],
        cluster_id=row["cluster_id"],
        slot_ms=slot_ms,
        captured_at_ms=captured_at_ms,
        status=row["status"],
        failures=row["failures"],
    )


def refuse_other_cluster(lock: SnapshotLock, earlier: PublishedSlot, cluster_id: str | None) -> None:
    """SnapshotExists if the slot was published for another Kafka cluster of the same name: of this one it has no snapshot."""
    if cluster_id is None or earlier.cluster_id in (None, cluster_id):
        return
    raise SnapshotExists(
        f"slot {_instant(earlier.slot_ms).isoformat()} of cluster {lock.cluster} is published as {earlier.snapshot_id} for the "
        f"Kafka cluster {earlier.cluster_id}, and this is {cluster_id}: give each a name of its own, as [clusters.NAME]"
    )


def stored_tables(lock: SnapshotLock, day_of_ms: int) -> Mapping[str, StoredTable]:
    """Snapshots of a UTC day that have the rows of the cluster's latest one, for tables that are written when they change.

    Any published snapshot of the day would do, so the first file by name is taken: ours begin with the snapshot's id, whose
    first part is its time.
    """
    day = _instant(day_of_ms).date()
    urls = lock.warehouse.kernel.files(lock.history, {"cluster": lock.cluster, SNAPSHOT_DATE: day})
    for url in sorted(urls, reverse=True):
        stored = read_table(lock.warehouse.kernel.storage, url, ["cluster", "captured_at", "tables"])
        arrow = _filtered(stored, {"cluster": lock.cluster})
        if arrow.num_rows:
            row = max(arrow.to_pylist(), key=lambda row: row["captured_at"])
            filled = {one["table_name"] for one in row.get("tables") or () if one["row_count"]}
            return {
                table: one
                for table, one in _stored_tables(row).items()
                if not _has_lost_rows(lock.warehouse, table, one, day if table in filled else None)
            }
    return {}


def _stored_tables(row: Mapping[str, Any]) -> Mapping[str, StoredTable]:
    """The tables that a row of table `snapshots` refers to; a row of version 0.1.0 refers to none."""
    captured_at_ms = round(row["captured_at"].timestamp() * 1000)
    return {
        one["table_name"]: StoredTable(
            snapshot_id=one["stored_in"], captured_at_ms=captured_at_ms, digest=one["digest"]
        )
        for one in row.get("tables") or ()
        if one["digest"] is not None
    }


def _has_lost_rows(warehouse: Warehouse, table: str, stored: StoredTable, day: date | None) -> bool:
    """Return true if a table may lack the rows that an earlier snapshot stored on this `day`: they are written again then.

    It is so if the table was re-created or rolled back, or if its rows were replaced since the last snapshot, which checked the
    same. Commits have the time of their writer's clock, so commits of one more hour are read.
    """
    location = warehouse.locations.get(table)
    if location is None:
        return False
    state = warehouse.base(table)
    if day and not warehouse.kernel.files(state, {SNAPSHOT_DATE: day, "snapshot_id": stored.snapshot_id}):
        return True
    commits, version = list[Commit](), state.version
    while version > 0:
        (commit,) = commits_between(warehouse.kernel.storage, location, version - 1, version)
        if commit.is_before(stored.captured_at_ms - CLOCKS_DIFFER_MS):
            break
        commits.insert(0, commit)
        version -= 1
    return contradiction(commits) is not None


def publish(lock: SnapshotLock, snapshot: Snapshot, wait_ms: int = COMMIT_LOCK_WAIT_MS) -> Published:
    """Write all tables, `snapshots` last, each read back after its commit; others that commit are waited for `wait_ms`.

    SnapshotExists if the slot was published before the lock was taken, LockHeld if the cluster was since, and then what this
    attempt has written is taken back; ChecksFailed if a table does not hold what was written to it. In all three cases
    readers see nothing of this attempt.
    """
    started = lock.clock.monotonic()
    _refuse_published(lock, snapshot)
    try:
        _write_all(lock, snapshot, wait_ms)
    except Fenced as error:
        if not _is_published(lock, snapshot):  # else the answer to the commit was lost, and repeating it was refused
            _take_back(lock, snapshot)
            raise LockHeld(f"the snapshots of cluster {lock.cluster}", "it published in the meantime") from error
    except ChecksFailed:
        raise
    except TableError:
        if not _is_published_nevertheless(lock, snapshot):
            raise
    rows = {table.name: len(snapshot.rows[table.row]) if _is_written(snapshot, table) else 0 for table in STATE_TABLES}
    return Published(snapshot_id=snapshot.header.snapshot_id, rows=rows, seconds=lock.clock.monotonic() - started)


def _write_all(lock: SnapshotLock, snapshot: Snapshot, wait_ms: int) -> None:
    """Write tables side by side, whose commits take time to wait; those of several pieces one by one, which take memory."""
    large = [table for table in _FACTS if len(snapshot.rows[table.row]) > BLOCK]
    others = [table for table in _FACTS if table not in large]
    with lock.warehouse.exclusively("commit", lock.clock, wait_ms):
        versions = {table.name: _write(lock, snapshot, table) for table in large}
        with ThreadPoolExecutor(PARALLEL) as threads:
            written = threads.map(lambda table: (table.name, _write(lock, snapshot, table)), others)
            versions |= dict(written)
            list(threads.map(lambda table: _refuse_lost(lock, snapshot, table, versions[table.name]), _FACTS))
        _write(lock, snapshot, _SNAPSHOTS, lock.fence)


def _refuse_lost(lock: SnapshotLock, snapshot: Snapshot, table: Table, version: int | None) -> None:
    """Raise ChecksFailed if others removed rows that the snapshot wrote in `version`, or that it refers to."""
    if version is None and table.name in snapshot.stored_elsewhere:
        version = lock.warehouse.base(table.name).version
    if version is not None:
        refuse_replaced(lock.warehouse, table, version)


def _is_published(lock: SnapshotLock, snapshot: Snapshot) -> bool:
    wanted = {"snapshot_id": snapshot.header.snapshot_id}
    rows = _rows(lock.warehouse, lock.warehouse.state(_SNAPSHOTS.name), wanted, ())
    return bool(rows.num_rows)


def _is_published_nevertheless(lock: SnapshotLock, snapshot: Snapshot) -> bool:
    """True if a commit that was refused has been made after all: the Kernel repeats a request without an answer."""
    with suppress(TableError):
        return _is_published(lock, snapshot)
    return False


def _take_back(lock: SnapshotLock, snapshot: Snapshot) -> None:
    """Remove the rows of an attempt that was not published."""
    written = [table for table in _FACTS if _is_written(snapshot, table)]
    withdraw(lock.warehouse, {table.name: _url(lock.warehouse, snapshot, table) for table in written}, lock.clock)
    with suppress(TableError):  # no version names it
        lock.warehouse.kernel.storage.delete(_url(lock.warehouse, snapshot, _SNAPSHOTS))


def _is_written(snapshot: Snapshot, table: Table) -> bool:
    """True if a table gets a file: it has rows, and no earlier snapshot has stored them."""
    return bool(snapshot.rows[table.row]) and table.name not in snapshot.stored_elsewhere


def _url(warehouse: Warehouse, snapshot: Snapshot, table: Table) -> str:
    """URL of the file with a snapshot's rows of a table."""
    day = snapshot_date(snapshot.header)
    return f"{warehouse.locations[table.name]}/{SNAPSHOT_DATE}={day}/{snapshot.header.snapshot_id}.parquet"


def _refuse_published(lock: SnapshotLock, snapshot: Snapshot) -> None:
    before = published(lock, snapshot.published.slot_ms)
    if before:
        slot = _instant(before.slot_ms).isoformat()
        raise SnapshotExists(f"slot {slot} of cluster {lock.cluster} is published as {before.snapshot_id}")


def _write(lock: SnapshotLock, snapshot: Snapshot, table: Table, fence: Fence | None = None) -> int | None:
    """Append a snapshot's rows to a table as one file, and read them back; returns the version, None without rows."""
    if not _is_written(snapshot, table):
        return None
    rows, url = snapshot.rows[table.row], _url(lock.warehouse, snapshot, table)
    pieces, day = arrow_blocks(table, snapshot.header, rows), snapshot_date(snapshot.header)
    stored, statistics = lock.warehouse.kernel.storage.write_with(url, lambda sink: write_parquet(sink, pieces))
    file = DataFile(url=url, size=stored.size, modified_at_ms=stored.modified_at_ms, statistics=statistics)
    base = lock.history if fence else lock.warehouse.base(table.name)
    version = lock.warehouse.kernel.append(base, [file], (SNAPSHOT_DATE, day), fence=fence)
    _check(lock.warehouse, table, version, url, snapshot.header.snapshot_id, len(rows))
    return version


def _check(warehouse: Warehouse, table: Table, version: int, url: str, snapshot_id: str, expected: int) -> None:
    """Read back the commit: one that was overwritten by another, or skipped, reports no error itself.

    The commit is read instead of the table, because its cost does not grow with the table's history.
    """
    kernel = warehouse.kernel
    named = url in added_files(kernel.storage, warehouse.locations[table.name], version)
    count = rows_with(kernel.storage.read(url), "snapshot_id", snapshot_id) if named else 0
    if count != expected:
        raise ChecksFailed(f"table {table.name} holds {count} of {expected} rows of snapshot {snapshot_id}")


def _rows(
    warehouse: Warehouse, state: State, wanted: Mapping[str, str | datetime], columns: tuple[str, ...]
) -> pa.Table:
    """The rows of a table with all values `wanted`, from files that may hold such rows."""
    names, storage = [*wanted, *columns], warehouse.kernel.storage
    tables = [_filtered(read_table(storage, url, names), wanted) for url in warehouse.kernel.files(state, wanted)]
    return pa.concat_tables(tables, promote_options="default") if tables else pa.table({name: [] for name in names})


def _filtered(arrow: pa.Table, wanted: Mapping[str, str | datetime]) -> pa.Table:
    for name, value in wanted.items():
        column = arrow[name].cast(TIMESTAMP) if isinstance(value, datetime) else arrow[name]  # Spark may write INT96
        arrow = arrow.filter(pc.equal(column, pa.scalar(value, column.type)))
    return arrow


def _instant(epoch_ms: int) -> datetime:
    return datetime.fromtimestamp(epoch_ms / 1000, UTC)
