"""Keeps Python's garbage collector from walking objects that are in use.

A snapshot makes hundreds of thousands of objects without a reference cycle. A collector that walks them again and again takes a
third of the time (tests/bench). Before it is switched on again, all objects move to the oldest generation, rarely walked.
On an executor, Spark's Python daemon runs a full collection after every task and walks all imported modules: 80 ms each time.
"""

import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager

_are_kept = False  # set by `modules_kept`


@contextmanager
def gc_paused() -> Iterator[None]:
    """Switch the collector off for the block and on again after it; no effect if it is off already."""
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        # Frozen objects stay frozen; counting them takes 12 ms once modules are frozen.
        if not _are_kept and not gc.get_freeze_count():
            gc.freeze()
            gc.unfreeze()  # into the oldest generation, without a walk
        gc.enable()


@contextmanager
def modules_kept() -> Iterator[None]:
    """Run the first task of a process on an executor; later collections leave out the modules that it imported.

    It has no effect on a driver and in later tasks.
    """
    global _are_kept  # noqa: PLW0603  of the process, as what it has imported is
    try:
        yield
    finally:
        if not _are_kept and "pyspark.worker" in sys.modules:  # which no driver imports
            _are_kept = True
            gc.collect()
            gc.freeze()
