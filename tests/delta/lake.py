"""A warehouse that deltalake writes, for tests of readers without Spark."""

from collections.abc import Sequence
from datetime import UTC, date, datetime
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa
from deltalake import DeltaTable, write_deltalake

from kafka_lagoon.delta.arrow import arrow_table, snapshot_date
from kafka_lagoon.tables import group_rows, snapshot_rows
from kafka_lagoon.tables.record_tables import RECORDS
from kafka_lagoon.tables.schema import STATE_TABLES, TABLES
from kafka_lagoon.tables.table import Table
from tests.delta.samples import HOSTILE, NOON_MS, lag_row, row, snapshot
from tests.warehouses import records_like

NOON = datetime.fromtimestamp(NOON_MS / 1000, UTC)
SNAPSHOTS = (
    snapshot(
        1, row(group_rows.ConsumerGroupRow, group_id="billing", state="Stable"), lag_row("billing", "orders", 0, lag=5)
    ),
    snapshot(
        2,
        row(group_rows.ConsumerGroupRow, group_id="billing", state="Stable", members=1),
        row(group_rows.ConsumerGroupRow, group_id=HOSTILE),
        lag_row("billing", "orders", 0, lag=2**63 - 1),
        lag_row("billing", "orders", 1),
        lag_row(HOSTILE, "orders", 0, lag=-2),
    ),
)


def make_lake(folder: Path, snapshots: Sequence[snapshot_rows.Snapshot] = SNAPSHOTS) -> Path:
    """Make all tables, with these snapshots published, and five records, one of which is not text."""
    for name, content in _without_snapshots():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
    for made in snapshots:
        for table in STATE_TABLES:
            if facts := made.rows[table.row]:
                _append(folder, table, arrow_table(table, made.header, facts), snapshot_date(made.header))
    return folder


@cache
def _without_snapshots() -> Sequence[tuple[Path, bytes]]:
    """Make the files of a warehouse once: writing them again takes a tenth of the time of creating the tables."""
    with TemporaryDirectory() as place:
        folder = Path(place)
        for table in TABLES:
            schema = pa.schema([*table.file_schema(), pa.field(table.partition_by, pa.date32(), nullable=False)])
            DeltaTable.create(folder / table.name, schema, partition_by=[table.partition_by])
        _append(folder, RECORDS, records_like("orders", 0, 4, key=b"k", value=b"text", timestamp=NOON), NOON.date())
        _append(folder, RECORDS, records_like("orders", 4, 1, value=b"\xff\x1b", key=b""), NOON.date())
        files = sorted(path for path in folder.rglob("*") if path.is_file())
        return [(path.relative_to(folder), path.read_bytes()) for path in files]


def _append(folder: Path, table: Table, arrow: pa.Table, day: date) -> None:
    days = pa.array([day] * len(arrow), pa.date32())
    field = pa.field(table.partition_by, pa.date32(), nullable=False)
    write_deltalake(folder / table.name, arrow.append_column(field, days), mode="append")
