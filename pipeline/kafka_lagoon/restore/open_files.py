"""Keeps data files open for tasks that read one partition after the other from them, and the columns of small row groups.

An ingest of many small partitions writes all of them into a few row groups. Files never change, so what was read stays true.
"""

from collections import OrderedDict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

from kafka_lagoon.delta.arrow_files import arrow_file
from kafka_lagoon.errors import TableError
from kafka_lagoon.frozen import frozen
from kafka_lagoon.tables.record_tables import RECORDS

if TYPE_CHECKING:
    from kafka_lagoon.delta.s3_access import S3Access

SMALL_BYTES = 1 << 20  # of a row group, as its metadata says
_SCHEMA = RECORDS.file_schema()
_TEXTS = ("cluster_id", "topic", "topic_id")  # read as dictionaries, which is 25 times as fast
_MOST_FILES = 16
_HELD_BYTES = 32 << 20


@frozen(kw_only=False)
class SourceFile:
    """A data file; `is_one_topic` if, according to the log, all its rows are of the wanted cluster and topic id."""

    url: str
    is_one_topic: bool
    access: "S3Access | None" = None


class OpenFiles:
    """Data files that were opened last, and columns of small row groups that were read last."""

    def __init__(self) -> None:
        self._files: OrderedDict[str, pq.ParquetFile] = OrderedDict()
        self._tables: OrderedDict[tuple[str, int, tuple[str, ...]], pa.Table] = OrderedDict()
        self._held = 0  # bytes of the tables

    @contextmanager
    def opened(self, file: SourceFile) -> Iterator[pq.ParquetFile]:
        """Open a data file; TableError if it cannot be opened, or read within the block."""
        try:
            parquet = self._files.pop(file.url, None) or _open(file)
            self._files[file.url] = parquet
            if len(self._files) > _MOST_FILES:
                self._files.popitem(last=False)
            yield parquet
        except (OSError, pa.ArrowException) as error:
            raise TableError(f"{file.url} cannot be read: {str(error).partition('. Detail')[0]}") from error

    def columns(self, file: SourceFile, number: int, names: Sequence[str]) -> pa.Table:
        """Columns of a row group; columns that the file omits are null. TableError if they cannot be read."""
        key = file.url, number, tuple(names)
        if key in self._tables:
            self._tables.move_to_end(key)
            return self._tables[key]
        with self.opened(file) as parquet:
            read = parquet.read_row_group(number, columns=present_columns(parquet, names), use_threads=False)
            table = typed(read, names)
            if parquet.metadata.row_group(number).total_byte_size <= SMALL_BYTES:
                self._hold(key, table)
        return table

    def _hold(self, key: tuple[str, int, tuple[str, ...]], table: pa.Table) -> None:
        self._tables[key] = table
        self._held += table.nbytes
        while self._held > _HELD_BYTES:
            _, oldest = self._tables.popitem(last=False)
            self._held -= oldest.nbytes


def present_columns(parquet: pq.ParquetFile, names: Sequence[str]) -> list[str]:
    """The columns that a file has: it omits those that are null in all of its rows."""
    present = parquet.schema_arrow.names
    return [name for name in names if name in present]


def typed(table: pa.Table, names: Sequence[str]) -> pa.Table:
    """The columns in the types of table `records`, except for dictionaries; missing columns are null."""
    arrays = [
        pa.nulls(table.num_rows, _SCHEMA.field(name).type)
        if name not in table.column_names
        else table[name]
        if pa.types.is_dictionary(table[name].type)
        else table[name].cast(_SCHEMA.field(name).type)
        for name in names
    ]
    return pa.table(arrays, names=list(names))


def _open(file: SourceFile) -> pq.ParquetFile:
    """Open a file, which is closed when nothing refers to it any more: a reader may still go through it then."""
    opened = arrow_file(file.url, file.access)
    metadata = pq.read_metadata(opened)
    texts = [name for name in _TEXTS if name in metadata.schema.names]
    # Spark may write times as INT96, which in nanoseconds end in 2262.
    return pq.ParquetFile(
        opened, metadata=metadata, read_dictionary=texts, pre_buffer=False, coerce_int96_timestamp_unit="us"
    )
