"""Lends memory to the kernels and makes Arrow batches of the values that they wrote.

A column that is not wanted has no buffer, so that it costs no time. Buffers have the size that the records could need at
most, which costs address space and no memory; Arrow batches see the part that was used.
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

NONE = -1  # in the header of a batch: there is no value
MIN_HEADER_SIZE = 2
_POOLED_SIZE = 1 << 20  # smaller sets are made in the size needed and not kept
_SPARE_SIZE = 64 << 20  # of plain records, in sets that nothing uses

_Numbers = NDArray[Any]


def schema_of(columns: frozenset[str] | None) -> pa.Schema:
    """The wanted columns of DECODED, in its order."""
    return pa.schema([field for field in DECODED if columns is None or field.name in columns])


def are_in_headers(schema: pa.Schema) -> bool:
    """True if all columns are made of the headers of batches, so that no record has to be read for them."""
    return _BUFFERS.keys().isdisjoint(schema.names)


class _BufferSet:
    """Buffers that are filled together, by their slot in the decoder's state; used again when no Arrow array uses them.

    Fresh memory costs more than decoding into it: of 16 MiB of plain records at a time, 40 ns a record on top of 25.
    """

    def __init__(self, names: tuple[str, ...], rows: int, size: int) -> None:
        self.names, self.rows, self.size = names, rows, size
        self.buffers: dict[int, _Numbers] = {
            slot: np.empty(most(rows, size), item) for name in names for slot, item, most in _BUFFERS.get(name, ())
        }
        for buffer in self.buffers.values():
            buffer[:1] = 0  # where the first key, value or header begins
        self.addresses = {slot: buffer.ctypes.data for slot, buffer in self.buffers.items()}


class _Lease:
    """Keeps a set from being used again while Arrow buffers refer to this object."""

    def __init__(self, buffer_set: _BufferSet) -> None:
        self._buffer_set = buffer_set

    def __del__(self) -> None:
        is_usual = _POOLED_SIZE <= self._buffer_set.size <= _SPARE_SIZE // 2
        if is_usual and sum(spare.size for spare in _spare) < _SPARE_SIZE:
            _spare.append(self._buffer_set)


_spare: list[_BufferSet] = []


def _acquire(names: tuple[str, ...], rows: int, size: int) -> _BufferSet:
    """A set for at least so many rows and bytes: a new one that fits if these are few, else one of a few sizes."""
    if size < _POOLED_SIZE:
        return _BufferSet(names, rows, size)
    size = 1 << (size - 1).bit_length()
    for spare in _spare.copy():
        if spare.size == size and spare.names == names:
            with suppress(ValueError):  # another thread was first
                _spare.remove(spare)
                return spare
    return _BufferSet(names, size // layout.MIN_RECORD_SIZE + 1, size)


class Buffers:
    """Buffers for at most `rows` records of `size` bytes in all, whose addresses are in `state` for the kernel."""

    def __init__(self, state: _Numbers, schema: pa.Schema, *, rows: int, size: int) -> None:
        self._state, self._schema = state, schema
        self._set = _acquire(tuple(schema.names), rows, size)
        self._lease = _Lease(self._set)
        state[layout.FILLED_ROWS : layout.MOST_HEADERS] = 0
        state[layout.CAPACITY_ROWS], state[layout.CAPACITY_BYTES] = rows, size
        for slot, address in self._set.addresses.items():
            state[slot] = address

    @property
    def rows(self) -> int:
        """Number of records."""
        return int(self._state[layout.FILLED_ROWS])

    def offsets(self) -> _Numbers:
        """The offsets of the records; copy them to keep them."""
        return self._set.buffers[layout.OFFSETS][: self.rows]

    def escaped(self) -> list[tuple[int, int]]:
        """Row and offset of each record with header keys that are not UTF-8."""
        count = int(self._state[layout.ESCAPED])
        if not count:
            return []
        return [
            (row, offset) for row, offset in self._set.buffers[layout.ESCAPED_ROWS][: 2 * count].reshape(-1, 2).tolist()
        ]

    def arrow_batch(self, entries: Table) -> pa.RecordBatch:
        """The records of these entries of the table of batches. Afterwards the buffers belong to Arrow."""
        has_rows = entries[:, layout.ROWS] > 0
        if not has_rows.all():
            entries = entries[has_rows]
        if not self._schema.names:
            # An Arrow batch without columns keeps its number of rows only if it is made like this.
            return pa.RecordBatch.from_struct_array(pa.Array.from_buffers(pa.struct([]), self.rows, [None], 0))
        arrays = [_ARRAYS[name](self, entries) for name in self._schema.names]
        return pa.RecordBatch.from_arrays(arrays, schema=self._schema)

    def numbers(self, type_: pa.DataType, slot: int, bits: int | None = None, nulls: int | None = None) -> pa.Array:
        """An array of numbers; `bits` and `nulls` are the slots of the validity bits and of the number of nulls."""
        missing = int(self._state[nulls]) if nulls else 0
        present = self._bits(bits, self.rows) if bits and missing else None
        return pa.Array.from_buffers(type_, self.rows, [present, self._cut(slot, self.rows)], missing)

    def binary(self, ends: int, size: int, bits: int, nulls: int) -> pa.Array:
        """An array of keys or of values; the other slots hold the number of bytes and nulls, and the validity bits."""
        missing = int(self._state[nulls])
        present = self._bits(bits, self.rows) if missing else None
        contents = self._cut(ends + 1, int(self._state[size]))
        return pa.Array.from_buffers(
            pa.binary(), self.rows, [present, self._cut(ends, self.rows + 1), contents], missing
        )

    def headers(self) -> pa.Array:
        """The lists of headers."""
        ends = self._cut(layout.HEADER_ENDS, self.rows + 1)
        keys, escaped = self._header_keys(), [row for row, _ in self.escaped()]
        if escaped:
            keys = escaped_keys(keys, np.frombuffer(ends, np.int32), escaped)
        pairs = pa.Array.from_buffers(
            HEADERS.value_type, len(keys), [None], 0, children=[keys, self._header_values(len(keys))]
        )
        return pa.Array.from_buffers(HEADERS, self.rows, [None, ends], 0, children=[pairs])

    def _header_keys(self) -> pa.Array:
        count = int(self._state[layout.HEADERS])
        contents = self._cut(layout.HEADER_KEYS, int(self._state[layout.HEADER_KEY_BYTES]))
        return pa.Array.from_buffers(
            pa.string(), count, [None, self._cut(layout.HEADER_KEY_ENDS, count + 1), contents], 0
        )

    def _header_values(self, count: int) -> pa.Array:
        contents = self._cut(layout.HEADER_VALUES, int(self._state[layout.HEADER_VALUE_BYTES]))
        ends, present = self._cut(layout.HEADER_VALUE_ENDS, count + 1), self._bits(layout.HEADER_VALUE_BITS, count)
        return pa.Array.from_buffers(pa.binary(), count, [present, ends, contents])

    def _bits(self, slot: int, length: int) -> pa.Buffer:
        return self._cut(slot, (length + 7) >> 3)

    def _cut(self, slot: int, size: int) -> pa.Buffer:
        items = size * self._set.buffers[slot].itemsize
        return pa.foreign_buffer(self._set.addresses[slot], items, base=self._lease)


def escaped_keys(keys: pa.Array, ends: _Numbers, rows: Sequence[int]) -> pa.Array:
    """The header keys, with all those of some rows escaped; the headers of a row end at `ends[row + 1]`."""
    pieces, done = [], 0
    for row in rows:
        first, last = int(ends[row]), int(ends[row + 1])
        raw = keys.slice(first, last - first).view(pa.binary()).to_pylist()
        pieces += [keys.slice(done, first - done), pa.array(map(escape, raw), pa.string())]
        done = last
    return pa.concat_arrays([*pieces, keys.slice(done)])


def escape(raw: bytes) -> str:
    r"""Bytes as text: bytes that are not UTF-8 as in `\xff`, backslashes doubled, so that it can be undone."""
    return raw.replace(b"\\", b"\\\\").decode("utf-8", "backslashreplace")


def _repeated(type_: pa.DataType, entries: Table, values: _Numbers) -> pa.Array:
    """Each batch's integer for all its records, null where it is -1."""
    return _array(type_, _spread(values.astype(f"i{type_.bit_width // 8}"), entries[:, layout.ROWS]))


def _spread(values: _Numbers, rows: _Numbers) -> _Numbers:
    if len(values) and (values == values[0]).all():
        return np.full(rows.sum(), values[0])
    return np.repeat(values, rows)


def _array(type_: pa.DataType, values: _Numbers) -> pa.Array:
    nulls = int(np.count_nonzero(values == NONE))
    present = pa.py_buffer(np.packbits(values != NONE, bitorder="little")) if nulls else None
    return pa.Array.from_buffers(type_, len(values), [present, pa.py_buffer(values)], nulls)


def _flags(entries: Table, values: _Numbers) -> pa.Array:
    """Each batch's 1 or 0 for all its records, null where it is -1."""
    spread = _spread(values.astype(np.int8), entries[:, layout.ROWS])
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


# For each column: slots of the state, the items of the buffers there, and how many items so many rows and bytes may need.
_BUFFERS: dict[str, tuple[tuple[int, type, Callable[[int, int], int]], ...]] = {
    "offset": ((layout.OFFSETS, np.int64, _rows),),
    "timestamp": ((layout.TIMESTAMPS, np.int64, _rows), (layout.TIMESTAMP_BITS, np.uint8, _row_bits)),
    "timestamp_ms": ((layout.TIMESTAMPS_MS, np.int64, _rows),),
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
        (layout.ESCAPED_ROWS, np.int64, _pairs),
    ),
}

_ARRAYS: dict[str, Callable[[Buffers, Table], pa.Array]] = {
    "offset": lambda buffers, _: buffers.numbers(pa.int64(), layout.OFFSETS),
    "timestamp": lambda buffers, _: buffers.numbers(
        TIMESTAMP, layout.TIMESTAMPS, layout.TIMESTAMP_BITS, layout.NULL_TIMESTAMPS
    ),
    "timestamp_ms": lambda buffers, _: buffers.numbers(pa.int64(), layout.TIMESTAMPS_MS),
    "timestamp_type": lambda _, entries: _repeated(pa.int32(), entries, entries[:, layout.ATTRIBUTES] >> 3 & 1),
    "key": lambda buffers, _: buffers.binary(layout.KEY_ENDS, layout.KEY_BYTES, layout.KEY_BITS, layout.NULL_KEYS),
    "value": lambda buffers, _: buffers.binary(
        layout.VALUE_ENDS, layout.VALUE_BYTES, layout.VALUE_BITS, layout.NULL_VALUES
    ),
    "headers": lambda buffers, _: buffers.headers(),
    "leader_epoch": lambda _, entries: _repeated(pa.int32(), entries, entries[:, layout.LEADER_EPOCH]),
    "producer_id": lambda _, entries: _repeated(pa.int64(), entries, entries[:, layout.PRODUCER_ID]),
    "producer_epoch": lambda _, entries: _repeated(pa.int32(), entries, entries[:, layout.PRODUCER_EPOCH]),
    "is_transactional": lambda _, entries: _flags(entries, entries[:, layout.ATTRIBUTES] >> 4 & 1),
    "is_aborted": lambda _, entries: _flags(entries, entries[:, layout.IS_ABORTED]),
}
