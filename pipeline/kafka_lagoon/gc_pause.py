"""The cycle collector, paused while many objects are made.

Guards one rule: it is on again afterwards. A snapshot makes hundreds of thousands of objects without one cycle, and a collector
that walks them all again and again takes a third of the time (tests/bench).
"""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def gc_paused() -> Iterator[None]:
    """No cycle collection meanwhile; within another pause, and where it is switched off anyway, nothing changes."""
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
