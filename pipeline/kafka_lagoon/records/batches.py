"""Finds the batches in fetched bytes.

Bytes after the last whole batch are either a batch that was cut off, which the reader fetches again, or not a batch at all.
"""

from dataclasses import dataclass, replace
from struct import Struct

import numpy as np
from numpy.typing import NDArray

from kafka_lagoon.records import layout
from kafka_lagoon.records.kernels import walk_batches

Buffer = bytes | bytearray | memoryview
Table = NDArray[np.int64]

_LENGTH = Struct(">i").unpack_from
_BASE = Struct(">q").unpack_from
_LENGTH_AT, _OVERHEAD, _MIN_LENGTH, _MAGIC_AT = 8, 12, 14, 16  # of a batch in any format


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Batches:
    """The whole batches at the front of a buffer, magic 0, 1 and 2; `table` has an entry for each (columns: `layout.py`).

    `needed_bytes` is the size of a first batch that was cut off, else 0; `broken_at` the position of bytes that are no
    batch, or None. `next_base` is the base offset of the batch after the last one, which was cut off; None if unknown.
    """

    data: memoryview
    memory: NDArray[np.uint8]
    table: Table
    needed_bytes: int
    broken_at: int | None
    next_base: int | None = None

    @property
    def count(self) -> int:
        """Number of batches."""
        return len(self.table)

    @property
    def next_offset(self) -> int | None:
        """The offset after the last batch, by its header; None if there is no batch."""
        return int(self.table[-1, layout.LAST_OFFSET]) + 1 if len(self.table) else None

    def followed_by(self, next_base: int) -> "Batches":
        """The same batches, with the base offset of the batch that follows the last one."""
        table = self.table.copy()
        _bound_last(table, next_base)
        return replace(self, table=table, next_base=next_base)

    def without_last(self) -> "Batches":
        """The same batches without the last one, whose base offset bounds the one before it."""
        return replace(self, table=self.table[:-1], next_base=int(self.table[-1, layout.BASE_OFFSET]))

    @property
    def address(self) -> int:
        """The address of the buffer."""
        return int(self.memory.ctypes.data)


def find_batches(data: Buffer) -> Batches:
    """The batches in the records of a Fetch response or in a segment file; the buffer is not copied."""
    memory = np.frombuffer(data, np.uint8)
    address = memory.ctypes.data
    table = np.empty((walk_batches(address, len(memory), 0), layout.COLUMNS), np.int64)
    walk_batches(address, len(memory), table.ctypes.data)
    view = memoryview(data).cast("B")
    end = int(table[-1, layout.POSITION] + table[-1, layout.SIZE]) if len(table) else 0
    needed, is_broken = _remainder(view, end)
    next_base = _next_base(view, end) if len(table) and needed else None
    if next_base is not None:
        _bound_last(table, next_base)
    if (table[:, layout.MAGIC] < layout.CURRENT_MAGIC).any():
        _bound_legacy(table)
    return Batches(
        data=view,
        memory=memory,
        table=table,
        needed_bytes=needed if not end else 0,
        broken_at=end if is_broken else None,
        next_base=next_base,
    )


def _remainder(view: memoryview, position: int) -> tuple[int, bool]:
    """The size of the batch that begins at `position` and is cut off, 0 for none; and whether the bytes are no batch."""
    left = len(view) - position
    if left < _OVERHEAD:
        return layout.BATCH_HEADER_SIZE if left else 0, False
    (length,) = _LENGTH(view, position + _LENGTH_AT)
    return (length + _OVERHEAD, False) if length >= _MIN_LENGTH else (0, True)


def _next_base(view: memoryview, position: int) -> int | None:
    """The base offset of a cut off batch of the current format; None for other formats, or if too little of it is there."""
    if len(view) - position <= _MAGIC_AT or view[position + _MAGIC_AT] != layout.CURRENT_MAGIC:
        return None
    (base,) = _BASE(view, position)
    return int(base)


def _bound_last(table: Table, next_base: int) -> None:
    """Correct the last offset of the last batch by the base offset of the next one, as `walk_batches` does for the others."""
    entry = table[-1]
    base, last, count = entry[[layout.BASE_OFFSET, layout.LAST_OFFSET, layout.COUNT]].tolist()
    is_sound = entry[layout.DISPOSITION] == layout.DECODE and entry[layout.MAGIC] == layout.CURRENT_MAGIC
    is_too_large, is_too_small = base < next_base <= last, next_base > last + 1 and count > last - base + 1
    if is_sound and count <= next_base - base and (is_too_large or is_too_small):
        entry[layout.LAST_OFFSET] = next_base - 1
        entry[layout.DISPOSITION], entry[layout.FAULT] = layout.UNTRUSTED, layout.BAD_LAST


def _bound_legacy(table: Table) -> None:
    """Mark an entry of magic 0 or 1 as corrupt if its offset is larger than those of the entries after it.

    An entry ends before the next entry begins. Only an uncompressed entry tells where it begins; a compressed entry is
    assumed to have one offset.
    """
    ends = table[:, layout.LAST_OFFSET]
    for index in (np.flatnonzero(np.diff(ends) <= 0)).tolist():
        before, after, later = index - 1, index + 1, index + 2
        is_alone = (before < 0 or ends[before] < ends[after]) and (later >= len(ends) or ends[later] <= ends[index])
        if table[index, layout.DISPOSITION] != layout.LEGACY or not is_alone:
            continue
        is_plain = not table[after, layout.ATTRIBUTES] & layout.CODEC_BITS or table[after, layout.MAGIC] > 1
        offset = table[after, layout.BASE_OFFSET] - 1 if is_plain or before < 0 else ends[before] + 1
        table[index, layout.BASE_OFFSET] = table[index, layout.LAST_OFFSET] = offset
        table[index, layout.DISPOSITION], table[index, layout.FAULT] = layout.CORRUPT, layout.BAD_LAST
