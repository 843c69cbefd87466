"""Writes the archived topic of docs/values.md: orders in JSON, and values that are not JSON."""

from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
from deltalake import DeltaTable, write_deltalake

from kafka_lagoon.tables.record_tables import RECORDS
from tests.warehouses import records_like

VALUES = (
    b'{"id": 7, "total": 12.5, "lines": [{"sku": "tea", "count": 2}]}',
    '{"id": 8, "customer": "Zoë"}'.encode(),
    b'{"id": 9',
    b"\xff\xfe",
    None,
    b"5",
    b'{"id": "A-9", "total": "n/a"}',
)


def make_archive(folder: Path) -> Path:
    """Make table `records` with topic orders."""
    day = pa.field(RECORDS.partition_by, pa.date32(), nullable=False)
    schema = pa.schema([*RECORDS.file_schema(), day])
    DeltaTable.create(str(folder / "records"), schema, partition_by=[RECORDS.partition_by])
    records = pa.concat_tables([records_like("orders", offset, 1, value=value) for offset, value in enumerate(VALUES)])
    days = pa.array([datetime(2026, 11, 21, tzinfo=UTC).date()] * len(records), pa.date32())
    write_deltalake(folder / "records", records.append_column(day, days), mode="append")
    return folder
