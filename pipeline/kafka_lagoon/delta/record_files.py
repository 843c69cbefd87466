"""Writes decoded records to Parquet files, on executors and without a JVM, and makes what Delta's log says of them.

A file is described only after it is complete. Names are new for every attempt, so one that died leaves a file that no log
names, and nobody reads it.

Encoding is most of what an ingest does, so every column is written in the cheapest way that all readers of reader version 1
understand. Per record of 16 bytes of key and 100 of value, one core: 185 ns (36 bytes) as it is now; 239 ns (38 bytes) with
Arrow's defaults beyond dictionaries for text. What made the difference:
columns that are null throughout are left out (Delta's readers fill them in) and columns without nulls are `required`, 21 ns;
a codec that suits keys and values (record_codecs.py), 20 ns; nothing else compressed, because it is packed already, 15 ns;
names as dictionaries made here, 6 ns each; offsets and times as packed differences, 10 bytes.
"""

import os
import uuid
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import fs

from kafka_lagoon.delta.arrow_files import file_system
from kafka_lagoon.delta.files import DataFile, Statistics, bounds_of
from kafka_lagoon.delta.record_codecs import Codec, codecs_of
from kafka_lagoon.delta.s3_access import S3Access
from kafka_lagoon.errors import TableError
from kafka_lagoon.frozen import frozen
from kafka_lagoon.tables.columns import arrow_field, columns_of
from kafka_lagoon.tables.record_rows import RecordRow

ROW_GROUP_BYTES = 32 << 20  # bytes of decoded records that are held in memory until they are written
_ROWS_AT_ONCE = 1 << 16  # rows per column write; Parquet's default of 1,024 costs 15 ns a record
# The schema of table `records`; importing all tables would load too much.
_SCHEMA = pa.schema(map(arrow_field, columns_of(RecordRow)))
_TEXTS, _PARTITION = ("cluster", "cluster_id", "topic", "topic_id", "ingest_id"), "partition"
_DECODED = tuple(name for name in _SCHEMA.names if name not in (*_TEXTS, _PARTITION))
_MAY_BE_NULL = tuple(name for name in _DECODED if _SCHEMA.field(name).nullable)
_DICTIONARIES = [*_TEXTS, _PARTITION, "timestamp_type", "leader_epoch", "producer_id", "producer_epoch"]
_DIFFERENCES = dict.fromkeys(("offset", "timestamp", "timestamp_ms"), "DELTA_BINARY_PACKED")
_UNBOUNDED = ("key", "value", "headers")  # types without an order in Delta
_BOUNDED = tuple(name for name in _DECODED if name not in _UNBOUNDED)
_IN_PARQUET = ["topic", "partition", "offset", "timestamp"]  # statistics of row groups and pages, 2 ns each
_FAILURES = (OSError, pa.ArrowException)


@frozen(kw_only=False)
class PartitionRows:
    """A number of rows of an Arrow batch that are records of this partition."""

    topic: str
    topic_id: str | None
    partition: int
    rows: int


@frozen(kw_only=False)
class _Shape:
    """The nullable columns that have values, and those that have nulls."""

    valued: frozenset[str] = frozenset()
    nulls: frozenset[str] = frozenset()

    def wide_enough_for(self, piece: "_Piece") -> "_Shape":
        """The shape itself, or the narrowest wider shape that the piece fits into."""
        counts = piece.nulls()
        valued = self.valued.union(name for name, count in counts.items() if count < piece.batch.num_rows)
        nulls = self.nulls.union(name for name, count in counts.items() if count)
        return _Shape(valued, nulls)


@frozen(kw_only=False)
class _Piece:
    """Records that wait to be written, with their partitions in the order of the rows."""

    owners: Sequence[PartitionRows]
    batch: pa.RecordBatch

    def nulls(self) -> dict[str, int]:
        """The number of nulls of each nullable column."""
        counts = {name: self.batch.column(name).null_count for name in _MAY_BE_NULL}
        return counts | {"cluster": 0, "topic_id": sum(one.rows for one in self.owners if one.topic_id is None)}


@dataclass(slots=True)
class _FileStatistics:
    """Statistics of the row groups so far, of every column.

    Spark opens every file of a table if a filter names one column that has no statistics, whatever else the filter says.
    Arrow finds bounds in 0.3 ns a value, Parquet's writer in 2; but a call takes 20 us, so a row group is one call a column.
    """

    rows: int = 0
    least: dict[str, Any] = field(default_factory=dict)
    greatest: dict[str, Any] = field(default_factory=dict)
    nulls: Counter[str] = field(default_factory=lambda: Counter(dict.fromkeys(_SCHEMA.names, 0)))

    def add(self, pieces: Sequence[_Piece], table: pa.Table) -> None:
        """Add a row group and its pieces; a column that the row group lacks is null."""
        self.rows += table.num_rows
        for piece in pieces:
            self.nulls.update(piece.nulls())
        owners = [owner for piece in pieces for owner in piece.owners if owner.rows]
        for name in ("topic", "topic_id", _PARTITION):
            values = [value for owner in owners if (value := getattr(owner, name)) is not None]
            if values:
                self.bound(name, min(values), max(values))
        for name in _BOUNDED:
            if name in table.column_names and (bounds := bounds_of(table[name])):
                self.bound(name, *bounds)

    def bound(self, name: str, least: Any, greatest: Any) -> None:
        """Widen the bounds of a column."""
        self.least[name] = min(self.least.get(name, least), least)
        self.greatest[name] = max(self.greatest.get(name, greatest), greatest)

    def statistics(self) -> Statistics:
        """The statistics in the form of Delta's log."""
        return Statistics(rows=self.rows, least=self.least, greatest=self.greatest, nulls=dict(self.nulls))


@dataclass(slots=True)
class _Open:
    """A file under construction."""

    sink: Any
    writer: Any


class RecordFiles:
    """Writes records, partition after partition, to files of about `target_bytes` each in the folder of a day.

    Arrow batches are kept until 32 MiB of them are written at once, so their memory must not be used again. TableError
    if nothing can be written there, and then nothing is left behind; `discard` removes what earlier calls have made.
    """

    def __init__(
        self,
        *,
        folder_url: str,
        ingest_id: str,
        cluster: str,
        cluster_id: str,
        target_bytes: int,
        compression: str,
        access: S3Access | None = None,
    ) -> None:
        self._folder_url, self._target_bytes = folder_url, target_bytes
        self._run = {"cluster": cluster, "cluster_id": cluster_id, "ingest_id": ingest_id}
        self._statistics = self._new_statistics()
        self._compression = compression
        self._files, self._folder = file_system(folder_url, access)
        self._name = _new_name()
        self._shape = _Shape()
        self._pieces: list[_Piece] = []
        self._waiting_bytes = 0
        self._open: _Open | None = None
        self._done: list[DataFile] = []

    def write(self, topic: str, topic_id: str | None, partition: int, batch: pa.RecordBatch) -> str:
        """Add records of a partition with the decoder's columns; returns the name of the file that will hold them."""
        return self.write_several([PartitionRows(topic, topic_id, partition, batch.num_rows)], batch)

    def write_several(self, owners: Sequence[PartitionRows], batch: pa.RecordBatch) -> str:
        """Add records of several partitions, one after the other in the Arrow batch; returns the name of their file."""
        piece = _Piece(owners, batch)
        shape = self._shape.wide_enough_for(piece)
        if self._open and shape != self._shape:
            self._end()
        self._shape, name = shape, self._name
        self._pieces.append(piece)
        self._waiting_bytes += batch.nbytes
        if self._waiting_bytes >= ROW_GROUP_BYTES:
            self._write_row_group()
        return name

    def close(self) -> tuple[DataFile, ...]:
        """Finish the last file; returns all of them."""
        self._end()
        return tuple(self._done)

    def discard(self) -> None:
        """Remove every file, finished or not."""
        self._abandon()
        for file in self._done:
            self._remove(file.url.rpartition("/")[2])
        self._done.clear()

    def _write_row_group(self) -> None:
        table = _row_group(self._pieces, self._shape, self._run)
        self._statistics.add(self._pieces, table)
        self._pieces, self._waiting_bytes = [], 0
        try:
            self._open = self._open or self._create(table)
            self._open.writer.write_table(table, row_group_size=table.num_rows)
            is_full = self._open.sink.tell() >= self._target_bytes
        except _FAILURES as error:
            raise self._failed(error) from error
        if is_full:
            self._end()

    def _create(self, first: pa.Table) -> _Open:
        if isinstance(self._files, fs.LocalFileSystem | fs.HadoopFileSystem):  # object stores have no folders
            self._files.create_dir(self._folder, recursive=True)
        made = _Open(self._files.open_output_stream(f"{self._folder}/{self._name}"), None)
        made.writer = _parquet_writer(made.sink, first.schema, codecs_of(self._compression, first))
        return made

    def _end(self) -> None:
        if self._pieces:
            self._write_row_group()
        if not self._open:
            return
        try:
            self._open.writer.close()
            self._open.sink.close()
            stored = self._files.get_file_info(f"{self._folder}/{self._name}")
            if stored.size is None:  # a store that lists its objects late, or somebody has removed it
                raise FileNotFoundError("it is not there after it was written")
        except _FAILURES as error:
            raise self._failed(error) from error
        self._done.append(
            DataFile(
                url=f"{self._folder_url}/{self._name}",
                size=stored.size,
                modified_at_ms=stored.mtime_ns // 1_000_000,
                statistics=self._statistics.statistics(),
            )
        )
        self._open, self._name, self._statistics = None, _new_name(), self._new_statistics()

    def _new_statistics(self) -> _FileStatistics:
        statistics = _FileStatistics()
        for name, value in self._run.items():
            statistics.bound(name, value, value)
        return statistics

    def _failed(self, error: Exception) -> TableError:
        url = f"{self._folder_url}/{self._name}"
        self._abandon()
        return TableError(f"{url} cannot be written: {_reason(error)}")

    def _abandon(self) -> None:
        """Drop the file under construction and the records that wait for it."""
        self._pieces, self._waiting_bytes = [], 0
        if self._open:
            for part in (self._open.writer, self._open.sink):
                with suppress(*_FAILURES):
                    part.close()
            self._open = None
        self._remove(self._name)
        self._name, self._statistics = _new_name(), self._new_statistics()

    def _remove(self, name: str) -> None:
        with suppress(*_FAILURES):  # a file that cannot be removed is in no log, and VACUUM removes it
            self._files.delete_file(f"{self._folder}/{name}")


def _new_name() -> str:
    return f"{uuid.uuid4().hex}.parquet"


def _reason(error: Exception) -> str:
    code = getattr(error, "errno", None)
    return os.strerror(code) if code else str(error).partition("\n")[0]


def _parquet_writer(sink: Any, schema: pa.Schema, codecs: dict[str, Codec]) -> Any:
    return pq.ParquetWriter(
        sink,
        schema,
        compression=dict.fromkeys(schema.names, "none") | {leaf: name for leaf, (name, _) in codecs.items()},
        compression_level={leaf: level for leaf, (_, level) in codecs.items() if level is not None},
        use_dictionary=_DICTIONARIES,
        column_encoding=_DIFFERENCES,
        write_statistics=_IN_PARQUET,
        write_batch_size=_ROWS_AT_ONCE,
        store_schema=False,
    )


def _row_group(pieces: Sequence[_Piece], shape: _Shape, run: dict[str, str]) -> pa.Table:
    """The pieces as one table, without columns that are null throughout."""
    owners = [owner for piece in pieces for owner in piece.owners]
    rows = [owner.rows for owner in owners]
    made = {
        "topic": _repeated([owner.topic for owner in owners], rows),
        "topic_id": _repeated([owner.topic_id for owner in owners], rows),
        _PARTITION: pa.array(np.repeat(np.array([owner.partition for owner in owners], np.int32), rows)),
        **{name: _repeated([value], [sum(rows)]) for name, value in run.items()},
    }
    made |= {name: pa.chunked_array([piece.batch.column(name) for piece in pieces]) for name in _DECODED}
    kept = [one.name for one in _SCHEMA if one.name in shape.valued or not one.nullable]
    fields = [pa.field(name, made[name].type, nullable=name in shape.nulls) for name in kept]
    return pa.table([made[name] for name in kept], pa.schema(fields))


def _repeated(values: Sequence[Any], counts: Sequence[int]) -> pa.DictionaryArray:
    """Each value repeated that many times; as a dictionary, which Parquet writes as it is."""
    distinct = {value: code for code, value in enumerate(dict.fromkeys(value for value in values if value is not None))}
    codes = np.repeat(np.array([distinct.get(value, -1) for value in values], np.int32), counts)
    indices = pa.array(codes, mask=codes < 0) if None in values else pa.array(codes)
    return pa.DictionaryArray.from_arrays(indices, pa.array(distinct, pa.string()))
