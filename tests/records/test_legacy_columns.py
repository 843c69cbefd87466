"""Arrow batches of old messages have the same columns as the current format, with null for missing fields."""

from datetime import UTC, datetime

import pyarrow as pa
import pytest

from kafka_lagoon.records.buffers import DECODED, schema_of
from kafka_lagoon.records.layout import YEAR_1_MS, YEAR_10000_MS
from kafka_lagoon.records.legacy import LegacyRecord
from kafka_lagoon.records.legacy_columns import legacy_arrow_batch

RECORDS = [LegacyRecord(3, 1_000, 0, b"k", None), LegacyRecord(5, -1, -1, None, b"")]


def test_all_columns() -> None:
    """The columns have the order and the types of the current format."""
    batch = legacy_arrow_batch(RECORDS, DECODED)
    batch.validate(full=True)
    assert batch.schema == DECODED
    absent = dict.fromkeys(("leader_epoch", "producer_id", "producer_epoch"))
    no = {"headers": [], "is_transactional": False, "is_aborted": False, **absent}
    first = {
        "offset": 3,
        "timestamp": datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC),
        "timestamp_ms": 1_000,
        "timestamp_type": 0,
    }
    second = {"offset": 5, "timestamp": None, "timestamp_ms": -1, "timestamp_type": -1}
    assert batch.to_pylist() == [
        {**first, "key": b"k", "value": None, **no},
        {**second, "key": None, "value": b"", **no},
    ]


@pytest.mark.parametrize("columns", [frozenset(), frozenset({"offset"}), frozenset({"value", "timestamp_ms"})])
def test_some_columns(columns: frozenset[str]) -> None:
    """Only requested columns are made; the number of rows is correct without any column."""
    batch = legacy_arrow_batch(RECORDS, schema_of(columns))
    assert set(batch.schema.names) == columns
    assert batch.num_rows == 2


def test_timestamps_outside_of_the_calendar() -> None:
    """Timestamps that are out of range are null; their milliseconds are kept."""
    moments = [YEAR_1_MS - 1, YEAR_1_MS, YEAR_10000_MS - 1, YEAR_10000_MS, 2**63 - 1]
    batch = legacy_arrow_batch([LegacyRecord(0, moment, 0, None, None) for moment in moments], DECODED)
    assert batch.column("timestamp").is_null().to_pylist() == [True, False, False, True, True]
    assert batch.column("timestamp").cast(pa.int64()).to_pylist()[1:3] == [YEAR_1_MS * 1000, (YEAR_10000_MS - 1) * 1000]
    assert batch.column("timestamp_ms").to_pylist() == moments
