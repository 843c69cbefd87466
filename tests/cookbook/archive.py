"""Writes the archived topic of docs/values.md: orders in JSON, and values that are not JSON."""

from collections.abc import Sequence
from datetime import UTC, datetime
from itertools import cycle
from pathlib import Path

import pyarrow as pa
from deltalake import DeltaTable, write_deltalake

from kafka_lagoon.tables.record_tables import RECORD_RANGES, RECORDS
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


KEYS = (b"Ada", "Zoë".encode(), b"Ada", b"\xff", b"Ada", None, "Zoë".encode())


def _written_at(offset: int) -> datetime:
    return datetime(2026, 11, 21, 8, offset, tzinfo=UTC)


def make_archive(folder: Path, values: Sequence[bytes | None] = VALUES) -> Path:
    """Make table `records` with topic orders, and the table of its ranges, which view `records_now` reads."""
    for table in (RECORDS, RECORD_RANGES):
        day = pa.field(table.partition_by, pa.date32(), nullable=False)
        schema = pa.schema([*table.file_schema(), day])
        DeltaTable.create(str(folder / table.name), schema, partition_by=[table.partition_by])
    given = enumerate(zip(cycle(KEYS), values, strict=False))
    records = pa.concat_tables(
        [
            records_like("orders", offset, 1, key=key, value=value, timestamp=_written_at(offset))
            for offset, (key, value) in given
        ]
    )
    days = pa.array([datetime(2026, 11, 21, tzinfo=UTC).date()] * len(records), pa.date32())
    write_deltalake(folder / "records", records.append_column(day, days), mode="append")
    return folder
