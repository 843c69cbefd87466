"""Room for decoded records in, Arrow batches out.

Guards one rule: a column that is not asked for has no buffer, so that nobody can spend time on it. Buffers are as large as
records of so many bytes could need, which costs address space and no memory, and are cut to what was used.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kafka_lagoon.records import layout
from kafka_lagoon.records.batches import Table

TIMESTAMP = pa.timestamp("us", tz="UTC")
HEADERS = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))
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
_LENT_SIZE = 1 << 20  # rooms for less are made to measure
_SPARE_SIZE = 64 << 20  # of plain records, in rooms that nobody uses

_Numbers = NDArray[Any]


def schema_of(columns: frozenset[str] | None) -> pa.Schema:
    """The wanted columns of DECODED, in its order."""
    return pa.schema([field for field in DECODED if columns is None or field.name in columns])


class _Room:
    """Buffers that are filled together, by the fields of a run; lent again when no Arrow array uses them any more.

    Fresh memory costs more than decoding into it: of 16 MiB of plain records at a time, 40 ns a record on top of 25.
    """

    def __init__(self, names: tuple[str, ...], rows: int, size: int) -> None:
        self.names, self.rows, self.size = names, rows, size
        self.buffers: dict[int, _Numbers] = {
            field: np.empty(most(rows, size), item) for name in names for field, item, most in _BUFFERS.get(name, ())
        }
        for buffer in self.buffers.values():
            buffer[:1] = 0  # where the first key, value or header begins
        self.addresses = {field: buffer.ctypes.data for field, buffer in self.buffers.items()}


class _Lease:
    """What Arrow's buffers hold on to while they use a room."""

    def __init__(self, room: _Room) -> None:
        self._room = room

    def __del__(self) -> None:
        is_usual = _LENT_SIZE <= self._room.size <= _SPARE_SIZE // 2
        if is_usual and sum(room.size for room in _spare) < _SPARE_SIZE:
            _spare.append(self._room)


_spare: list[_Room] = []


def _lend(names: tuple[str, ...], rows: int, size: int) -> _Room:
    """A room for at least so many rows and bytes: for small answers a new one that fits, else one of a few sizes."""
    if size < _LENT_SIZE:
        return _Room(names, rows, size)
    size = 1 << (size - 1).bit_length()
    for room in _spare.copy():
        if room.size == size and room.names == names:
            with suppress(ValueError):  # another thread was first
                _spare.remove(room)
                return room
    return _Room(names, size // layout.MIN_RECORD_SIZE + 1, size)


class Buffers:
    """Buffers for at most `rows` records of `size` bytes in all, which the kernel fills by their addresses in `run`."""

    def __init__(self, run: _Numbers, schema: pa.Schema, *, rows: int, size: int) -> None:
        self._run, self._schema = run, schema
        self._room = _lend(tuple(schema.names), rows, size)
        self._lease = _Lease(self._room)
        run[layout.FILLED_ROWS : layout.MOST_HEADERS] = 0
        run[layout.ROOM_ROWS], run[layout.ROOM_BYTES] = rows, size
        for field, address in self._room.addresses.items():
            run[field] = address

    @property
    def rows(self) -> int:
        """How many records there are."""
        return int(self._run[layout.FILLED_ROWS])

    def offsets(self) -> _Numbers:
        """The offsets of the records, to be copied by whoever needs them for long."""
        return self._room.buffers[layout.OFFSETS][: self.rows]

    def spelled(self) -> list[tuple[int, int]]:
        """Row and offset of each record with header keys that are not UTF-8."""
        count = int(self._run[layout.SPELLED])
        if not count:
            return []
        return [
            (row, offset)
            for row, offset in self._room.buffers[layout.SPELLED_ROWS][: 2 * count].reshape(-1, 2).tolist()
        ]

    def arrow_batch(self, lines: Table) -> pa.RecordBatch:
        """What was decoded of these lines of the table of batches. Afterwards the buffers are Arrow's."""
        has_rows = lines[:, layout.ROWS] > 0
        if not has_rows.all():
            lines = lines[has_rows]
        if not self._schema.names:  # only a batch made in this way knows how many rows it has
            return pa.RecordBatch.from_struct_array(pa.Array.from_buffers(pa.struct([]), self.rows, [None], 0))
        arrays = [_ARRAYS[name](self, lines) for name in self._schema.names]
        return pa.RecordBatch.from_arrays(arrays, schema=self._schema)

    def numbers(self, type_: pa.DataType, field: int, bits: int | None = None, nulls: int | None = None) -> pa.Array:
        """An array of numbers; `bits` and `nulls` are the fields that hold which are null, and how many."""
        missing = int(self._run[nulls]) if nulls else 0
        present = self._bits(bits, self.rows) if bits and missing else None
        return pa.Array.from_buffers(type_, self.rows, [present, self._cut(field, self.rows)], missing)

    def binary(self, ends: int, size: int, bits: int, nulls: int) -> pa.Array:
        """An array of keys or of values; the other fields hold how many bytes and nulls there are, and which are null."""
        missing = int(self._run[nulls])
        present = self._bits(bits, self.rows) if missing else None
        contents = self._cut(ends + 1, int(self._run[size]))
        return pa.Array.from_buffers(
            pa.binary(), self.rows, [present, self._cut(ends, self.rows + 1), contents], missing
        )

    def headers(self) -> pa.Array:
        """The lists of headers."""
        ends = self._cut(layout.HEADER_ENDS, self.rows + 1)
        keys, spelled = self._header_keys(), [row for row, _ in self.spelled()]
        if spelled:
            keys = spelled_keys(keys, np.frombuffer(ends, np.int32), spelled)
        pairs = pa.Array.from_buffers(
            HEADERS.value_type, len(keys), [None], 0, children=[keys, self._header_values(len(keys))]
        )
        return pa.Array.from_buffers(HEADERS, self.rows, [None, ends], 0, children=[pairs])

    def _header_keys(self) -> pa.Array:
        count = int(self._run[layout.HEADERS])
        contents = self._cut(layout.HEADER_KEYS, int(self._run[layout.HEADER_KEY_BYTES]))
        return pa.Array.from_buffers(
            pa.string(), count, [None, self._cut(layout.HEADER_KEY_ENDS, count + 1), contents], 0
        )

    def _header_values(self, count: int) -> pa.Array:
        contents = self._cut(layout.HEADER_VALUES, int(self._run[layout.HEADER_VALUE_BYTES]))
        ends, present = self._cut(layout.HEADER_VALUE_ENDS, count + 1), self._bits(layout.HEADER_VALUE_BITS, count)
        return pa.Array.from_buffers(pa.binary(), count, [present, ends, contents])

    def _bits(self, field: int, length: int) -> pa.Buffer:
        return self._cut(field, (length + 7) >> 3)

    def _cut(self, field: int, size: int) -> pa.Buffer:
        items = size * self._room.buffers[field].itemsize
        return pa.foreign_buffer(self._room.addresses[field], items, base=self._lease)


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
    r"""Bytes as text, what is not UTF-8 as in `\xff`, and backslashes doubled so that it can be told apart."""
    return raw.replace(b"\\", b"\\\\").decode("utf-8", "backslashreplace")


def _repeated(type_: pa.DataType, lines: Table, values: _Numbers) -> pa.Array:
    """Each batch's value for all its records, null where it is -1."""
    return _array(type_, _spread(values.astype(type_.to_pandas_dtype()), lines[:, layout.ROWS]))


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
    spread = _spread(values.astype(np.int8), lines[:, layout.ROWS])
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
    "offset": ((layout.OFFSETS, np.int64, _rows),),
    "timestamp": ((layout.TIMES, np.int64, _rows), (layout.TIME_BITS, np.uint8, _row_bits)),
    "timestamp_ms": ((layout.TIMES_MS, np.int64, _rows),),
    "key": (
        (layout.KEY_ENDS, np.int32, _rows),
        (layout.KEYS, np.uint8, _bytes),
        (layout.KEY_BITS, np.uint8, _row_bits),
    ),
    "value": (
        (layout.VALUE_ENDS, np.int32, _rows),
        (layout.VALUES, np.uint8, _bytes),
        (layout.VALUE_BITS, np.uint8, _row_bits),
    ),
    "headers": (
        (layout.HEADER_ENDS, np.int32, _rows),
        (layout.HEADER_KEY_ENDS, np.int32, _header_ends),
        (layout.HEADER_KEYS, np.uint8, _bytes),
        (layout.HEADER_VALUE_ENDS, np.int32, _header_ends),
        (layout.HEADER_VALUES, np.uint8, _bytes),
        (layout.HEADER_VALUE_BITS, np.uint8, _header_bits),
        (layout.SPELLED_ROWS, np.int64, _pairs),
    ),
}

_ARRAYS: dict[str, Callable[[Buffers, Table], pa.Array]] = {
    "offset": lambda buffers, _: buffers.numbers(pa.int64(), layout.OFFSETS),
    "timestamp": lambda buffers, _: buffers.numbers(TIMESTAMP, layout.TIMES, layout.TIME_BITS, layout.NULL_TIMES),
    "timestamp_ms": lambda buffers, _: buffers.numbers(pa.int64(), layout.TIMES_MS),
    "timestamp_type": lambda _, lines: _repeated(pa.int32(), lines, lines[:, layout.ATTRIBUTES] >> 3 & 1),
    "key": lambda buffers, _: buffers.binary(layout.KEY_ENDS, layout.KEY_BYTES, layout.KEY_BITS, layout.NULL_KEYS),
    "value": lambda buffers, _: buffers.binary(
        layout.VALUE_ENDS, layout.VALUE_BYTES, layout.VALUE_BITS, layout.NULL_VALUES
    ),
    "headers": lambda buffers, _: buffers.headers(),
    "leader_epoch": lambda _, lines: _repeated(pa.int32(), lines, lines[:, layout.EPOCH]),
    "producer_id": lambda _, lines: _repeated(pa.int64(), lines, lines[:, layout.PRODUCER]),
    "producer_epoch": lambda _, lines: _repeated(pa.int32(), lines, lines[:, layout.PRODUCER_EPOCH]),
    "is_transactional": lambda _, lines: _flags(lines, lines[:, layout.ATTRIBUTES] >> 4 & 1),
    "is_aborted": lambda _, lines: _flags(lines, lines[:, layout.IS_ABORTED]),
}
