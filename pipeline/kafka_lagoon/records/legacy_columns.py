"""Makes Arrow batches of records of magic 0 and 1, with the same columns as for the current format.

Fields that these formats lack are null, or have the value that marks their absence, never a default.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from kafka_lagoon.records.buffers import DECODED, TIMESTAMP
from kafka_lagoon.records.layout import YEAR_1_MS, YEAR_10000_MS
from kafka_lagoon.records.legacy import NO_TIMESTAMP, LegacyRecord


def legacy_arrow_batch(records: Sequence[LegacyRecord], schema: pa.Schema) -> pa.RecordBatch:
    """The records as an Arrow batch of some of the columns of DECODED."""
    if not schema.names:
        return pa.RecordBatch.from_struct_array(pa.Array.from_buffers(pa.struct([]), len(records), [None], 0))
    return pa.RecordBatch.from_arrays([_COLUMNS[name](records) for name in schema.names], schema=schema)


def _timestamps(records: Sequence[LegacyRecord]) -> pa.Array:
    times = np.array([record.timestamp_ms for record in records], np.int64)
    is_null = (times == NO_TIMESTAMP) | (times < YEAR_1_MS) | (times >= YEAR_10000_MS)
    return pa.array(np.where(is_null, 0, times) * 1000, pa.int64(), mask=is_null).cast(TIMESTAMP)


def _field(name: str) -> Callable[[Sequence[LegacyRecord]], pa.Array]:
    def column(records: Sequence[LegacyRecord]) -> pa.Array:
        return pa.array([getattr(record, name) for record in records], DECODED.field(name).type)

    return column


def _always(name: str, value: Any) -> Callable[[Sequence[LegacyRecord]], pa.Array]:
    def column(records: Sequence[LegacyRecord]) -> pa.Array:
        return pa.array([value] * len(records), DECODED.field(name).type)

    return column


_COLUMNS = {
    "offset": _field("offset"),
    "timestamp": _timestamps,
    "timestamp_ms": _field("timestamp_ms"),
    "timestamp_type": _field("timestamp_type"),
    "key": _field("key"),
    "value": _field("value"),
    "headers": _always("headers", ()),
    "leader_epoch": _always("leader_epoch", None),
    "producer_id": _always("producer_id", None),
    "producer_epoch": _always("producer_epoch", None),
    "is_transactional": _always("is_transactional", False),
    "is_aborted": _always("is_aborted", False),
}
