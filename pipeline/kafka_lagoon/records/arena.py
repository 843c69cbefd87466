"""Decompresses records into memory that is used again.

No batch expands beyond its limit, and the memory that a task keeps does not grow with the records it has read. Decompressed
records are decoded while they are in the processor's cache, so smaller portions are faster.
"""

import numpy as np

from kafka_lagoon.errors import ExpandedTooLarge
from kafka_lagoon.records.codecs import TargetTooSmall, decompress_into

_USUAL_SIZE = 1 << 20
_KEPT_SIZE = 8 << 20  # a larger arena was needed for one exceptional batch and is not kept
_MIN_ROOM = 1 << 17

_spare: list["Arena"] = []


class Arena:
    """Memory for plain records; it is filled, decoded and filled again."""

    def __init__(self) -> None:
        self._allocate(_USUAL_SIZE)
        self._filled = 0
        self._largest = _MIN_ROOM

    @property
    def size(self) -> int:
        """Its size in bytes."""
        return len(self._view)

    def clear(self) -> None:
        """Fill it from the start again; its content must have been decoded."""
        self._filled = 0

    def expand(self, codec: int, source: memoryview, limit: int) -> tuple[int, int] | None:
        """The addresses between which the plain records lie; None if it must be cleared first.

        Raises a RecordsError for corrupt data and for more than `limit` bytes.
        """
        while self._filled == 0 or len(self._view) - self._filled >= self._largest:
            room = self._view[self._filled : self._filled + limit]
            try:
                size = decompress_into(codec, source, room)
            except TargetTooSmall as error:
                if len(room) == limit or error.at_least > limit:
                    raise ExpandedTooLarge("expands beyond the limit", f"{limit} bytes") from error
                if self._filled:
                    return None
                self._allocate(min(limit, max(2 * len(self._view), error.at_least)))
            else:
                start = self._address + self._filled
                self._filled += size
                self._largest = max(self._largest, size)
                return start, start + size
        return None

    def _allocate(self, size: int) -> None:
        memory = np.empty(size, np.uint8)
        self._view, self._address = memory.data, memory.ctypes.data


def take() -> Arena:
    """An arena for the caller alone, until it is given back."""
    try:
        return _spare.pop()
    except IndexError:
        return Arena()


def give_back(arena: Arena) -> None:
    """Keep an arena for the next caller."""
    arena.clear()
    if arena.size <= _KEPT_SIZE:
        _spare.append(arena)
