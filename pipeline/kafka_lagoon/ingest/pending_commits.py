"""Commits a run's rows to record_ranges and record_problems, after the commit of its records, in that run or the next one.

The rows are in pending files (ingest/pending_files.py), which the next offsets name, and become a new data file of their table.
If the pending file of ranges was removed, the ranges are rebuilt from table `records` (ingest/rebuilt_ranges.py), and the next
run reports it.
"""

import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import date
from typing import Any

import pyarrow as pa

from kafka_lagoon.clock import Clock
from kafka_lagoon.delta.arrow import plain_table, table_of
from kafka_lagoon.delta.kernel import Fence
from kafka_lagoon.delta.kernel_errors import Fenced
from kafka_lagoon.delta.warehouse import COMMIT_LOCK_WAIT_MS, Warehouse
from kafka_lagoon.errors import ChecksFailed, NeedsSession, RangesPending, TableError
from kafka_lagoon.fetch.archived import Archived
from kafka_lagoon.ingest.examined_commits import KEEP, refuse_after
from kafka_lagoon.ingest.next_offsets import LastRun, NextOffsets, PendingFile, app_id, domain, from_json
from kafka_lagoon.ingest.pending_files import FOLDER, PendingFiles, Report, read_pending
from kafka_lagoon.ingest.rebuilt_ranges import rebuild_ranges
from kafka_lagoon.tables.record_tables import RECORD_PROBLEMS, RECORD_RANGES, RECORDS
from kafka_lagoon.tables.table import Table


def is_added(warehouse: Warehouse, table: Table, cluster_id: str, sequence: int) -> bool:
    """True if a table holds the rows that run `sequence` adds to it."""
    return _last_run_in(warehouse, table, cluster_id) >= sequence


def _last_run_in(warehouse: Warehouse, table: Table, cluster_id: str) -> int:
    """The number of the last run that has added rows to a table, 0 if there is none."""
    return warehouse.kernel.last_transaction(warehouse.state(table.name), app_id(cluster_id)) or 0


def pending_rows(warehouse: Warehouse, cluster_id: str) -> str | None:
    """The table that still lacks rows of a cluster's last run, None if no commit is pending.

    Next offsets in a staging folder are not read: for these, only the last runs of `records` and record_ranges are compared.
    """
    state = warehouse.state(RECORDS.name)
    last_run = from_json(warehouse.kernel.domain(state, domain(cluster_id))).last_run
    if last_run is None:
        sequence = warehouse.kernel.last_transaction(state, app_id(cluster_id)) or 0
        return None if is_added(warehouse, RECORD_RANGES, cluster_id, sequence) else RECORD_RANGES.name
    return next((table.name for table, _ in _pending(warehouse, cluster_id, last_run)), None)


def _pending(warehouse: Warehouse, cluster_id: str, last_run: LastRun) -> Iterator[tuple[Table, PendingFile]]:
    """Find the tables that lack rows of a run, in the order of their commits, and the files with these rows."""
    for table, file in ((RECORD_RANGES, last_run.ranges), (RECORD_PROBLEMS, last_run.problems)):
        if file and not is_added(warehouse, table, cluster_id, last_run.sequence):
            yield table, file


def archived_clusters(warehouse: Warehouse) -> list[str]:
    """The ids of the clusters whose next offsets are in the log of table `records`."""
    names = warehouse.kernel.domains(warehouse.state(RECORDS.name))
    return [name.removeprefix(domain("")) for name in names if name.startswith(domain(""))]


def last_problems_run(warehouse: Warehouse, cluster_id: str) -> int:
    """The number of the last run whose rows record_problems has, 0 if there is none."""
    return _last_run_in(warehouse, RECORD_PROBLEMS, cluster_id)


def refuse_replaced_tables(
    warehouse: Warehouse, cluster_id: str, stored: NextOffsets, problems_run: int, after_restore: str | None
) -> None:
    """TableError if a table of the archive was removed and re-created while the others have rows of earlier runs.

    TableError also if this run looks for next offsets in the log of `records`, and earlier runs kept them in a staging folder,
    or the other way round.

    Each run adds its ranges, and only those of the last run may be pending. `problems_run` is the last run whose problems are
    in the table; only the last run may have added others. With KEEP the archive continues without the missing rows.
    """
    last_run = stored.last_run
    if last_run is None and is_added(warehouse, RECORDS, cluster_id, 1):
        raise TableError(
            "table records has records of this cluster, and its next offsets are not where this run looks for them: earlier "
            "runs had another records.writer or records.staging. Use their settings again"
        )
    for table, is_old in (
        (RECORD_RANGES, last_run is None and is_added(warehouse, RECORD_RANGES, cluster_id, 1)),
        (RECORD_PROBLEMS, last_run is None and problems_run > 0),
    ):
        if is_old:
            raise TableError(
                f"table records is new and {table.name} is not: archiving again from the start would double its rows. "
                "Put records back, or remove record_ranges and record_problems too"
            )
    if last_run and after_restore != KEEP and problems_run < (stored.problems_run or 0):
        raise TableError(
            f"table record_problems does not have the problems of run {stored.problems_run} of this cluster: it was removed "
            "or replaced. Put it back, or give --after-restore keep to go on without them"
        )
    if last_run and after_restore != KEEP and not is_added(warehouse, RECORD_RANGES, cluster_id, last_run.sequence - 1):
        raise TableError(
            f"table record_ranges does not have the ranges of the {last_run.sequence - 1} runs before the last one: it was "
            "removed or replaced. Put it back, or give --after-restore keep to go on without them"
        )


def refuse_older_records(warehouse: Warehouse, cluster_id: str, last_run: LastRun | None) -> None:
    """TableError if another table has rows of later runs than `records`: an older copy of its folder was put in its place.

    A Spark session with a log store that does not exclude other writers may have overwritten a commit, too. The next runs
    would have the numbers of those runs, so that their ranges and problems would count as added. `records` is read again
    after the others: a run of another process commits records first, and may do so meanwhile where no lock is.
    """
    if last_run is None:
        return
    added = [(table, _last_run_in(warehouse, table, cluster_id)) for table in (RECORD_RANGES, RECORD_PROBLEMS)]
    known = _last_run_in(warehouse, RECORDS, cluster_id)
    for table, sequence in added:
        if sequence > known:
            raise TableError(
                f"table {table.name} has rows of run {sequence} of this cluster, and the last run that table records has is "
                f"{known}: an older copy of records was put back, or a commit to records was overwritten. Put copies of "
                "record_ranges and record_problems of the same time back, too"
            )


def commit_pending(warehouse: Warehouse, cluster_id: str, offsets: NextOffsets, clock: Clock) -> None:
    """Commit the pending rows of the last run to record_ranges, then to record_problems.

    ChecksFailed if a table was rolled back just before: the next run demands --after-restore.
    """
    if offsets.last_run:
        with warehouse.exclusively("commit", clock, COMMIT_LOCK_WAIT_MS):
            add_pending(warehouse, cluster_id, offsets.topics, offsets.last_run)


def add_pending(warehouse: Warehouse, cluster_id: str, topics: Mapping[str, Archived], last_run: LastRun) -> None:
    """Commit the pending rows as `commit_pending` does; the caller holds the lock on commits."""
    for table, file in _pending(warehouse, cluster_id, last_run):
        _add(warehouse, table, cluster_id, topics, last_run, file)


@contextmanager
def after_records(ingest_id: str) -> Iterator[None]:
    """Raise RangesPending in place of a TableError, after the commit of a run's records.

    ChecksFailed passes, because the next run does not mend it, and NeedsSession, after which the run continues with a session.
    """
    try:
        yield
    except (ChecksFailed, NeedsSession):
        raise
    except TableError as error:
        raise RangesPending(ingest_id, str(error)) from error


def commit_pending_of_cluster(warehouse: Warehouse, cluster_id: str, clock: Clock) -> None:
    """Commit the pending rows of a cluster's last run; TableError if a table of the archive was replaced.

    Rows of the last run would make a new table look as if it had those of all runs.
    """
    stored = from_json(warehouse.kernel.domain(warehouse.state(RECORDS.name), domain(cluster_id)))
    refuse_replaced_tables(warehouse, cluster_id, stored, last_problems_run(warehouse, cluster_id), None)
    commit_pending(warehouse, cluster_id, stored, clock)


def commit_pending_of_all(warehouse: Warehouse, clock: Clock) -> None:
    """Commit the pending rows of every cluster's last run, if their next offsets are in the log of `records`.

    Maintenance calls it before it removes old files: in format 1 pending files are beside data files, and in no version.
    """
    state = warehouse.state(RECORDS.name)
    for cluster_id in archived_clusters(warehouse):
        last_run = from_json(warehouse.kernel.domain(state, domain(cluster_id))).last_run
        if last_run and any(_pending(warehouse, cluster_id, last_run)):
            commit_pending_of_cluster(warehouse, cluster_id, clock)


def pending_url(warehouse: Warehouse, table: Table, file: PendingFile) -> str:
    """URL of a file with pending rows of a table: in the folder of `records`, or in format 1 in the table's own folder."""
    root = warehouse.locations[RECORDS.name if file.name.startswith(f"{FOLDER}/") else table.name]
    return f"{root}/{file.name}"


def rebuild_rows(
    warehouse: Warehouse,
    pending: PendingFiles,
    table: Table,
    last_run: LastRun,
    topics: Mapping[str, Archived],
    expected: int,
) -> Sequence[Any]:
    """Rows in place of a pending file of `expected` rows that was removed; writes a report, which the next run prints."""
    text = f"had {expected:,} rows of table {table.name} to add, and the file that held them was removed: "
    if table is RECORD_RANGES:
        rows: Sequence[Any] = rebuild_ranges(warehouse, pending.cluster_id, last_run, topics)
        text += f"{len(rows):,} ranges were rebuilt from table records (problem COUNTS_LOST)"
    else:
        rows, text = [], text + "they cannot be rebuilt"
    pending.write_report(Report(last_run.ingest_id, text))
    return rows


def _add(
    warehouse: Warehouse,
    table: Table,
    cluster_id: str,
    topics: Mapping[str, Archived],
    last_run: LastRun,
    file: PendingFile,
) -> None:
    storage, url = warehouse.kernel.storage, pending_url(warehouse, table, file)
    data = read_pending(storage, url, file)
    if data is None:
        if is_added(warehouse, table, cluster_id, last_run.sequence):
            return  # by another process, where there is no lock
        pending = PendingFiles(storage=storage, root=warehouse.locations[RECORDS.name], cluster_id=cluster_id)
        arrow = plain_table(table, rebuild_rows(warehouse, pending, table, last_run, topics, file.rows))
    else:
        arrow = table_of(data)
    _append(warehouse, table, cluster_id, last_run, arrow)
    with suppress(TableError):  # the rows are committed; the next run removes the file (`PendingFiles.reports`)
        storage.delete(url)


def _append(warehouse: Warehouse, table: Table, cluster_id: str, last_run: LastRun, arrow: pa.Table) -> None:
    """Commit rows as one new data file under the run's number.

    Without rows the commit has no file, so that no run tries again.
    """
    state, storage = warehouse.state(table.name), warehouse.kernel.storage
    files = []
    if len(arrow):
        name = f"{table.partition_by}={last_run.ingest_date}/{last_run.ingest_id}-{uuid.uuid4().hex}.parquet"
        files = [storage.write_rows(f"{state.location}/{name}", arrow)]
    fence, day = Fence(app_id(cluster_id), last_run.sequence), date.fromisoformat(last_run.ingest_date)
    try:
        version = warehouse.kernel.append(state, files, (table.partition_by, day), fence=fence)
    except Fenced:
        # another process was first, where there is no lock; or the answer was lost, and repeating it was refused
        named = warehouse.kernel.files(warehouse.state(table.name), {table.partition_by: day})
        for file in files:
            if file.url not in named:
                storage.delete(file.url)
        return
    refuse_after(warehouse, cluster_id, table, state.version, version)
