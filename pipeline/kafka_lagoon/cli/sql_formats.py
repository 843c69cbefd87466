"""Formats rows of a SQL result, a block of lines for each batch, so that the first rows do not wait for the last.

FORMATS at the end declares every format of `lagoon sql`. On a terminal control characters are escaped; elsewhere every value is
exact.
"""

import json
import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date, datetime, timedelta
from decimal import Decimal
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import pyarrow as pa

from kafka_lagoon.cli.kafka.formatting import as_text, base64_object, text_or_bytes
from kafka_lagoon.cli.sql_times import spelled_interval, values_of
from kafka_lagoon.errors import TableError
from kafka_lagoon.frozen import frozen
from kafka_lagoon.query.statements import Rows
from kafka_lagoon.text import aligned_line, columns_of, printable

_MEASURED_ROWS = 1000  # of a table; later ones that are wider move the rest of their line
_WIDEST_COLUMN = 80  # one long text does not push all others off the screen
_PLAIN = frozenset((pa.string(), pa.large_string(), pa.binary(), pa.large_binary(), pa.bool_(), pa.null()))
_CSV_SPECIAL = frozenset(',"\r\n')


def table_blocks(rows: Rows) -> Iterator[str]:
    """Aligned columns: numbers to the right, null spelled out, times in UTC. Widths are those of the first rows."""
    cells = (list(map(_cells, columns)) for columns in _columns(rows))
    lines: Iterator[Sequence[Sequence[str]]] = ([*zip(*columns, strict=True)] for columns in cells)
    measured: list[Sequence[str]] = [tuple(map(printable, rows.schema.names))]
    for batch in lines:
        measured += batch
        if len(measured) > _MEASURED_ROWS:
            break
    widths = [min(_WIDEST_COLUMN, max(map(columns_of, column))) for column in zip(*measured, strict=True)]
    right = {index for index, kind in enumerate(rows.schema.types) if _is_number(kind)}
    for batch in chain([measured], lines):
        yield "".join(f"{aligned_line(line, widths, right)}\n" for line in batch)


def plan_lines(rows: Rows) -> Iterator[str]:
    """The lines of plans, which EXPLAIN returns in its last column."""
    for columns in _columns(rows):
        yield "".join(f"{printable(line)}\n" for plan in columns[-1] for line in plan.splitlines())


def csv_blocks(rows: Rows, spell: Callable[[str], str] = str) -> Iterator[str]:
    """RFC 4180; null is an empty field, an empty text is quoted, as in PostgreSQL.

    A null alone in its row is quoted, too, as Python's csv does: many readers skip empty lines.
    """
    yield _csv_line([_csv_cell(spell(name)) for name in rows.schema.names])
    for columns in _columns(rows):
        fields = [[_csv_field(value, spell) for value in column] for column in columns]
        yield "".join(map(_csv_line, zip(*fields, strict=True)))


def json_blocks(rows: Rows) -> Iterator[str]:
    """An object a line. Bytes are a text or `{"base64": ...}`, times ISO 8601."""
    refuse_equal_names(rows.schema)
    names, encode = rows.schema.names, json.JSONEncoder(default=_json_value).encode
    for columns in _columns(rows):
        yield "".join(f"{encode(dict(zip(names, row, strict=True)))}\n" for row in zip(*columns, strict=True))


def write_parquet(rows: Rows, path: Path) -> None:
    """A Parquet file of the rows, intervals as text; TableError if a column's type has no place in Parquet."""
    import pyarrow.parquet as pq  # noqa: PLC0415  0.1 s that the other formats do not have to wait

    refuse_equal_names(rows.schema)
    schema = pa.schema([field.with_type(pa.string()) if _is_interval(field.type) else field for field in rows.schema])
    try:
        # Arrow takes no path that is not UTF-8.
        with path.open("wb") as sink, pq.ParquetWriter(sink, schema, compression="zstd") as file:
            for batch in rows.batches:
                columns = [_spelled(column) if _is_interval(column.type) else column for column in batch.columns]
                file.write_batch(pa.RecordBatch.from_arrays(columns, schema=schema))
    except pa.ArrowException as error:
        raise TableError(f"--format parquet: {' '.join(str(error).split())}") from error


def _is_interval(kind: pa.DataType) -> bool:
    return bool(pa.types.is_interval(kind) or pa.types.is_duration(kind))


def _spelled(intervals: pa.Array) -> pa.Array:
    return pa.array(list(map(_scalar, intervals.to_pylist())), pa.string())


def refuse_equal_names(schema: pa.Schema) -> None:
    """TableError if two columns are called alike, of which a reader would see one."""
    for name, count in Counter(schema.names).items():
        if count > 1:
            raise TableError(f"two columns are called {name}: name one of them with AS")


def _columns(rows: Rows) -> Iterator[list[list[Any]]]:
    """The values of each batch by column, in kinds that JSON has, and bytes."""
    convert = [None if _is_plain(kind) else _converter(kind) for kind in rows.schema.types]
    for batch in rows.batches:
        values = map(values_of, batch.columns)
        yield [list(map(one, column)) if one else column for one, column in zip(convert, values, strict=True)]


def _is_plain(kind: pa.DataType) -> bool:
    """True if JSON has such values. A test of each value would double the time of a wide table."""
    return kind in _PLAIN or pa.types.is_integer(kind)


def _converter(kind: pa.DataType) -> Callable[[Any], Any]:
    """Make the function that converts values of a type, nested values too, for JSON."""
    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        item = _converter(kind.value_type)
        return lambda value: value if value is None else [item(one) for one in value]
    if pa.types.is_struct(kind):
        fields = {field.name: _converter(field.type) for field in kind}
        return lambda value: value if value is None else {name: fields[name](one) for name, one in value.items()}
    if pa.types.is_map(kind):
        key, item = _converter(kind.key_type), _converter(kind.item_type)
        return lambda value: value if value is None else {_name(key(name)): item(one) for name, one in value}
    return _scalar


def _name(key: Any) -> str:
    return key if isinstance(key, str) else json.dumps(key, default=_json_value)


def _scalar(value: Any) -> Any:
    match value:
        case bool() | int() | str() | None | bytes():
            return value
        case float():
            return value if math.isfinite(value) else str(value)
        case datetime():
            digits = "milliseconds" if value.microsecond % 1000 == 0 else "microseconds"
            text = value.replace(tzinfo=None).isoformat(timespec=digits)  # results are in UTC
            return f"{text}Z" if value.tzinfo else text
        case date():
            return value.isoformat()
        case timedelta() | pa.MonthDayNano():
            return spelled_interval(value)
        case Decimal() if value.as_tuple().exponent == 0:
            return int(value)
        case Decimal() if Decimal(repr(float(value))) == value:
            return float(value)
        case _:
            return str(value)


def _json_value(value: Any) -> Any:
    """Encode bytes, the only type that JSON does not have by now."""
    decoded = text_or_bytes(value)
    return base64_object(decoded) if isinstance(decoded, bytes) else decoded


def _cells(column: list[Any]) -> list[str]:
    return list(map(_cell, column))


def _cell(value: Any) -> str:
    match value:
        case None:
            return "null"
        case str():
            return printable(value)
        case bytes():
            return as_text(value)
        case _:
            return printable(json.dumps(value, default=_json_value, ensure_ascii=False))


def _is_number(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind))


def _csv_field(value: Any, spell: Callable[[str], str]) -> str:
    if value is None:
        return ""
    if isinstance(value, bytes):
        value = _json_value(value)
    return _csv_cell(spell(value if isinstance(value, str) else json.dumps(value, default=_json_value)))


def _csv_cell(text: str) -> str:
    return text if text and _CSV_SPECIAL.isdisjoint(text) else '"' + text.replace('"', '""') + '"'


def _csv_line(fields: Sequence[str]) -> str:
    return (",".join(fields) or '""') + "\r\n"


@frozen
class SqlFormat:
    """An output format of `lagoon sql`: its line in the help, and the suffixes of --out that choose it.

    `blocks` makes text of rows, `on_terminal` the same for a terminal; without `blocks` the format is for files only, which
    `to_file` writes.
    """

    meaning: str
    suffixes: Sequence[str] = ()
    blocks: Callable[[Rows], Iterator[str]] | None = None
    on_terminal: Callable[[Rows], Iterator[str]] | None = None
    to_file: Callable[[Rows, Path], None] | None = None
    is_paged: bool = False

    def write(self, rows: Rows, path: Path) -> None:
        """Write the rows to a file."""
        if self.to_file:
            self.to_file(rows, path)
        elif self.blocks:
            with path.open("w", encoding="utf-8", newline="") as file:
                file.writelines(self.blocks(rows))


PLAN = SqlFormat(meaning="for people: the plan of EXPLAIN", blocks=plan_lines, is_paged=True)
TABLE, JSON = "table", "json"
FORMATS: Mapping[str, SqlFormat] = {
    TABLE: SqlFormat(
        meaning="for people: aligned by the first 1000 rows, through $PAGER where it is longer than the terminal",
        blocks=table_blocks,
        is_paged=True,
    ),
    "csv": SqlFormat(
        meaning='RFC 4180 with a header; null is an empty field, an empty text is ""',
        suffixes=[".csv"],
        blocks=csv_blocks,
        on_terminal=partial(csv_blocks, spell=printable),
    ),
    JSON: SqlFormat(
        meaning='an object a line: 64-bit numbers exact, times ISO 8601 in UTC, binary as text or {"base64": ...}',
        suffixes=[".json", ".jsonl"],
        blocks=json_blocks,
    ),
    "parquet": SqlFormat(meaning="a file, which --out names", suffixes=[".parquet"], to_file=write_parquet),
}
