"""Pauses Python's garbage collector while many objects are made.

A snapshot makes hundreds of thousands of objects without one cycle; a collector that walks all of them repeatedly takes a third
of the time (tests/bench). That would begin once it is on again, so the objects become old ones before: those are walked seldom.
"""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def gc_paused() -> Iterator[None]:
    """Switch the collector off for the block and on again after it; does nothing where it is off already."""
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        if not gc.get_freeze_count():  # what others have frozen stays frozen
            gc.freeze()
            gc.unfreeze()  # into the oldest generation, without a walk
        gc.enable()
