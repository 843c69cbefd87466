"""Reads lines from a file descriptor in bursts: whatever is there without waiting, up to a limit.

A line is passed on as soon as it is there: a slow pipe is not waited for, and a fast one is read in large pieces.
"""

import os
import select
from collections.abc import Iterator

_READ_BYTES = 1 << 16


def bursts(descriptor: int, limit_bytes: int) -> Iterator[list[bytes]]:
    """Lines without their line feed, the last one also if it has none; a burst ends when the next read would wait."""
    cut: list[bytes] = []  # the parts of a line whose end has not been read
    ended = False
    while not ended:
        chunk, ended = _read(descriptor, limit_bytes)
        first, *others = chunk.split(b"\n")
        cut.append(first)
        whole = [b"".join(cut), *others[:-1]] if others else []
        cut = others[-1:] or cut
        if ended and (last := b"".join(cut)):
            whole.append(last)
        if whole:
            yield whole


def _read(descriptor: int, limit_bytes: int) -> tuple[bytes, bool]:
    """The bytes that are there, and whether the input has ended; waits only for the first byte."""
    parts = [os.read(descriptor, _READ_BYTES)]
    size = len(parts[0])
    while size < limit_bytes and parts[-1] and select.select([descriptor], [], [], 0)[0]:
        parts.append(os.read(descriptor, _READ_BYTES))
        size += len(parts[-1])
    return b"".join(parts), not parts[-1]
