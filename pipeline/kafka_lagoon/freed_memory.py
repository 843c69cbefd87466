"""Makes the C library give freed memory back to the system, in runs that keep millions of values for a short time."""

import ctypes
from contextlib import suppress

_M_MMAP_THRESHOLD = -3  # of malloc.h
_LARGE_BYTES = 128 << 10  # glibc's own value at the start of a process


def give_back_freed_memory() -> None:
    """Let every block of 128 KiB or more be given back when it is freed, for the rest of the process.

    After it has freed a large block, glibc takes blocks of up to 32 MiB from memory that it keeps, whose gaps grow: a snapshot
    then needs a fifth more. Other C libraries are left as they are.
    """
    with suppress(AttributeError, OSError):  # no glibc
        ctypes.CDLL(None).mallopt(_M_MMAP_THRESHOLD, _LARGE_BYTES)
