"""Lists all tables, with the schemas that their row classes declare."""

from collections.abc import Mapping
from typing import Any

from kafka_lagoon.tables.columns import Column, columns_of
from kafka_lagoon.tables.record_tables import RECORD_TABLES
from kafka_lagoon.tables.snapshot_rows import SnapshotHeader
from kafka_lagoon.tables.state_tables import DECLARATIONS, FIRST_VERSION, StateTable
from kafka_lagoon.tables.stored_rows import StoredChangeRow, StoredThroughputRow
from kafka_lagoon.tables.table import STATE_LOG_DAYS, WITH_DOMAINS, Table, comment_of, day_column
from kafka_lagoon.tables.write_rows import AdminActionRow, RestoreMapRow, RestoreReceiptRow

SNAPSHOT_DATE, WRITE_DATE = "snapshot_date", "write_date"
HEADER = tuple(columns_of(SnapshotHeader))


def _state(table: StateTable) -> Table:
    return Table(
        name=table.name,
        row=table.row,
        comment=comment_of(table.row),
        columns=(*HEADER, *columns_of(table.row), day_column(SNAPSHOT_DATE, "captured_at")),
        features={},
        bounded_in_0_1=("snapshot_id", "cluster", "captured_at"),
        log_days=STATE_LOG_DAYS,
        when_changed=table.when_changed,
        is_optional=table.added_in != FIRST_VERSION,
    )


def _later(name: str, row: type[Any], day: Column, features: Mapping[str, str] | None = None) -> Table:
    """A table that a later version added: a warehouse has it after a run of that version. `day` is the partition column."""
    return Table(
        name=name,
        row=row,
        comment=comment_of(row),
        columns=(*columns_of(row), day),
        features=features or {},
        bounded_in_0_1=(),
        log_days=STATE_LOG_DAYS,
        is_optional=True,
    )


def _writing(name: str, row: type[Any], features: Mapping[str, str] | None = None) -> Table:
    return _later(name, row, day_column(WRITE_DATE, "the row"), features)


def _stored(name: str, row: type[Any]) -> Table:
    return _later(name, row, day_column(SNAPSHOT_DATE, "captured_at"))


# In the order of publication: `snapshots` is last, because its row publishes the rows of all other tables.
STATE_TABLES = tuple(map(_state, DECLARATIONS))
LATER_STATE_TABLES = tuple(
    table.name for table in STATE_TABLES if table.is_optional
)  # no snapshot of version 0.1.0 has them

# Tables of writes to clusters. Their rows are partitioned by their own day.
ADMIN_ACTIONS = _writing("admin_actions", AdminActionRow)
RESTORE_MAP = _writing("restore_map", RestoreMapRow, WITH_DOMAINS)
RESTORE_RECEIPTS = _writing("restore_receipts", RestoreReceiptRow)
WRITE_TABLES = (ADMIN_ACTIONS, RESTORE_MAP, RESTORE_RECEIPTS)

# Tables with rows of days that are over, which can be computed again from the state tables.
STORED_CHANGES = _stored("stored_changes", StoredChangeRow)
STORED_THROUGHPUT = _stored("stored_throughput", StoredThroughputRow)
STORED_TABLES = (STORED_CHANGES, STORED_THROUGHPUT)

TABLES = (*STATE_TABLES, *STORED_TABLES, *RECORD_TABLES, *WRITE_TABLES)
