"""Joins the state tables' small files of today, so that readers open some dozens of files of a day, not one per snapshot.

Files of the last hour are left alone: runs that have not published yet may have written them. The nightly maintenance joins
what is left of a day when it is over.
"""

from datetime import date
from typing import Final

from pyarrow.lib import ArrowException

from kafka_lagoon.clock import Clock
from kafka_lagoon.delta.compact import JOINED, compact, has_row_ids
from kafka_lagoon.delta.files import LiveFile
from kafka_lagoon.delta.maintain import TARGET_BYTES
from kafka_lagoon.delta.storage import JAVA_ERRORS, reason
from kafka_lagoon.delta.warehouse import Warehouse
from kafka_lagoon.errors import TableError
from kafka_lagoon.tables.schema import SNAPSHOT_DATE, STATE_TABLES
from kafka_lagoon.tables.table import Table
from kafka_lagoon.times import utc_day

AT_ONCE: Final = 12  # files, so an hour of snapshots every five minutes becomes one
_LEFT_ALONE_MS: Final = 3_600_000


def join_today(warehouse: Warehouse, clock: Clock) -> int:
    """Join files of each state table if there are enough of them; return the number of joined files.

    Errors are those of `compact`, and TableError with Delta's words.
    """
    today = utc_day(clock.now_ms())
    *others, snapshots = STATE_TABLES
    files = _small(warehouse, snapshots, today, clock)
    if len(files) < AT_ONCE:  # each snapshot has a file there, so the other tables have no more
        return 0
    return sum(_joined(warehouse, table, today, clock) for table in (*others, snapshots))


def _joined(warehouse: Warehouse, table: Table, today: date, clock: Clock) -> int:
    try:
        files = _small(warehouse, table, today, clock)
        is_left = len(files) < 2 or has_row_ids(warehouse, table)  # noqa: PLR2004  one file cannot be joined
        before, _ = ((), ()) if is_left else compact(warehouse, table, files, TARGET_BYTES, clock)
    except (*JAVA_ERRORS, ArrowException) as error:
        raise TableError(f"files of table {table.name} cannot be joined: {reason(error)}") from error
    return len(before)


def _small(warehouse: Warehouse, table: Table, today: date, clock: Clock) -> list[LiveFile]:
    if not warehouse.has(table):
        return []
    live = warehouse.kernel.live_files(warehouse.state(table.name), {SNAPSHOT_DATE: today})
    old = clock.now_ms() - _LEFT_ALONE_MS
    return [file for file in live if file.modified_at_ms < old and not file.path.endswith(JOINED)]
