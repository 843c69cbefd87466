r"""Converts rows to Arrow tables and Parquet bytes.

Two values change because no table can hold them: a timestamp outside the years 1 to 9999 becomes null (the comment of its
column says so), and bytes in text that are not UTF-8 are escaped, as in `\xff`.
"""

from array import array
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import date
from itertools import accumulate, chain
from operator import attrgetter
from typing import IO, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from kafka_lagoon.delta.files import Statistics, merged, parquet_writer, statistics_of
from kafka_lagoon.delta.storage import Storage
from kafka_lagoon.errors import TableError
from kafka_lagoon.tables.columns import TIMESTAMP, Column
from kafka_lagoon.tables.row_columns import Chosen, Difference, Runs, blocks, column_of
from kafka_lagoon.tables.schema import HEADER
from kafka_lagoon.tables.snapshot_rows import SnapshotHeader
from kafka_lagoon.tables.table import Table
from kafka_lagoon.times import utc_day

_AS_IN_MEMORY = {"i": (pa.int32(),), "q": (pa.int64(),), "l": (pa.int64(),)}  # typecodes of `array`
_NULL = -1  # index of a missing value
_YEAR_1_MS, _YEAR_10000_MS = -62_135_596_800_000, 253_402_300_800_000


def arrow_table(table: Table, header: SnapshotHeader, rows: Sequence[object]) -> pa.Table:
    """The rows as a state table's Parquet files hold them: the header's columns first, no partition column."""
    schema = table.file_schema()
    some = [block.cast(schema) for block in arrow_blocks(table, header, rows)]
    return pa.concat_tables(some) if some else schema.empty_table()


def arrow_blocks(table: Table, header: SnapshotHeader, rows: Sequence[object]) -> Iterator[pa.Table]:
    """The same rows in pieces, each made on demand; columns with repeated values are dictionaries."""
    for block in blocks(rows):
        stamped = [_stamp(column, getattr(header, column.field), len(block)) for column in HEADER]
        arrays = [*stamped, *_facts(table.stored()[len(HEADER) :], block)]
        yield pa.Table.from_arrays(arrays, schema=_as_made(table.file_schema(), arrays))


def _as_made(schema: pa.Schema, arrays: Sequence[pa.Array]) -> pa.Schema:
    return pa.schema([field.with_type(made.type) for field, made in zip(schema, arrays, strict=True)])


def _stamp(column: Column, value: Any, count: int) -> pa.Array:
    """The same value in every row; text as a dictionary of one."""
    if value is None or column.type == TIMESTAMP:
        return pa.repeat(_array(column.type, [value])[0], count)
    return _column(column.type, Runs.constant(value, count))


def plain_table(table: Table, rows: Sequence[Any]) -> pa.Table:
    """The rows as the Parquet files of a table without the snapshot's header hold them."""
    return pa.Table.from_arrays(
        [_array(column.type, map(attrgetter(column.field), rows)) for column in table.stored()],
        schema=table.file_schema(),
    )


def write_parquet(sink: IO[bytes], pieces: Iterable[pa.Table]) -> Statistics:
    """Write a Parquet file with a row group per piece, of which one is in memory at a time; return the statistics of all.

    Pieces may differ in which of their columns are dictionaries: lag rows of share groups are not kept by column.
    """
    statistics, writer = [], None
    for piece in pieces:
        writer = writer or parquet_writer(sink, piece.schema)
        writer.write_table(_like(piece, writer.schema))
        statistics.append(statistics_of(piece))
    if writer:
        writer.close()
    return merged(statistics)


def _like(piece: pa.Table, schema: pa.Schema) -> pa.Table:
    """Convert columns to the schema's dictionaries."""
    if piece.schema == schema:
        return piece
    columns = [
        column.dictionary_encode()
        if pa.types.is_dictionary(field.type) and not pa.types.is_dictionary(column.type)
        else column.cast(field.type)
        for column, field in zip(piece.columns, schema, strict=True)
    ]
    return pa.Table.from_arrays(columns, schema=schema)


def table_of(parquet: bytes, columns: list[str] | None = None) -> pa.Table:
    """The rows of a Parquet file, read on this thread alone.

    With threads of Arrow's, one may let go of `parquet` when Python has shut down: bytes are Python's, so it asks for the
    GIL, which ends that thread and with it the process ("terminate called without an active exception", exit 134).

    Files of other writers have other types: Spark may write times as INT96, which have no time zone and in nanoseconds end in
    2262 (they are instants in UTC); deltalake and Polars let Arrow read text and bytes as views, which few functions take.
    """
    file = pq.ParquetFile(pa.BufferReader(parquet), pre_buffer=False, coerce_int96_timestamp_unit="us")
    rows = file.read(columns=columns, use_threads=False)
    for place, field in enumerate(rows.schema):
        kind = _usual(field.type)
        if kind != field.type:
            rows = rows.set_column(place, field.name, rows[field.name].cast(kind))
    return rows


def read_table(storage: Storage, url: str, columns: list[str] | None = None) -> pa.Table:
    """The rows of a Parquet file of a table; TableError names a file that cannot be read, among thousands of others."""
    data = storage.read(url)
    with named_if_damaged(url):
        return table_of(data, columns)


@contextmanager
def named_if_damaged(url: str) -> Iterator[None]:
    """Raise TableError with the URL of a Parquet file that cannot be read."""
    try:
        yield
    except (OSError, pa.ArrowException) as error:
        raise TableError(f"{url} cannot be read: {error}") from error


def rows_with(parquet: bytes, column: str, value: str) -> int:
    """The number of rows that have a value, read one row group at a time: the column of ten million rows takes 400 MB."""
    file = pq.ParquetFile(pa.BufferReader(parquet), pre_buffer=False)
    groups = (file.read_row_group(place, [column], use_threads=False) for place in range(file.num_row_groups))
    return sum(pc.sum(pc.equal(group.column(0), value)).as_py() or 0 for group in groups)


def _usual(kind: pa.DataType) -> pa.DataType:
    """The type that our own files have for such values."""
    if pa.types.is_timestamp(kind) and kind.tz is None:
        return TIMESTAMP
    if pa.types.is_string_view(kind) or pa.types.is_large_string(kind):
        return pa.string()
    if pa.types.is_binary_view(kind) or pa.types.is_large_binary(kind):
        return pa.binary()
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return pa.list_(kind.value_field.with_type(_usual(kind.value_type)))
    if pa.types.is_struct(kind):
        return pa.struct([field.with_type(_usual(field.type)) for field in kind])
    return kind


def snapshot_date(header: SnapshotHeader) -> date:
    """The partition of a snapshot's rows: the UTC day of `captured_at`."""
    return utc_day(header.captured_at_ms)


def _facts(columns: Iterable[Column], rows: Sequence[Any]) -> list[pa.Array]:
    return [_column(column.type, column_of(rows, column.field)) for column in columns]


def _column(kind: pa.DataType, values: Sequence[Any]) -> pa.Array:
    if isinstance(values, Runs):
        values = values.chosen()
    if isinstance(values, Chosen):
        return _chosen(kind, values)
    if isinstance(values, Difference):
        made = pc.subtract(_chosen(kind, values.minuend), _chosen(kind, values.subtrahend))
        return made if values.least is None else pc.max_element_wise(made, values.least, skip_nulls=False)
    if isinstance(values, array) and kind in _AS_IN_MEMORY.get(values.typecode, ()):
        return pa.Array.from_buffers(kind, len(values), [None, pa.py_buffer(values)])
    return _array(kind, values)


def _chosen(kind: pa.DataType, chosen: Chosen) -> pa.Array:
    """Of the values those between the first and the last that are used; text as a dictionary, each once, as in Parquet."""
    places = pa.Array.from_buffers(pa.int32(), len(chosen), [None, pa.py_buffer(chosen.places)])
    if pc.min(places).as_py() == _NULL:
        places = pc.if_else(pc.less(places, 0), pa.scalar(None, pa.int32()), places)
    bounds = pc.min_max(places)
    first, last = bounds["min"].as_py() or 0, bounds["max"].as_py() or 0
    places, values = pc.subtract(places, first), _column(kind, chosen.values[first : last + 1])
    if kind != pa.string():
        return values.take(places)
    values = values.dictionary_encode()
    return pa.DictionaryArray.from_arrays(values.indices.take(places), values.dictionary)


def _array(kind: pa.DataType, values: Iterable[Any]) -> pa.Array:
    if kind == TIMESTAMP:
        return _timestamps(pa.array(values, pa.int64()))
    values = list(values)
    if pa.types.is_list(kind) and pa.types.is_struct(kind.value_type):
        return _structs(kind, values)
    try:
        return pa.array(values, kind)
    except UnicodeEncodeError:
        return pa.array(list(map(valid_utf8, values)), kind)


def _structs(kind: pa.DataType, lists: Sequence[Sequence[Any] | None]) -> pa.Array:
    """Lists of row objects, converted field by field: a dictionary per object takes twenty times as long."""
    items = list(chain.from_iterable(some for some in lists if some))
    fields = [_array(field.type, map(attrgetter(field.name), items)) for field in kind.value_type]
    structs = pa.StructArray.from_arrays(fields, fields=list(kind.value_type))
    ends = list(accumulate((len(some or ()) for some in lists), initial=0))
    starts = [None if some is None else start for some, start in zip(lists, ends, strict=False)]
    return pa.ListArray.from_arrays(pa.array([*starts, ends[-1]], pa.int32()), structs, type=kind)


def _timestamps(milliseconds: pa.Array) -> pa.Array:
    representable = pc.and_(pc.greater_equal(milliseconds, _YEAR_1_MS), pc.less(milliseconds, _YEAR_10000_MS))
    kept = pc.if_else(representable, milliseconds, None)
    return pc.multiply(kept, 1000).cast(TIMESTAMP)


def valid_utf8(value: Any) -> Any:
    r"""The value with all its text fit for UTF-8: bytes from the wire that were not are spelled out, as in `\xff`."""
    if isinstance(value, str):
        return value.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    if isinstance(value, dict):
        return {key: valid_utf8(item) for key, item in value.items()}
    return list(map(valid_utf8, value)) if isinstance(value, list | tuple) else value
