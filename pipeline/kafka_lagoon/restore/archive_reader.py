"""Reads the archived records of one partition from the data files of table `records`, in the order of their offsets.

It runs on executors, without a JVM. As an ingest writes them, files hold one partition's run of offsets after the other, so
some MB of a row group are in memory at a time. OPTIMIZE mixes rows: row groups whose offsets overlap are read together, and
in several passes, each for some of the offsets, where they would take too much memory.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from kafka_lagoon.errors import TableError
from kafka_lagoon.fetch.range_history import SupersededRange
from kafka_lagoon.frozen import frozen
from kafka_lagoon.restore.open_files import SMALL_BYTES, OpenFiles, SourceFile, present_columns, typed
from kafka_lagoon.tables.record_tables import RECORDS

_SCHEMA = RECORDS.file_schema()
WRITTEN = ("offset", "timestamp_ms", "key", "value", "headers")
_IDENTITY = ("cluster_id", "topic", "topic_id", "partition")
_NEEDED = ("topic", "partition", "offset")  # never null, so every file has them
_AT_ONCE_BYTES = 8 << 20


@dataclass(frozen=True, kw_only=True)
class ArchivedPartition:
    """The records to read of a partition: offsets from `from_offset` to `to_offset` (not included).

    `condition` is SQL over the columns of `records`. `superseded` are ranges of offsets whose records are not part of the log's
    history, `escaped` those whose header keys are not UTF-8. `began_without_id` is true if records without a topic id belong to
    the topic, too.
    """

    cluster_id: str
    topic: str
    topic_id: str | None
    partition: int
    from_offset: int
    to_offset: int
    condition: str | None = None
    superseded: tuple[SupersededRange, ...] = ()
    escaped: tuple[tuple[int, int], ...] = ()
    began_without_id: bool = False

    @property
    def key(self) -> tuple[str, int]:
        """The partition's topic and number."""
        return self.topic, self.partition

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """Columns that the selection depends on, beside those that identify the partition."""
        named: Collection[str] = ()
        if self.condition:
            from kafka_lagoon.restore.conditions import columns_in  # noqa: PLC0415  without a condition executors need no DuckDB

            named = columns_in(self.condition)
        more = ["is_aborted", *(["ingest_id"] if self.superseded else ())]
        return ("offset", *more, *sorted(named))


@frozen(kw_only=False)
class _RowGroup:
    """A row group.

    `rows` are those of the wanted partition, None if others stand between them; `first` and `last` are offsets. `is_in_order`
    if the offsets of these rows ascend, each once; None until somebody has read them.
    """

    file: SourceFile
    number: int
    first: int
    last: int
    size: int
    rows: tuple[int, int] | None
    is_in_order: bool | None


def read_archived(
    files: Sequence[SourceFile],
    wanted: ArchivedPartition,
    limit_bytes: int,
    columns: Sequence[str] = WRITTEN,
    opened: OpenFiles | None = None,
) -> Iterator[pa.RecordBatch]:
    """The selected records in the order of their offsets, as they are archived; `offset` must be among the columns.

    Records of aborted and of open transactions are left out. Who reads one partition after the other gives the files that are
    `opened`. TableError if a file cannot be read, or if an offset occurs twice.
    """
    opened = opened or OpenFiles()
    of_all = (group for file in files for group in _row_groups(opened, file, wanted))
    groups = sorted(of_all, key=lambda group: group.first)
    for some in _overlapping(groups):
        low, high = max(some[0].first, wanted.from_offset), min(max(one.last for one in some) + 1, wanted.to_offset)
        if len(some) == 1 and _is_in_order(opened, some[0]):
            yield from _streamed(opened, some[0], wanted, low, high, columns)
            continue
        passes = 1 if len(some) == 1 else -(-sum(group.size for group in some) // limit_bytes)
        passes = max(min(passes, high - low), 1)
        borders = [low + (high - low) * number // passes for number in range(passes + 1)]
        for first, end in pairwise(borders):
            yield from _sorted(opened, some, wanted, first, end, columns)


def _overlapping(groups: Sequence[_RowGroup]) -> Iterator[list[_RowGroup]]:
    """Row groups, sorted by their first offsets, in sets whose ranges of offsets do not overlap."""
    some: list[_RowGroup] = []
    end = -1
    for group in groups:
        if some and group.first > end:
            yield some
            some = []
        some.append(group)
        end = max(end, group.last)
    if some:
        yield some


def _row_groups(opened: OpenFiles, file: SourceFile, wanted: ArchivedPartition) -> Iterator[_RowGroup]:
    """The row groups of a file that may have wanted records, by their statistics or else by their columns."""
    with opened.opened(file) as parquet:
        metadata = parquet.metadata
        places = {metadata.schema.column(place).path: place for place in range(metadata.num_columns)}
        if missing := [name for name in _NEEDED if name not in places]:
            raise TableError(
                f"{file.url} cannot be read: it is no file of table records, as it lacks {', '.join(missing)}"
            )
        for number in range(metadata.num_row_groups):
            group = metadata.row_group(number)
            bounds = {name: _bounds(group.column(places[name])) for name in _NEEDED}
            if not _may_have(bounds["topic"], wanted.topic) or not _may_have(bounds["partition"], wanted.partition):
                continue
            first, last = bounds["offset"] or (wanted.from_offset, wanted.to_offset - 1)
            if not _overlap(wanted, first, last):
                continue
            alone = bounds["topic"] == (wanted.topic,) * 2 and bounds["partition"] == (wanted.partition,) * 2
            rows: tuple[int, int] | None = (0, group.num_rows)
            is_in_order: bool | None = None
            if not (file.is_one_topic and alone and bounds["offset"]):
                placed = _find(opened, number, wanted, file)
                if placed is None or not _overlap(wanted, *placed[:2]):
                    continue
                first, last, rows, is_in_order = placed
            yield _RowGroup(file, number, first, last, group.total_byte_size, rows, is_in_order)


def _is_in_order(opened: OpenFiles, group: _RowGroup) -> bool:
    if group.is_in_order is not None:
        return group.is_in_order
    return _ascends(opened.columns(group.file, group.number, ("offset",))["offset"].to_numpy())


def _ascends(offsets: "np.ndarray[tuple[int], np.dtype[np.int64]]") -> bool:
    return bool((offsets[1:] > offsets[:-1]).all())


def _overlap(wanted: ArchivedPartition, first: int, last: int) -> bool:
    return first < wanted.to_offset and last >= wanted.from_offset


def _find(
    opened: OpenFiles, number: int, wanted: ArchivedPartition, file: SourceFile
) -> tuple[int, int, tuple[int, int] | None, bool] | None:
    """The bounds of the wanted partition's offsets in a row group, its rows if they are neighbours, and if they are in order.

    The bounds in the statistics are those of all partitions: row groups of an ingest would seem to overlap.
    """
    identity = ("topic", "partition") if file.is_one_topic else _IDENTITY
    table = opened.columns(file, number, ("offset", *identity))
    (places,) = np.nonzero(_is_of(table, wanted, identity).to_numpy(zero_copy_only=False))
    if not len(places):
        return None
    offsets, first, end = table["offset"].to_numpy()[places], int(places[0]), int(places[-1]) + 1
    rows = (first, end) if end - first == len(places) else None
    return int(offsets.min()), int(offsets.max()), rows, rows is not None and _ascends(offsets)


def _is_of(table: pa.Table, wanted: ArchivedPartition, identity: Sequence[str] = _IDENTITY) -> pa.ChunkedArray:
    """True for each row of the wanted partition."""
    values = dict(zip(_IDENTITY, (wanted.cluster_id, wanted.topic, wanted.topic_id, wanted.partition), strict=True))
    alike = [
        pc.is_null(table[name])
        if values[name] is None
        else pc.fill_null(pc.equal(table[name], values[name]), name == "topic_id" and wanted.began_without_id)
        for name in identity
    ]
    return reduce(pc.and_, alike)


def _bounds(column: pq.ColumnChunkMetaData) -> tuple[Any, Any] | None:
    statistics = column.statistics
    return (statistics.min, statistics.max) if statistics is not None and statistics.has_min_max else None


def _may_have(bounds: tuple[Any, Any] | None, value: Any) -> bool:
    return bounds is None or bounds[0] <= value <= bounds[1]


def _streamed(
    opened: OpenFiles, group: _RowGroup, wanted: ArchivedPartition, first: int, end: int, columns: Sequence[str]
) -> Iterator[pa.RecordBatch]:
    """The wanted records of a row group in order, with offsets from `first` to `end`, some MB at a time."""
    if group.size <= SMALL_BYTES:
        table = _chosen(_read(opened, group, wanted, columns), group, wanted, first, end)
        yield from table.select(columns).combine_chunks().to_batches()
        return
    names, done = _names(group, wanted, columns), 0
    start, stop = group.rows or (0, 0)
    with opened.opened(group.file) as parquet:
        rows = max(parquet.metadata.row_group(group.number).num_rows * _AT_ONCE_BYTES // max(group.size, 1), 1)
        for batch in parquet.iter_batches(
            rows, row_groups=[group.number], columns=present_columns(parquet, names), use_threads=False
        ):
            low, high = max(start - done, 0), min(stop - done, batch.num_rows)
            done += batch.num_rows
            if low < high:
                table = typed(pa.Table.from_batches([batch.slice(low, high - low)]), names)
                yield from _chosen(table, group, wanted, first, end).select(columns).combine_chunks().to_batches()
            if done >= stop:  # another partition's rows follow, which would be decompressed in vain
                return


def _sorted(
    opened: OpenFiles,
    groups: Sequence[_RowGroup],
    wanted: ArchivedPartition,
    first: int,
    end: int,
    columns: Sequence[str],
) -> Iterator[pa.RecordBatch]:
    """The wanted records of several row groups with offsets from `first` to `end`, sorted by offset."""
    tables = [_chosen(_read(opened, group, wanted, columns), group, wanted, first, end) for group in groups]
    table = pa.concat_tables([one for one in tables if one.num_rows] or tables[:1], promote_options="default")
    del tables
    offsets = table["offset"].to_numpy()
    if not (offsets[1:] > offsets[:-1]).all():
        table = table.take(pa.array(np.argsort(offsets, kind="stable")))
        _refuse_repeated(table["offset"].to_numpy(), wanted)
    yield from table.select(columns).combine_chunks().to_batches()


def _refuse_repeated(offsets: "np.ndarray[tuple[int], np.dtype[np.int64]]", wanted: ArchivedPartition) -> None:
    repeated = offsets[1:][offsets[1:] == offsets[:-1]]
    if len(repeated):
        raise TableError(
            f"table records has offset {repeated[0]} of partition {wanted.partition} of topic {wanted.topic} "
            f"({wanted.topic_id}) more than once: which of them was in the log is not known"
        )


def _names(group: _RowGroup, wanted: ArchivedPartition, columns: Sequence[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys([*columns, *wanted.columns, *(() if group.rows else _IDENTITY)]))


def _read(opened: OpenFiles, group: _RowGroup, wanted: ArchivedPartition, columns: Sequence[str]) -> pa.Table:
    """The needed columns: of the partition's rows if they are neighbours, else of all rows."""
    table = opened.columns(group.file, group.number, _names(group, wanted, columns))
    start, stop = group.rows or (0, table.num_rows)
    return table.slice(start, stop - start)


def _chosen(table: pa.Table, group: _RowGroup, wanted: ArchivedPartition, first: int, end: int) -> pa.Table:
    """The wanted rows with offsets from `first` to `end`."""
    keep = []
    if group.first < first or group.last >= end:
        keep.append(pc.and_(pc.greater_equal(table["offset"], first), pc.less(table["offset"], end)))
    if group.rows is None:
        keep.append(_is_of(table, wanted))
    # Null: the transaction was still open, and its outcome is unknown.
    if pc.any(pc.is_null(table["is_aborted"])).as_py() or pc.any(table["is_aborted"]).as_py():
        keep.append(pc.fill_null(pc.invert(table["is_aborted"]), False))
    keep += [pc.invert(_is_within(table, one)) for one in wanted.superseded]
    if keep:
        table = table.filter(reduce(pc.and_, keep))
    if not wanted.condition or not table.num_rows:
        return table
    from kafka_lagoon.restore.conditions import matching  # noqa: PLC0415  as above

    plain = [table[name].cast(_SCHEMA.field(name).type) for name in table.column_names]  # no dictionaries
    return matching(pa.table(plain, names=table.column_names), wanted.condition)


def _is_within(table: pa.Table, superseded: SupersededRange) -> Any:
    """True for each row that a superseded range covers."""
    is_after = pc.greater_equal(table["offset"], superseded.from_offset)
    is_before = pc.less(table["offset"], superseded.to_offset)
    return pc.and_(pc.equal(table["ingest_id"], superseded.ingest_id), pc.and_(is_after, is_before))
