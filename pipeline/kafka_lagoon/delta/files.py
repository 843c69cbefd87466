"""Describes data files for Delta's log: path, size and statistics. Needs no JVM, so that executors can do it.

Readers skip files by these statistics, so a bound may be wider than the values of its column, never narrower. Every column
that has an order gets bounds: delta-rs takes a missing bound, of a boolean column too, for "no such row".
"""

import io
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import field
from datetime import UTC, date, datetime, timedelta
from typing import IO, Any, TypeVar
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from kafka_lagoon.delta.stored_json import reading
from kafka_lagoon.errors import TableError
from kafka_lagoon.frozen import frozen

Value = str | int | bool | float | date | datetime
_Bound = TypeVar("_Bound")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_TEXT_BOUND = 32  # characters, as in Delta's own writer
_SCHEME = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*:")
_ROOT = re.compile(rf"{_SCHEME.pattern}(//[^/]*)?")  # scheme of a URL, and bucket or host if it has one
_LAST_CHARACTER = "\U0010ffff"


@frozen
class Statistics:
    """The number of rows of a file; of its columns the minimum, the maximum and the number of nulls."""

    rows: int
    least: Mapping[str, Value]
    greatest: Mapping[str, Value]
    nulls: Mapping[str, int]


@frozen
class DataFile:
    """A complete, closed file below a table's folder that is to be added to the table."""

    url: str
    size: int
    modified_at_ms: int
    statistics: Statistics


@frozen
class LiveFile:
    """A file that a version of a table names; `path` as in its log, `rows` None if the log does not tell."""

    path: str
    day: date
    size: int
    modified_at_ms: int
    rows: int | None

    def url(self, location: str) -> str:
        """The URL of the file of the table at `location`."""
        return url_of(location, self.path)


@frozen
class DescribedFile:
    """A file that a version of a table names, with bounds and nulls of its columns from the log (text may be cut)."""

    url: str
    size: int
    rows: int | None
    least: Mapping[str, Any]
    greatest: Mapping[str, Any]
    nulls: Mapping[str, Any] = field(default_factory=dict)

    def bounds(self, column: str, kind: type[_Bound]) -> tuple[_Bound, _Bound] | None:
        """The bounds of a column, None if the log does not have both of them as values of this type."""
        least, greatest = self.least.get(column), self.greatest.get(column)
        return (least, greatest) if type(least) is kind and type(greatest) is kind else None


def url_of(location: str, path: str) -> str:
    """The URL of a file that the log of the table at `location` names, in the form in which Hadoop lists files.

    `path` is escaped. It is relative to the table or absolute; clones and some engines write absolute paths.
    """
    plain = unquote(path)
    if path.startswith("/"):
        root = _ROOT.match(location)
        return f"{root[0] if root else ''}{plain}"
    if not _SCHEME.match(path):
        return f"{location}/{plain}"
    return f"file:/{plain.removeprefix('file:').lstrip('/')}" if path.startswith("file:") else plain


def described_file(location: str, add: Mapping[str, Any]) -> DescribedFile:
    """Parse an `add` action of the log of the table at `location`; TableError if it cannot be parsed.

    TableError also if it has a deletion vector: the file still has the rows that the vector deletes.
    """
    with reading(f"an add action in the log of {location}"):
        if add.get("deletionVector") is not None:
            raise TableError(
                f"{location}: rows of {add['path']} are deleted by a deletion vector, which is not read here: "
                f"REORG TABLE delta.`{location}` APPLY (PURGE) rewrites the file without them"
            )
        statistics = json.loads(add.get("stats") or "{}")
        return DescribedFile(
            url=url_of(location, add["path"]),
            size=add["size"],
            rows=_row_count(statistics),
            least=dict(statistics.get("minValues") or {}),
            greatest=dict(statistics.get("maxValues") or {}),
            nulls=dict(statistics.get("nullCount") or {}),
        )


def live_file(add: Mapping[str, Any], column: str) -> LiveFile:
    """Parse an `add` action of the log of a table that is partitioned by `column`; TableError if it is none."""
    with reading(f"an add action of a table that is partitioned by {column}"):
        statistics = json.loads(add.get("stats") or "{}")
        return LiveFile(
            path=add["path"],
            day=date.fromisoformat(add["partitionValues"][column]),
            size=add["size"],
            modified_at_ms=add["modificationTime"],
            rows=_row_count(statistics),
        )


def _row_count(statistics: Mapping[str, Any]) -> int | None:
    """The number of rows in statistics of the log, None if they lack it; ValueError if it is no number of rows."""
    rows = statistics.get("numRecords")
    if rows is not None and (type(rows) is not int or rows < 0):
        raise ValueError(f"numRecords is {rows!r}")
    return rows


def remove_action(file: LiveFile, column: str, now_ms: int, *, data_change: bool = False) -> str:
    """The action that removes a file; `data_change` if rows are removed and not moved to other files.

    Streams of the table ignore a removal without data change, and stop at one with it unless they allow that (ignoreDeletes).
    """
    remove = {
        "path": file.path,
        "deletionTimestamp": now_ms,
        "dataChange": data_change,
        "extendedFileMetadata": True,
        "partitionValues": {column: file.day.isoformat()},
        "size": file.size,
    }
    return _json({"remove": remove})


def statistics_of(arrow: pa.Table) -> Statistics:
    """Statistics of a file with these rows: nulls of every column, bounds of every column that has an order and values."""
    bounds = {name: pair for name in arrow.column_names if (pair := bounds_of(arrow[name]))}
    return Statistics(
        rows=arrow.num_rows,
        least={name: least for name, (least, _) in bounds.items()},
        greatest={name: greatest for name, (_, greatest) in bounds.items()},
        nulls={name: arrow[name].null_count for name in arrow.column_names},
    )


def bounds_of(column: pa.Array | pa.ChunkedArray) -> tuple[Value, Value] | None:
    """The minimum and maximum of a column; None if it has no order, only nulls, or a number that JSON cannot hold.

    These are the infinities and NaN, which some readers place above all numbers and others nowhere.
    """
    if pa.types.is_dictionary(column.type):
        column = _used(column)
    kind = column.type
    if pa.types.is_binary(kind) or pa.types.is_nested(kind):
        return None
    if pa.types.is_floating(kind) and not pc.all(pc.is_finite(column)).as_py():
        return None
    if pa.types.is_timestamp(kind):
        # All values, not only those that datetime can hold.
        column = column.cast(pa.timestamp("us", kind.tz)).cast(pa.int64())
    both = pc.min_max(column)
    least, greatest = both["min"].as_py(), both["max"].as_py()
    if least is None:
        return None
    if pa.types.is_timestamp(kind):
        return _EPOCH + timedelta(microseconds=least), _EPOCH + timedelta(microseconds=greatest)
    return least, greatest


def merged(several: Sequence[Statistics]) -> Statistics:
    """Statistics of a file made of parts: a part of only nulls adds no bounds, one with a NaN removes them."""
    names = several[0].nulls
    bounded = [name for name in names if all(name in one.least or one.nulls[name] == one.rows for one in several)]
    least = {name: [one.least[name] for one in several if name in one.least] for name in bounded}
    greatest = {name: [one.greatest[name] for one in several if name in one.greatest] for name in bounded}
    return Statistics(
        rows=sum(one.rows for one in several),
        least={name: min(values) for name, values in least.items() if values},
        greatest={name: max(values) for name, values in greatest.items() if values},
        nulls={name: sum(one.nulls[name] for one in several) for name in names},
    )


def _used(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    """The values of a dictionary column that its rows use, each once."""
    chunks = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
    values = [chunk.dictionary.take(chunk.indices.unique().drop_null()) for chunk in chunks]
    return pa.concat_arrays(values) if values else pa.array([], column.type.value_type)


def add_action(file: DataFile, path: str, partition: tuple[str, date], *, data_change: bool = True) -> str:
    """The action that adds a file; `path` is relative to the table's folder.

    Without `data_change` it has rows that existed before, and streams of the table ignore it.
    """
    column, day = partition
    add = {
        "path": path,
        "partitionValues": {column: day.isoformat()},
        "size": file.size,
        "modificationTime": file.modified_at_ms,
        "dataChange": data_change,
        "stats": _json(_statistics(file.statistics)),
    }
    return _json({"add": add})


def _json(value: Mapping[str, Any]) -> str:
    r"""JSON in UTF-8 without escapes: delta-rs (arrow-json) takes U+20000, escaped as \ud840\udc00, for U+10000."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def _statistics(statistics: Statistics) -> dict[str, Any]:
    return {
        "numRecords": statistics.rows,
        "minValues": {name: _at_least(value) for name, value in statistics.least.items()},
        "maxValues": {name: _at_most(value) for name, value in statistics.greatest.items()},
        "nullCount": dict(statistics.nulls),
    }


def _at_least(value: Value) -> Any:
    """A lower bound for Delta's log: times in milliseconds, text of 32 characters, both cut off."""
    if isinstance(value, datetime):
        return _instant(value)
    if isinstance(value, date):
        return value.isoformat()
    return value[:_TEXT_BOUND] if isinstance(value, str) else value


def _at_most(value: Value) -> Any:
    """An upper bound for Delta's log: times in milliseconds, rounded up; text cut off and made greater."""
    if isinstance(value, datetime):
        return _instant(value + min(timedelta(microseconds=999), datetime.max.replace(tzinfo=UTC) - value))
    if isinstance(value, date):
        return value.isoformat()
    return _cut_text(value) if isinstance(value, str) else value


def _cut_text(text: str) -> str:
    """The shortest text that is not less than `text`: 32 characters or more, the last of them increased."""
    for length in range(_TEXT_BOUND, len(text)):
        if text[length] < _LAST_CHARACTER:
            return text[:length] + _LAST_CHARACTER
    return text


def _instant(value: datetime) -> str:
    return value.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="milliseconds") + "Z"


def parquet_bytes(arrow: pa.Table) -> bytes:
    """One Parquet file; timestamps in microseconds, which Spark and every Delta reader expect."""
    sink = io.BytesIO()
    with parquet_writer(sink, arrow.schema) as writer:
        writer.write_table(arrow)
    return sink.getvalue()


def parquet_writer(sink: IO[bytes], schema: pa.Schema) -> Any:
    """A writer of a file with these columns; row groups have no statistics of floating numbers.

    Arrow leaves NaN out of them, and DuckDB, to which NaN is the greatest number, skips row groups by them.
    """
    bounded = [field.name for field in schema if not pa.types.is_floating(field.type)]
    return pq.ParquetWriter(sink, schema, compression="zstd", store_schema=False, write_statistics=bounded)
