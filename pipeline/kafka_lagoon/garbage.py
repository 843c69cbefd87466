"""Keeps Python's garbage collector from walking objects that are no garbage.

A snapshot makes hundreds of thousands of objects without one cycle; a collector that walks all of them repeatedly takes a third
of the time (tests/bench). That would begin once it is on again, so the objects become old ones before: those are walked seldom.
On an executor, Spark's Python daemon collects after every task, and walks all that our libraries have made: 80 ms each time.
"""

import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager

_are_kept = False  # what was imported, by `modules_kept`


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
        # What is frozen stays frozen; to count it takes 12 ms where modules are.
        if not _are_kept and not gc.get_freeze_count():
            gc.freeze()
            gc.unfreeze()  # into the oldest generation, without a walk
        gc.enable()


@contextmanager
def modules_kept() -> Iterator[None]:
    """The first task of a process on an executor: afterwards what it has imported is left out of all collections.

    Everywhere else, and in later tasks, it does nothing.
    """
    global _are_kept  # noqa: PLW0603  of the process, as what it has imported is
    try:
        yield
    finally:
        if not _are_kept and "pyspark.worker" in sys.modules:  # which no driver imports
            _are_kept = True
            gc.collect()
            gc.freeze()
