"""Reads lines from a file descriptor in bursts: all lines that can be read without waiting, up to a limit.

A line from a slow pipe is passed on at once, and a fast pipe is read in large pieces.
"""

import os
import select
from collections.abc import Iterator

from kafka_lagoon.errors import ConfigError

_READ_BYTES = 1 << 16


def bursts(descriptor: int, limit_bytes: int) -> Iterator[list[bytes]]:
    """Yield lines without their line feeds. A burst ends when the next read would wait. The last line needs no line feed.

    ConfigError if the input cannot be read: it is a folder, for example.
    """
    cut: list[bytes] = []  # the parts of a line whose end has not been read yet
    ended = False
    while not ended:
        try:
            chunk, ended = _read(descriptor, limit_bytes)
        except OSError as error:
            raise ConfigError([f"the input cannot be read: {error.strerror}"]) from error
        first, *others = chunk.split(b"\n")
        cut.append(first)
        whole = [b"".join(cut), *others[:-1]] if others else []
        cut = others[-1:] or cut
        if ended and (last := b"".join(cut)):
            whole.append(last)
        if whole:
            yield whole


def _read(descriptor: int, limit_bytes: int) -> tuple[bytes, bool]:
    """Read the available bytes, and return True beside them at the end of the input; waits only for the first byte."""
    select.select([descriptor], [], [])  # another program may have made a terminal or a socket non-blocking
    parts = [os.read(descriptor, _READ_BYTES)]
    size = len(parts[0])
    while size < limit_bytes and parts[-1] and select.select([descriptor], [], [], 0)[0]:
        parts.append(os.read(descriptor, _READ_BYTES))
        size += len(parts[-1])
    return b"".join(parts), not parts[-1]
