"""A byte stream in, frames out: everything between two length prefixes.

Guards one rule: no length is believed beyond the limit, and the first bytes of another protocol are named as such.
"""

import struct

from pipeline.errors import FrameTooLarge

_PREFIX = struct.Struct(">i")


class FrameBuffer:
    """Collects what arrives and hands out whole frames, without their length prefixes.

    `limit` is the largest frame in bytes. It must hold the largest legal batch: brokers send a batch whole, whatever
    limits the request names (KIP-74).
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._bytes = bytearray()

    def feed(self, received: bytes | bytearray | memoryview) -> None:
        """Append bytes as they came from the peer."""
        self._bytes += received

    def missing(self) -> int:
        """How many bytes the next frame still lacks, 0 when it is whole; FrameTooLarge beyond the limit."""
        if len(self._bytes) < _PREFIX.size:
            return _PREFIX.size - len(self._bytes)
        size: int = _PREFIX.unpack_from(self._bytes)[0]
        if not 0 <= size <= self._limit:
            raise FrameTooLarge(size, self._limit, _other_protocol(bytes(self._bytes[:5])))
        return max(0, _PREFIX.size + size - len(self._bytes))

    def take(self) -> bytes | None:
        """The next whole frame, or None while bytes of it are missing."""
        if self.missing():
            return None
        end = _PREFIX.size + _PREFIX.unpack_from(self._bytes)[0]
        with memoryview(self._bytes) as view:
            frame = bytes(view[_PREFIX.size : end])
        del self._bytes[:end]
        return frame


def _other_protocol(start: bytes) -> str | None:
    """What speaks in the first bytes of a connection, if it is known not to be Kafka."""
    if start[:1] in b"\x14\x15\x16" and start[1:2] == b"\x03":
        return "TLS"
    if start[:4] == b"HTTP":
        return "HTTP"
    if start[:4] == b"SSH-":
        return "SSH"
    return None
