r"""Converts rows to Arrow tables and Parquet bytes.

Two things change because no table can hold them: a timestamp outside the years 1 to 9999 becomes null (its column says so),
and bytes in text that are not UTF-8 are spelled out, as in `\xff`.
"""

import dataclasses
import io
from collections.abc import Iterable, Sequence
from datetime import UTC, date, datetime
from operator import attrgetter
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from kafka_lagoon.delta.schema import HEADER, TIMESTAMP, Column, Table
from kafka_lagoon.snapshot.state_rows import SnapshotHeader

_YEAR_1_MS, _YEAR_10000_MS = -62_135_596_800_000, 253_402_300_800_000


def arrow_table(table: Table, header: SnapshotHeader, rows: Sequence[object]) -> pa.Table:
    """The rows as they stand in a state table's Parquet files: the header's columns in front, no partition column."""
    stamped = [pa.repeat(_array(column, [getattr(header, column.field)])[0], len(rows)) for column in HEADER]
    facts = _facts(table.stored()[len(HEADER) :], rows)
    return pa.Table.from_arrays([*stamped, *facts], schema=table.file_schema())


def plain_table(table: Table, rows: Sequence[Any]) -> pa.Table:
    """The rows as they stand in the Parquet files of a table without the snapshot's header."""
    return pa.Table.from_arrays(_facts(table.stored(), rows), schema=table.file_schema())


def parquet_bytes(arrow: pa.Table) -> bytes:
    """One Parquet file; timestamps in microseconds, as Spark and every Delta reader have them."""
    sink = io.BytesIO()
    pq.write_table(arrow, sink, compression="zstd", store_schema=False)
    return sink.getvalue()


def table_of(parquet: bytes, columns: list[str] | None = None) -> pa.Table:
    """The rows of a Parquet file, read on this thread alone.

    With threads of Arrow's, one may let go of `parquet` when Python has shut down: bytes are Python's, so it asks for the
    GIL, which ends that thread and with it the process ("terminate called without an active exception", exit 134).
    """
    return pq.ParquetFile(pa.BufferReader(parquet), pre_buffer=False).read(columns=columns, use_threads=False)


def snapshot_date(header: SnapshotHeader) -> date:
    """The partition that a snapshot's rows belong to: the UTC day of `captured_at`."""
    return datetime.fromtimestamp(header.captured_at_ms / 1000, tz=UTC).date()


def _facts(columns: Iterable[Column], rows: Sequence[Any]) -> list[pa.Array]:
    return [_array(column, map(attrgetter(column.field), rows)) for column in columns]


def _array(column: Column, values: Iterable[Any]) -> pa.Array:
    if column.type == TIMESTAMP:
        return _timestamps(pa.array(values, pa.int64()))
    if pa.types.is_list(column.type) and pa.types.is_struct(column.type.value_type):
        values = [None if items is None else [dataclasses.asdict(item) for item in items] for items in values]
    values = list(values)
    try:
        return pa.array(values, column.type)
    except UnicodeEncodeError:
        return pa.array(list(map(_utf8, values)), column.type)


def _timestamps(milliseconds: pa.Array) -> pa.Array:
    representable = pc.and_(pc.greater_equal(milliseconds, _YEAR_1_MS), pc.less(milliseconds, _YEAR_10000_MS))
    kept = pc.if_else(representable, milliseconds, None)
    return pc.multiply(kept, 1000).cast(TIMESTAMP)


def _utf8(value: Any) -> Any:
    r"""The value with all its text fit for UTF-8: bytes from the wire that were not are spelled out, as in `\xff`."""
    if isinstance(value, str):
        return value.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    if isinstance(value, dict):
        return {key: _utf8(item) for key, item in value.items()}
    return list(map(_utf8, value)) if isinstance(value, list | tuple) else value
