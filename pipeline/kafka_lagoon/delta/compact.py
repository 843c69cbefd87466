"""Joins the small files of a table's days: pyarrow rewrites them on the driver, Delta Kernel commits them.

A thousand files take some seconds of CPU; Spark's OPTIMIZE takes three for each statement before it reads a file. It stays the
way for days that are too large for one process (delta/maintain.py).
"""

import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from itertools import groupby
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.parquet as pq

from kafka_lagoon.clock import Clock
from kafka_lagoon.delta.files import DataFile, LiveFile, merged, statistics_of
from kafka_lagoon.delta.kernel import Conflict, State
from kafka_lagoon.delta.schema import Table
from kafka_lagoon.delta.warehouse import COMMIT_LOCK_WAIT_MS, Warehouse
from kafka_lagoon.errors import ChecksFailed, TableError
from kafka_lagoon.uuid7 import new_id

_ROW_GROUP_BYTES = 16 << 20  # in memory; a row group holds consecutive snapshots, so filters on time skip the others
_ATTEMPTS = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class _Joined:
    """Rows of some files in one new file."""

    day: date
    before: Sequence[LiveFile]
    after: DataFile


def compact(
    warehouse: Warehouse, table: Table, files: Sequence[LiveFile], target_bytes: int, clock: Clock
) -> tuple[Sequence[LiveFile], Sequence[DataFile]]:
    """Join files, those of a day with each other, in one commit; the files that were, and those in their place.

    The lock on commits is held for the commit alone. Nothing is done if another run has removed one of the files.
    """
    joined = [_join(warehouse, table, files, clock) for files in _packed(files, target_bytes)]
    if not joined or not _commit(warehouse, table, joined, clock):
        return (), ()
    return [file for one in joined for file in one.before], [one.after for one in joined]


def _packed(files: Sequence[LiveFile], target_bytes: int) -> Iterator[list[LiveFile]]:
    """The files of each day in order of time, in parts of about the target; parts of one file are left out."""
    for _, of_day in groupby(sorted(files, key=_order), key=lambda file: file.day):
        part: list[LiveFile] = []
        size = 0
        for file in of_day:
            if size + file.size > target_bytes and len(part) > 1:
                yield part
                part, size = [], 0
            part.append(file)
            size += file.size
        if len(part) > 1:
            yield part


def _order(file: LiveFile) -> tuple[date, int, str]:
    return file.day, file.modified_at_ms, file.path


def _join(warehouse: Warehouse, table: Table, files: Sequence[LiveFile], clock: Clock) -> _Joined:
    """One file with the rows of all files; ChecksFailed if the log knows of other numbers of rows."""
    storage, location = warehouse.kernel.storage, warehouse.locations[table.name]
    schema, sink, pieces = table.file_schema(), io.BytesIO(), []
    with pq.ParquetWriter(sink, schema, compression="zstd", store_schema=False) as writer:
        rows = (_conformed(storage.read(f"{location}/{unquote(file.path)}"), schema) for file in files)
        for piece in _pieces(rows):
            writer.write_table(piece)
            pieces.append(statistics_of(piece))
    statistics = merged(pieces)
    known = [file.rows for file in files if file.rows is not None]
    if len(known) == len(files) and sum(known) != statistics.rows:
        raise ChecksFailed(f"files of table {table.name} hold {statistics.rows} rows, its log says {sum(known)}")
    url = f"{location}/{table.partition_by}={files[0].day}/{new_id(clock.now_ms())}-joined.parquet"
    stored = storage.write(url, sink.getvalue())
    after = DataFile(url=url, size=stored.size, modified_at_ms=stored.modified_at_ms, statistics=statistics)
    return _Joined(day=files[0].day, before=files, after=after)


def _pieces(tables: Iterator[pa.Table]) -> Iterator[pa.Table]:
    """The same rows in tables of the size of a row group."""
    gathered: list[pa.Table] = []
    size = 0
    for table in tables:
        gathered.append(table)
        size += table.nbytes
        if size >= _ROW_GROUP_BYTES:
            yield pa.concat_tables(gathered)
            gathered, size = [], 0
    if gathered:
        yield pa.concat_tables(gathered)


def _conformed(parquet: bytes, schema: pa.Schema) -> pa.Table:
    """A file's rows with the table's columns: older files lack some, and Spark may write INT96, which has no zone."""
    file = pq.ParquetFile(pa.BufferReader(parquet), pre_buffer=False, coerce_int96_timestamp_unit="us")
    rows = file.read(use_threads=False)
    columns = [
        rows[field.name].cast(field.type) if field.name in rows.column_names else pa.nulls(len(rows), field.type)
        for field in schema
    ]
    return pa.Table.from_arrays(columns, schema=schema)


def _commit(warehouse: Warehouse, table: Table, joined: Sequence[_Joined], clock: Clock) -> bool:
    """Whether the new files stand in the place of the old ones now."""
    before = [file for one in joined for file in one.before]
    after: Mapping[date, Sequence[DataFile]] = {
        day: [part.after for part in of_day] for day, of_day in groupby(joined, key=lambda part: part.day)
    }
    with warehouse.exclusively("commit", clock, COMMIT_LOCK_WAIT_MS):
        for _ in range(_ATTEMPTS):
            state = warehouse.state(table.name)
            if not _has_all(warehouse, state, before):
                break
            try:
                version = warehouse.kernel.replace(state, before, after, clock.now_ms())
            except Conflict:
                continue  # where no lock is possible: look again at what is there
            _check(warehouse, table, version, joined)
            warehouse.kernel.checkpoint(state.location)  # else every reader would parse the long commit
            return True
    for part in joined:
        warehouse.kernel.storage.delete(part.after.url)
    return False


def _has_all(warehouse: Warehouse, state: State, files: Sequence[LiveFile]) -> bool:
    live = {file.path for file in warehouse.kernel.live_files(state)}
    return all(file.path in live for file in files)


def _check(warehouse: Warehouse, table: Table, version: int, joined: Sequence[_Joined]) -> None:
    added = warehouse.kernel.added(warehouse.locations[table.name], version)
    if added != [one.after.url for one in joined]:
        raise TableError(
            f"version {version} of table {table.name} is not what was committed: does its log store keep writers apart?"
        )
