"""Room for decoded records in, Arrow batches out.

Guards one rule: a column that is not asked for has no buffer, so that nobody can spend time on it. Buffers are as large as
records of so many bytes could need, which costs address space and no memory, and are cut to what was used.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from pipeline.records import scan
from pipeline.records.batches import Table

TIMESTAMP = pa.timestamp("us", tz="UTC")
HEADERS = pa.list_(
    pa.field(
        "element",
        pa.struct([pa.field("key", pa.string(), nullable=False), pa.field("value", pa.binary())]),
        nullable=False,
    )
)
DECODED = pa.schema(
    [
        pa.field("offset", pa.int64(), nullable=False),
        pa.field("timestamp", TIMESTAMP),
        pa.field("timestamp_ms", pa.int64(), nullable=False),
        pa.field("timestamp_type", pa.int32(), nullable=False),
        pa.field("key", pa.binary()),
        pa.field("value", pa.binary()),
        pa.field("headers", HEADERS, nullable=False),
        pa.field("leader_epoch", pa.int32()),
        pa.field("producer_id", pa.int64()),
        pa.field("producer_epoch", pa.int32()),
        pa.field("is_transactional", pa.bool_(), nullable=False),
        pa.field("is_aborted", pa.bool_()),
    ]
)

NONE = -1  # in batches: there is no such thing
MIN_HEADER_SIZE = 2

_Numbers = NDArray[Any]


def schema_of(columns: frozenset[str] | None) -> pa.Schema:
    """The wanted columns of DECODED, in its order."""
    return pa.schema([field for field in DECODED if columns is None or field.name in columns])


class Buffers:
    """Buffers for at most `rows` records of `size` bytes in all, which the kernel fills by their addresses in `run`."""

    def __init__(self, run: _Numbers, schema: pa.Schema, *, rows: int, size: int) -> None:
        self._run, self._schema = run, schema
        self._buffers = {
            field: np.empty(most(rows, size), item)
            for name in schema.names
            for field, item, most in _BUFFERS.get(name, ())
        }
        run[scan.FILLED_ROWS :] = 0
        run[scan.ROOM_ROWS], run[scan.ROOM_BYTES] = rows, size
        for field, buffer in self._buffers.items():
            buffer[:1] = 0  # where the first key, value or header begins
            run[field] = buffer.ctypes.data

    @property
    def rows(self) -> int:
        """How many records there are."""
        return int(self._run[scan.FILLED_ROWS])

    def spelled(self) -> list[tuple[int, int]]:
        """Row and offset of each record with header keys that are not UTF-8."""
        count = int(self._run[scan.SPELLED])
        if not count:
            return []
        return [(row, offset) for row, offset in self._buffers[scan.SPELLED_ROWS][: 2 * count].reshape(-1, 2).tolist()]

    def arrow_batch(self, lines: Table) -> pa.RecordBatch:
        """What was decoded of these lines of the table of batches. Afterwards the buffers are Arrow's."""
        lines = lines[lines[:, scan.ROWS] > 0]
        arrays = [_ARRAYS[name](self, lines) for name in self._schema.names]
        return pa.RecordBatch.from_arrays(arrays, schema=self._schema)

    def _numbers(self, type_: pa.DataType, field: int, bits: int | None = None, nulls: int | None = None) -> pa.Array:
        """An array of numbers; `bits` and `nulls` are the fields that hold which are null, and how many."""
        missing = int(self._run[nulls]) if nulls else 0
        present = self._bits(bits, self.rows) if bits and missing else None
        return pa.Array.from_buffers(type_, self.rows, [present, self._cut(field, self.rows)], missing)

    def _binary(self, ends: int, size: int, bits: int, nulls: int) -> pa.Array:
        """An array of keys or of values; the other fields hold how many bytes and nulls there are, and which are null."""
        missing = int(self._run[nulls])
        present = self._bits(bits, self.rows) if missing else None
        contents = self._cut(ends + 1, int(self._run[size]))
        return pa.Array.from_buffers(
            pa.binary(), self.rows, [present, self._cut(ends, self.rows + 1), contents], missing
        )

    def _headers(self) -> pa.Array:
        ends = self._cut(scan.HEADER_ENDS, self.rows + 1)
        keys, spelled = self._header_keys(), [row for row, _ in self.spelled()]
        if spelled:
            keys = spelled_keys(keys, np.frombuffer(ends, np.int32), spelled)
        pairs = pa.Array.from_buffers(
            HEADERS.value_type, len(keys), [None], 0, children=[keys, self._header_values(len(keys))]
        )
        return pa.Array.from_buffers(HEADERS, self.rows, [None, ends], 0, children=[pairs])

    def _header_keys(self) -> pa.Array:
        count = int(self._run[scan.HEADERS])
        contents = self._cut(scan.HEADER_KEYS, int(self._run[scan.HEADER_KEY_BYTES]))
        return pa.Array.from_buffers(
            pa.string(), count, [None, self._cut(scan.HEADER_KEY_ENDS, count + 1), contents], 0
        )

    def _header_values(self, count: int) -> pa.Array:
        contents = self._cut(scan.HEADER_VALUES, int(self._run[scan.HEADER_VALUE_BYTES]))
        ends, present = self._cut(scan.HEADER_VALUE_ENDS, count + 1), self._bits(scan.HEADER_VALUE_BITS, count)
        return pa.Array.from_buffers(pa.binary(), count, [present, ends, contents])

    def _bits(self, field: int, length: int) -> pa.Buffer:
        return self._cut(field, (length + 7) >> 3)

    def _cut(self, field: int, size: int) -> pa.Buffer:
        buffer = self._buffers[field]
        buffer.resize(size, refcheck=False)
        return pa.py_buffer(buffer)


def spelled_keys(keys: pa.Array, ends: _Numbers, rows: Sequence[int]) -> pa.Array:
    """The header keys, all those of some rows spelled out; row's headers end at `ends[row + 1]`."""
    pieces, done = [], 0
    for row in rows:
        first, last = int(ends[row]), int(ends[row + 1])
        raw = keys.slice(first, last - first).view(pa.binary()).to_pylist()
        pieces += [keys.slice(done, first - done), pa.array(map(spell, raw), pa.string())]
        done = last
    return pa.concat_arrays([*pieces, keys.slice(done)])


def spell(raw: bytes) -> str:
    """Bytes as text, what is not UTF-8 as in `\\xff`, and backslashes doubled so that it can be told apart."""
    return raw.replace(b"\\", b"\\\\").decode("utf-8", "backslashreplace")


def _repeated(type_: pa.DataType, lines: Table, values: _Numbers) -> pa.Array:
    """Each batch's value for all its records, null where it is -1."""
    return _array(type_, _spread(values.astype(type_.to_pandas_dtype()), lines[:, scan.ROWS]))


def _spread(values: _Numbers, rows: _Numbers) -> _Numbers:
    if len(values) and (values == values[0]).all():
        return np.full(rows.sum(), values[0])
    return np.repeat(values, rows)


def _array(type_: pa.DataType, values: _Numbers) -> pa.Array:
    nulls = int(np.count_nonzero(values == NONE))
    present = pa.py_buffer(np.packbits(values != NONE, bitorder="little")) if nulls else None
    return pa.Array.from_buffers(type_, len(values), [present, pa.py_buffer(values)], nulls)


def _flags(lines: Table, values: _Numbers) -> pa.Array:
    """Each batch's 1 or 0 for all its records, null where it is -1."""
    spread = _spread(values.astype(np.int8), lines[:, scan.ROWS])
    nulls = int(np.count_nonzero(spread == NONE))
    present = pa.py_buffer(np.packbits(spread != NONE, bitorder="little")) if nulls else None
    bits = pa.py_buffer(np.packbits(spread == 1, bitorder="little"))
    return pa.Array.from_buffers(pa.bool_(), len(spread), [present, bits], nulls)


def _rows(rows: int, _size: int) -> int:
    return rows + 1


def _row_bits(rows: int, _size: int) -> int:
    return rows // 8 + 2


def _pairs(rows: int, _size: int) -> int:
    return 2 * rows


def _bytes(_rows: int, size: int) -> int:
    return size


def _header_ends(_rows: int, size: int) -> int:
    return size // MIN_HEADER_SIZE + 1


def _header_bits(_rows: int, size: int) -> int:
    return size // MIN_HEADER_SIZE // 8 + 2


# Fields of a run, what the buffers there hold, and how many of it there may be for some rows of some bytes.
_BUFFERS: dict[str, tuple[tuple[int, type, Callable[[int, int], int]], ...]] = {
    "offset": ((scan.OFFSETS, np.int64, _rows),),
    "timestamp": ((scan.TIMES, np.int64, _rows), (scan.TIME_BITS, np.uint8, _row_bits)),
    "timestamp_ms": ((scan.TIMES_MS, np.int64, _rows),),
    "key": ((scan.KEY_ENDS, np.int32, _rows), (scan.KEYS, np.uint8, _bytes), (scan.KEY_BITS, np.uint8, _row_bits)),
    "value": (
        (scan.VALUE_ENDS, np.int32, _rows),
        (scan.VALUES, np.uint8, _bytes),
        (scan.VALUE_BITS, np.uint8, _row_bits),
    ),
    "headers": (
        (scan.HEADER_ENDS, np.int32, _rows),
        (scan.HEADER_KEY_ENDS, np.int32, _header_ends),
        (scan.HEADER_KEYS, np.uint8, _bytes),
        (scan.HEADER_VALUE_ENDS, np.int32, _header_ends),
        (scan.HEADER_VALUES, np.uint8, _bytes),
        (scan.HEADER_VALUE_BITS, np.uint8, _header_bits),
        (scan.SPELLED_ROWS, np.int64, _pairs),
    ),
}

_ARRAYS: dict[str, Callable[[Buffers, Table], pa.Array]] = {
    "offset": lambda room, _: room._numbers(pa.int64(), scan.OFFSETS),
    "timestamp": lambda room, _: room._numbers(TIMESTAMP, scan.TIMES, scan.TIME_BITS, scan.NULL_TIMES),
    "timestamp_ms": lambda room, _: room._numbers(pa.int64(), scan.TIMES_MS),
    "timestamp_type": lambda _, lines: _repeated(pa.int32(), lines, lines[:, scan.ATTRIBUTES] >> 3 & 1),
    "key": lambda room, _: room._binary(scan.KEY_ENDS, scan.KEY_BYTES, scan.KEY_BITS, scan.NULL_KEYS),
    "value": lambda room, _: room._binary(scan.VALUE_ENDS, scan.VALUE_BYTES, scan.VALUE_BITS, scan.NULL_VALUES),
    "headers": lambda room, _: room._headers(),
    "leader_epoch": lambda _, lines: _repeated(pa.int32(), lines, lines[:, scan.EPOCH]),
    "producer_id": lambda _, lines: _repeated(pa.int64(), lines, lines[:, scan.PRODUCER]),
    "producer_epoch": lambda _, lines: _repeated(pa.int32(), lines, lines[:, scan.PRODUCER_EPOCH]),
    "is_transactional": lambda _, lines: _flags(lines, lines[:, scan.ATTRIBUTES] >> 4 & 1),
    "is_aborted": lambda _, lines: _flags(lines, lines[:, scan.IS_ABORTED]),
}
