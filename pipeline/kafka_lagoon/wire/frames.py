"""A byte stream in, frames out: everything between two length prefixes.

Guards one rule: no length is believed beyond the limit, memory is taken as bytes arrive and not on a length's word, and
the first bytes of another protocol are named as such.

Large frames arrive where they stay: the socket reads into the frame's own memory. That memory is used again once nobody
looks at the frame any more, because fresh pages cost more than the bytes in them (8 MB frames over loopback: 13 GB/s of one
core into used memory, 5 GB/s into fresh one).
"""

import struct
from contextlib import suppress

from kafka_lagoon.errors import FrameTooLarge

_PREFIX = struct.Struct(">i")
_SHELF_BYTES = 1 << 16  # what arrives of small frames at once
_FIRST_BYTES = 1 << 18  # memory that a large frame begins with; it doubles as bytes arrive
_SPARES = 2  # one frame is worked on while the next one arrives
_LARGEST_SPARE = 64 << 20


class FrameBuffer:
    """Collects what arrives and hands out whole frames, without their length prefixes.

    `limit` is the largest frame in bytes. It must hold the largest legal batch: brokers send a batch whole, whatever
    limits the request names (KIP-74).
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._shelf = bytearray(_SHELF_BYTES)
        self._bytes = bytearray()
        self._large: _LargeFrame | None = None
        self._spares: list[bytearray] = []

    def room(self) -> memoryview:
        """Where the next bytes are to be put, never empty; `filled` says how many were.

        FrameTooLarge for a length that is negative or beyond the limit.
        """
        missing = self.missing()
        if self._large is None and missing > _SHELF_BYTES:
            self._large = self._begin(missing)
        return self._large.room() if self._large else memoryview(self._shelf)

    def filled(self, count: int) -> None:
        """Take note of `count` bytes in the last room."""
        if self._large:
            self._large.filled += count
        else:
            self._bytes += memoryview(self._shelf)[:count]

    def feed(self, received: bytes | bytearray | memoryview) -> None:
        """Append bytes as they came from the peer, by copying them."""
        while received:
            room = self.room()
            count = min(len(room), len(received))
            room[:count] = received[:count]
            room.release()
            self.filled(count)
            received = received[count:]

    def missing(self) -> int:
        """How many bytes the next frame still lacks, 0 when it is whole; FrameTooLarge beyond the limit."""
        if self._large:
            return self._large.size - self._large.filled
        if len(self._bytes) < _PREFIX.size:
            return _PREFIX.size - len(self._bytes)
        size: int = _PREFIX.unpack_from(self._bytes)[0]
        if not 0 <= size <= self._limit:
            raise FrameTooLarge(size, self._limit, _other_protocol(bytes(self._bytes[:5])))
        return max(0, _PREFIX.size + size - len(self._bytes))

    def take(self) -> bytes | memoryview | None:
        """The next whole frame, or None while bytes of it are missing. Large ones are read-only views of our memory.

        While anything looks at that memory, the frame itself or a part of it, it is not written to again.
        """
        if self.missing():
            return None
        if self._large:
            return self._finish(self._large)
        end = _PREFIX.size + _PREFIX.unpack_from(self._bytes)[0]
        with memoryview(self._bytes) as view:
            frame = bytes(view[_PREFIX.size : end])
        del self._bytes[:end]
        return frame

    def _begin(self, missing: int) -> "_LargeFrame":
        """A frame of its own, with what is here of it already."""
        begun = self._bytes[_PREFIX.size :]
        frame = _LargeFrame(self._spare(), len(begun) + missing)
        frame.start(begun)
        self._bytes.clear()
        return frame

    def _finish(self, frame: "_LargeFrame") -> memoryview:
        self._large = None
        if len(frame.memory) <= _LARGEST_SPARE:
            self._spares = [*self._spares, frame.memory][-_SPARES:]
        return memoryview(frame.memory)[: frame.size].toreadonly()

    def _spare(self) -> bytearray:
        """Memory that nobody looks at any more, or new one."""
        for spare in self._spares:
            with suppress(BufferError):  # raised while views of it exist
                spare.append(0)
                self._spares.remove(spare)
                return spare
        return bytearray(_FIRST_BYTES)


class _LargeFrame:
    """A frame on its way into memory that grows with it."""

    def __init__(self, memory: bytearray, size: int) -> None:
        self.memory, self.size, self.filled = memory, size, 0

    def start(self, begun: bytearray) -> None:
        """Put in what came together with the length."""
        self.memory[: len(begun)] = begun
        self.filled = len(begun)

    def room(self) -> memoryview:
        """The rest of the memory, grown when it is full."""
        if self.filled == len(self.memory):
            self.memory += bytes(min(len(self.memory), self.size - self.filled))
        return memoryview(self.memory)[self.filled : self.size]


def _other_protocol(start: bytes) -> str | None:
    """What speaks in the first bytes of a connection, if it is known not to be Kafka."""
    if start[:1] in b"\x14\x15\x16" and start[1:2] == b"\x03":
        return "TLS"
    if start[:4] == b"HTTP":
        return "HTTP"
    if start[:4] == b"SSH-":
        return "SSH"
    return None
