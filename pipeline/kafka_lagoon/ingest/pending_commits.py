"""Commits to record_ranges and record_problems that follow the commit of a run's records, made by that run or the next one.

The rows lie in a pending file (ingest/pending.py) that the ledger names. They become a new data file of their table, which is
looked at before it is committed. Where somebody has removed the pending file, ranges are made again from what was committed
(ingest/remade.py), and the next report says so.
"""

import uuid
from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any

import pyarrow as pa

from kafka_lagoon.clock import Clock
from kafka_lagoon.delta.arrow import plain_table, table_of
from kafka_lagoon.delta.kernel import Fence, Fenced
from kafka_lagoon.delta.schema import RECORD_PROBLEMS, RECORD_RANGES, RECORDS, Table
from kafka_lagoon.delta.warehouse import COMMIT_LOCK_WAIT_MS, Warehouse
from kafka_lagoon.errors import TableError
from kafka_lagoon.fetch.plan import Archived
from kafka_lagoon.ingest.next_offsets import LastRun, Ledger, StagedFile
from kafka_lagoon.ingest.pending import FOLDER, Pending, Report, read_staged
from kafka_lagoon.ingest.remade import remade_ranges

KEEP = "keep"


def app_id(cluster_id: str) -> str:
    """The name under which a cluster's runs are numbered in the tables' transaction ids."""
    return f"lagoon/records/{cluster_id}"


def is_added(warehouse: Warehouse, table: Table, cluster_id: str, sequence: int) -> bool:
    """Whether a table holds what run `sequence` adds to it."""
    state = warehouse.state(table.name)
    return (warehouse.kernel.last_transaction(state, app_id(cluster_id)) or 0) >= sequence


def refuse_replaced(warehouse: Warehouse, cluster_id: str, last: LastRun | None, after_restore: str | None) -> None:
    """TableError if one of `records` and `record_ranges` was removed and made anew while the other has a history.

    Each run adds its ranges, and only the last one may still have to. KEEP goes on without the earlier ones.
    """
    if last is None and is_added(warehouse, RECORD_RANGES, cluster_id, 1):
        raise TableError(
            "table records is new and record_ranges is not: archiving anew would double ranges. "
            "Put records back, or remove record_ranges and record_problems too"
        )
    if last and after_restore != KEEP and not is_added(warehouse, RECORD_RANGES, cluster_id, last.sequence - 1):
        raise TableError(
            f"table record_ranges does not have the ranges of the {last.sequence - 1} runs before the last one: it was "
            "removed or replaced. Put it back, or give --after-restore keep to go on without them"
        )


def commit_pending(warehouse: Warehouse, cluster_id: str, ledger: Ledger, clock: Clock) -> None:
    """Add what the last run has still to add to record_ranges, then to record_problems."""
    last = ledger.last
    if last is None:
        return
    with warehouse.exclusively("commit", clock, COMMIT_LOCK_WAIT_MS):
        for table, staged in ((RECORD_RANGES, last.ranges), (RECORD_PROBLEMS, last.problems)):
            if staged and not is_added(warehouse, table, cluster_id, last.sequence):
                _add(warehouse, table, cluster_id, last, ledger.topics, staged)


def remake(
    warehouse: Warehouse, pending: Pending, table: Table, last: LastRun, topics: Mapping[str, Archived], rows: int
) -> Sequence[Any]:
    """Rows in place of a pending file that is gone, and a report that says what happened."""
    text = f"had {rows:,} rows of table {table.name} to add, and the file that held them was removed: "
    if table is RECORD_RANGES:
        made: Sequence[Any] = remade_ranges(warehouse, pending.cluster_id, last, topics)
        text += f"{len(made):,} ranges were made again from table records (problem COUNTS_LOST)"
    else:
        made, text = [], text + "they cannot be made again"
    pending.write_report(Report(last.ingest_id, text))
    return made


def _add(
    warehouse: Warehouse,
    table: Table,
    cluster_id: str,
    last: LastRun,
    topics: Mapping[str, Archived],
    staged: StagedFile,
) -> None:
    storage = warehouse.kernel.storage
    root = warehouse.locations[RECORDS.name if staged.name.startswith(f"{FOLDER}/") else table.name]
    data = read_staged(storage, f"{root}/{staged.name}", staged)
    if data is None:
        if is_added(warehouse, table, cluster_id, last.sequence):
            return  # by another process, where there is no lock
        pending = Pending(storage=storage, root=warehouse.locations[RECORDS.name], cluster_id=cluster_id)
        arrow = plain_table(table, remake(warehouse, pending, table, last, topics, staged.rows))
    else:
        arrow = table_of(data)
    _append(warehouse, table, cluster_id, last, arrow)
    storage.delete(f"{root}/{staged.name}")


def _append(warehouse: Warehouse, table: Table, cluster_id: str, last: LastRun, arrow: pa.Table) -> None:
    """Commit rows as one new data file under the run's number; none if there are none, so that nobody tries again."""
    state, storage = warehouse.state(table.name), warehouse.kernel.storage
    files = []
    if len(arrow):
        name = f"{table.partition_by}={last.ingest_date}/{last.ingest_id}-{uuid.uuid4().hex}.parquet"
        files = [storage.write_rows(f"{state.location}/{name}", arrow)]
    fence, day = Fence(app_id(cluster_id), last.sequence), date.fromisoformat(last.ingest_date)
    try:
        warehouse.kernel.append(state, files, (table.partition_by, day), fence=fence)
    except Fenced:  # another process was first, where there is no lock; the file is in no version
        for file in files:
            storage.delete(file.url)
