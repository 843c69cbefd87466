"""Fetched bytes in, a table of the batches they hold out.

Guards one rule: what is behind the last whole batch is never guessed at. It is a batch that was cut, which the reader asks for
again, or something that is no batch.
"""

from dataclasses import dataclass
from struct import Struct

import numpy as np
from numpy.typing import NDArray

from pipeline.records import layout
from pipeline.records.kernels import walk_batches

Buffer = bytes | bytearray | memoryview
Table = NDArray[np.int64]

_LENGTH = Struct(">i").unpack_from
_LENGTH_AT, _OVERHEAD, _MIN_LENGTH = 8, 12, 14  # of an entry in any format


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Batches:
    """The whole batches at the front of a buffer, magic 0, 1 and 2, a line each in `table` (`layout.py` names its columns).

    `next_offset` is behind the last of them, None if there is none; `needed_bytes` the size of a first batch that was
    cut, else 0; `broken_at` where there is something that is no batch.
    """

    data: memoryview
    memory: NDArray[np.uint8]
    table: Table
    needed_bytes: int
    broken_at: int | None

    @property
    def count(self) -> int:
        """How many batches there are."""
        return len(self.table)

    @property
    def next_offset(self) -> int | None:
        """First offset behind the last batch, as its header tells it."""
        return int(self.table[-1, layout.LAST]) + 1 if len(self.table) else None

    @property
    def address(self) -> int:
        """Where the buffer is."""
        return int(self.memory.ctypes.data)


def scan(data: Buffer) -> Batches:
    """Find the batches in the records of a Fetch answer or in a segment file; the buffer is not copied."""
    memory = np.frombuffer(data, np.uint8)
    address = memory.ctypes.data
    table = np.empty((walk_batches(address, len(memory), 0), layout.COLUMNS), np.int64)
    walk_batches(address, len(memory), table.ctypes.data)
    view = memoryview(data).cast("B")
    end = int(table[-1, layout.POSITION] + table[-1, layout.SIZE]) if len(table) else 0
    needed, is_broken = _remainder(view, end)
    return Batches(
        data=view,
        memory=memory,
        table=table,
        needed_bytes=needed if not end else 0,
        broken_at=end if is_broken else None,
    )


def _remainder(view: memoryview, position: int) -> tuple[int, bool]:
    """The size of the batch that begins at `position` and is cut, 0 for none; and whether it can be one at all."""
    left = len(view) - position
    if left < _OVERHEAD:
        return layout.BATCH_HEADER_SIZE if left else 0, False
    (length,) = _LENGTH(view, position + _LENGTH_AT)
    return (length + _OVERHEAD, False) if length >= _MIN_LENGTH else (0, True)
