"""Lets a test see files as a user sees them: file modes bind this thread, even if it is root's."""

import ctypes
import os
from collections.abc import Iterator
from contextlib import contextmanager

_VERSION_3 = 0x20080522  # of capget(2): two sets of three words
_OVERRIDES = 0b1110  # CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH, CAP_FOWNER


@contextmanager
def modes_bind() -> Iterator[None]:
    """Inside this block the calling thread, and threads that it starts, cannot open what file modes forbid."""
    if os.geteuid() != 0:
        yield
        return
    libc, header, sets = ctypes.CDLL(None), (ctypes.c_uint32 * 2)(_VERSION_3, 0), (ctypes.c_uint32 * 6)()
    assert libc.capget(header, sets) == 0
    effective = sets[0]
    sets[0] = effective & ~_OVERRIDES
    assert libc.capset(header, sets) == 0
    try:
        yield
    finally:
        sets[0] = effective
        assert libc.capset(header, sets) == 0
