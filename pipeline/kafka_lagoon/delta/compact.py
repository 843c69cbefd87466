"""Rewrites files of a table's days, joined or with fewer rows: pyarrow does it on the driver, Delta Kernel commits it.

A thousand files take some seconds of CPU; Spark's OPTIMIZE takes three for each statement before it reads a file. It stays the
way for days that are too large for one process (delta/maintain.py).
"""

import io
from bisect import bisect_left
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import date
from itertools import groupby
from operator import itemgetter

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from kafka_lagoon.clock import Clock
from kafka_lagoon.delta.arrow import named_if_damaged
from kafka_lagoon.delta.files import DataFile, LiveFile, Statistics, merged, parquet_writer, statistics_of
from kafka_lagoon.delta.kernel import State
from kafka_lagoon.delta.replace_files import Replacement, replace_files
from kafka_lagoon.delta.warehouse import Warehouse
from kafka_lagoon.errors import ChecksFailed, TableError
from kafka_lagoon.frozen import frozen
from kafka_lagoon.tables.table import Table
from kafka_lagoon.uuid7 import new_id

_ROW_GROUP_BYTES = 16 << 20  # in memory; a row group holds consecutive snapshots, so filters on time skip the others
_SNAPSHOT_ID = "snapshot_id"
ROW_TRACKING = "delta.enableRowTracking"
CHANGE_DATA_FEED = "delta.enableChangeDataFeed"
JOINED = "-joined.parquet"  # ends the names of the files that are made here


@frozen
class _Joined:
    """Rows of several files in one new file; `after` is None if no row is kept."""

    day: date
    before: Sequence[LiveFile]
    after: DataFile | None
    removed: int = 0  # number of rows


def has_row_ids(warehouse: Warehouse, table: Table) -> bool:
    """True if rows of a table have ids, which must stay with them: those of the files that are made here would be new.

    Delta's own OPTIMIZE keeps them.
    """
    return is_switched_on(warehouse, table, ROW_TRACKING)


def is_switched_on(warehouse: Warehouse, table: Table, name: str) -> bool:
    """True if the value of a table's property is `true`."""
    return (warehouse.kernel.table_property(warehouse.state(table.name), name) or "").lower() == "true"


def compact(
    warehouse: Warehouse, table: Table, files: Sequence[LiveFile], target_bytes: int, clock: Clock
) -> tuple[Sequence[LiveFile], Sequence[DataFile]]:
    """Join the files of each day in one commit; returns the old files and the new ones.

    The lock on commits is held only for the commit. Nothing is done if another run has removed one of the files.
    """
    parts = (_join(warehouse, table, part) for part in _packed(files, target_bytes) if len(part) > 1)
    joined = _made(warehouse, parts)
    if not joined or not _commit(warehouse, table, joined, clock):
        return (), ()
    return [file for part in joined for file in part.before], [part.after for part in joined if part.after]


def keep_rows(
    warehouse: Warehouse,
    table: Table,
    files: Sequence[LiveFile],
    kept: Mapping[date, Collection[str]],
    target_bytes: int,
    clock: Clock,
) -> int | None:
    """Rewrite files with the rows of the snapshots that are kept; returns the number of removed rows, None without a commit.

    Rows of files that go as a whole are counted as far as the log has their number. Otherwise as `compact`. Files without rows
    to remove stay as they are, and where no snapshot is kept none is read.
    """
    parts = (_join(warehouse, table, part, sorted(kept[part[0].day])) for part in _packed(files, target_bytes))
    changed = _made(warehouse, parts)
    if not changed or not _commit(warehouse, table, changed, clock):
        return None
    return sum(part.removed for part in changed)


def _made(warehouse: Warehouse, parts: Iterator[_Joined | None]) -> list[_Joined]:
    """Make the new files; if one cannot be made, those before it are deleted, because no version names them.

    Where the disk is full, or a file of one day is damaged, every night would leave the files of the days before it.
    """
    made = list[_Joined]()
    try:
        made.extend(part for part in parts if part)
    except BaseException:
        for part in made:
            if part.after:
                with suppress(TableError):
                    warehouse.kernel.storage.delete(part.after.url)
        raise
    return made


def _packed(files: Sequence[LiveFile], target_bytes: int) -> Iterator[list[LiveFile]]:
    """The files of each day in order of time, in groups of about the target size."""
    for _, of_day in groupby(sorted(files, key=_order), key=lambda file: file.day):
        part: list[LiveFile] = []
        size = 0
        for file in of_day:
            if size + file.size > target_bytes and len(part) > 1:
                yield part
                part, size = [], 0
            part.append(file)
            size += file.size
        yield part


def _order(file: LiveFile) -> tuple[date, int, str]:
    return file.day, file.modified_at_ms, file.path


def _join(
    warehouse: Warehouse, table: Table, files: Sequence[LiveFile], kept: Sequence[str] | None = None
) -> _Joined | None:
    """Write one file with the rows of all files, or only those of `kept` snapshots (sorted); None if no row is removed then.

    ChecksFailed if the log has other numbers of rows.
    """
    day, logged = files[0].day, sum(file.rows or 0 for file in files)
    if kept is not None and not kept:
        return _Joined(day=day, before=files, after=None, removed=logged)
    data, statistics, before = _rewritten(warehouse, table, files, kept)
    if before != logged and all(file.rows is not None for file in files):
        raise ChecksFailed(f"files of table {table.name} hold {before} rows, its log says {logged}")
    removed = before - (statistics.rows if statistics else 0)
    if kept is not None and not removed:
        return None
    if not statistics:
        return _Joined(day=day, before=files, after=None, removed=removed)
    name = f"{new_id(files[-1].modified_at_ms)}{JOINED}"  # sorts like the last of its files, by the time of its rows
    url = f"{warehouse.locations[table.name]}/{table.partition_by}={day}/{name}"
    stored = warehouse.kernel.storage.write(url, data)
    after = DataFile(url=url, size=stored.size, modified_at_ms=stored.modified_at_ms, statistics=statistics)
    return _Joined(day=day, before=files, after=after, removed=removed)


def _rewritten(
    warehouse: Warehouse, table: Table, files: Sequence[LiveFile], kept: Sequence[str] | None
) -> tuple[bytes, Statistics | None, int]:
    """A file with the rows and its statistics, None if there are no rows; and the number of rows that were read."""
    storage, location = warehouse.kernel.storage, warehouse.locations[table.name]
    schema, sink, counts, pieces = table.file_schema(), io.BytesIO(), list[int](), list[Statistics]()

    def row_groups() -> Iterator[pa.Table]:
        for file in files:
            url = file.url(location)
            data = storage.read(url)
            with named_if_damaged(url):
                parquet = _opened(data)
                counts.append(parquet.metadata.num_rows)
                yield from _row_groups(parquet, schema, kept)

    with parquet_writer(sink, schema) as writer:
        for piece in _pieces(row_groups()):
            writer.write_table(piece)
            pieces.append(statistics_of(piece))
    return sink.getvalue(), merged(pieces) if pieces else None, sum(counts)


def _pieces(tables: Iterator[pa.Table]) -> Iterator[pa.Table]:
    """The rows in tables of the size of a row group."""
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


def _opened(parquet: bytes) -> pq.ParquetFile:
    return pq.ParquetFile(pa.BufferReader(parquet), pre_buffer=False, coerce_int96_timestamp_unit="us")


def _row_groups(file: pq.ParquetFile, schema: pa.Schema, kept: Sequence[str] | None) -> Iterator[pa.Table]:
    """A file's rows with the table's columns, or only those of `kept` snapshots."""
    for number in range(file.num_row_groups):
        if kept is None:
            yield _conformed(file.read_row_group(number, use_threads=False), schema)
        elif _may_have(file.metadata.row_group(number), kept):
            rows = _conformed(file.read_row_group(number, use_threads=False), schema)
            chosen = rows.filter(pc.is_in(rows[_SNAPSHOT_ID], value_set=pa.array(kept, pa.string())))
            yield from [chosen] if chosen.num_rows else []


def _may_have(row_group: pq.RowGroupMetaData, kept: Sequence[str]) -> bool:
    """True if the statistics do not exclude all of the ids."""
    columns = (row_group.column(number) for number in range(row_group.num_columns))
    statistics = next((column.statistics for column in columns if column.path_in_schema == _SNAPSHOT_ID), None)
    if statistics is None or not statistics.has_min_max:
        return True
    next_kept = bisect_left(kept, statistics.min)
    return next_kept < len(kept) and kept[next_kept] <= statistics.max


def _conformed(rows: pa.Table, schema: pa.Schema) -> pa.Table:
    """The rows with the table's columns: older files lack some, and Spark may write INT96, which has no time zone."""
    columns = [
        rows[field.name].cast(field.type) if field.name in rows.column_names else pa.nulls(len(rows), field.type)
        for field in schema
    ]
    return pa.Table.from_arrays(columns, schema=schema)


def _commit(warehouse: Warehouse, table: Table, joined: Sequence[_Joined], clock: Clock) -> bool:
    """Replace old files by new ones. If that is no longer possible, remove the new ones and return False."""
    before = [file for part in joined for file in part.before]
    made = [(part.day, part.after) for part in joined if part.after]
    after = {day: [file for _, file in of_day] for day, of_day in groupby(made, key=itemgetter(0))}
    removes_rows = any(part.after is None or part.removed for part in joined)

    def old(state: State) -> Sequence[LiveFile] | None:
        live = {file.path for file in warehouse.kernel.live_files(state)}
        return before if all(file.path in live for file in before) else None

    if not replace_files(warehouse, table, Replacement(old=old, new=after, removes_rows=removes_rows), clock):
        return False
    warehouse.kernel.checkpoint(warehouse.locations[table.name])  # otherwise every reader would parse the long commit
    return True
