"""Fetched bytes in, a table of the batches they hold out.

Guards one rule: what is behind the last whole batch is never guessed at. It is a batch that was cut, which the reader asks for
again, or something that is no batch.
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
_LENGTH_AT, _OVERHEAD, _MIN_LENGTH, _MAGIC_AT = 8, 12, 14, 16  # of an entry in any format


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Batches:
    """The whole batches at the front of a buffer, magic 0, 1 and 2, a line each in `table` (`layout.py` names its columns).

    `next_offset` is after the last of them, None if there is none; `needed_bytes` the size of a first batch that was
    cut, else 0; `broken_at` where there is something that is no batch. `next_base` is where the batch begins that
    follows the last of them and was cut, None if nothing tells.
    """

    data: memoryview
    memory: NDArray[np.uint8]
    table: Table
    needed_bytes: int
    broken_at: int | None
    next_base: int | None = None

    @property
    def count(self) -> int:
        """How many batches there are."""
        return len(self.table)

    @property
    def next_offset(self) -> int | None:
        """First offset behind the last batch, as its header tells it."""
        return int(self.table[-1, layout.LAST]) + 1 if len(self.table) else None

    def followed_by(self, next_base: int) -> "Batches":
        """The same, where the batch that follows the last one is known to begin at an offset."""
        table = self.table.copy()
        _bound_last(table, next_base)
        return replace(self, table=table, next_base=next_base)

    def without_last(self) -> "Batches":
        """The same without the last batch, which tells where the one before ends."""
        return replace(self, table=self.table[:-1], next_base=int(self.table[-1, layout.BASE]))

    @property
    def address(self) -> int:
        """Where the buffer is."""
        return int(self.memory.ctypes.data)


def find_batches(data: Buffer) -> Batches:
    """Find the batches in the records of a Fetch answer or in a segment file; the buffer is not copied."""
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
        _bound_entries(table)
    return Batches(
        data=view,
        memory=memory,
        table=table,
        needed_bytes=needed if not end else 0,
        broken_at=end if is_broken else None,
        next_base=next_base,
    )


def _remainder(view: memoryview, position: int) -> tuple[int, bool]:
    """The size of the batch that begins at `position` and is cut, 0 for none; and whether it can be one at all."""
    left = len(view) - position
    if left < _OVERHEAD:
        return layout.BATCH_HEADER_SIZE if left else 0, False
    (length,) = _LENGTH(view, position + _LENGTH_AT)
    return (length + _OVERHEAD, False) if length >= _MIN_LENGTH else (0, True)


def _next_base(view: memoryview, position: int) -> int | None:
    """Where a batch of the current format begins that was cut, None for others or if too little came of it."""
    if len(view) - position <= _MAGIC_AT or view[position + _MAGIC_AT] != layout.CURRENT_MAGIC:
        return None
    (base,) = _BASE(view, position)
    return int(base)


def _bound_last(table: Table, next_base: int) -> None:
    """The last batch ends before the next one begins, as the walk has it for the others; not earlier if it has more records."""
    line = table[-1]
    base, last, count = line[[layout.BASE, layout.LAST, layout.COUNT]].tolist()
    is_sound = line[layout.DISPOSITION] == layout.DECODE and line[layout.MAGIC] == layout.CURRENT_MAGIC
    is_too_large, is_too_small = base < next_base <= last, next_base > last + 1 and count > last - base + 1
    if is_sound and count <= next_base - base and (is_too_large or is_too_small):
        line[layout.LAST] = next_base - 1
        line[layout.DISPOSITION], line[layout.FAULT] = layout.UNTRUSTED, layout.BAD_LAST


def _bound_entries(table: Table) -> None:
    """Take an entry of magic 0 or 1 for corrupt if its offset is beyond those of the entries after it.

    It ends before the next one begins, which only an uncompressed one tells; another one leaves it a single offset.
    """
    ends = table[:, layout.LAST]
    for line in (np.flatnonzero(np.diff(ends) <= 0)).tolist():
        before, after, later = line - 1, line + 1, line + 2
        is_alone = (before < 0 or ends[before] < ends[after]) and (later >= len(ends) or ends[later] <= ends[line])
        if table[line, layout.DISPOSITION] != layout.LEGACY or not is_alone:
            continue
        is_plain = not table[after, layout.ATTRIBUTES] & layout.CODEC_BITS or table[after, layout.MAGIC] > 1
        told = table[after, layout.BASE] - 1 if is_plain or before < 0 else ends[before] + 1
        table[line, layout.BASE] = table[line, layout.LAST] = told
        table[line, layout.DISPOSITION], table[line, layout.FAULT] = layout.CORRUPT, layout.BAD_LAST
