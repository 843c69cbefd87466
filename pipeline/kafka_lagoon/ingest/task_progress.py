"""Reports counts of running tasks to a driver on the same machine: Spark reports only tasks that have ended.

Each attempt of a task keeps its counts in a small file of a folder that the driver reads. Executors on other machines would
need a port of the driver for that, so there a task is counted when it has ended.
"""

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from struct import Struct
from tempfile import TemporaryDirectory, mkstemp

from kafka_lagoon.clock import Clock
from kafka_lagoon.records.decoding import Counts

Totals = tuple[int, int, int]
_COUNTS = Struct("<3q")
_WRITTEN_EVERY_S = 1.0


def totals(counts: Iterable[Counts]) -> Totals:
    """Offsets, records and fetched bytes."""
    several = list(counts)
    return (
        sum(one.offsets() for one in several),
        sum(one.records for one in several),
        sum(one.bytes_fetched for one in several),
    )


class TaskProgress:
    """Keeps the counts of one attempt of a task in a file of the folder; without a folder it does nothing.

    A disk that is full does not fail the task.
    """

    def __init__(self, folder: str | None, clock: Clock) -> None:
        self._clock, self._written_at = clock, clock.monotonic()
        self._file: int | None = None
        if folder is not None:
            with suppress(OSError):
                self._file, _ = mkstemp(dir=folder)

    def report(self, counts: Callable[[], Iterable[Counts]], *, is_last: bool = False) -> None:
        """Write the counts if the last ones are a second old, or if they are the last."""
        now = self._clock.monotonic()
        if self._file is None or not (is_last or now - self._written_at >= _WRITTEN_EVERY_S):
            return
        self._written_at = now
        with suppress(OSError):
            os.pwrite(self._file, _COUNTS.pack(*totals(counts())), 0)

    def close(self) -> None:
        """Close the file; the driver removes it with the folder."""
        if self._file is not None:
            os.close(self._file)


@contextmanager
def progress_folder(master: str) -> Iterator[str | None]:
    """Make the folder for the tasks of a run; None if its executors are on other machines than the driver.

    None also where no folder can be made: the counts are for people, and a full disk does not fail the run.
    """
    with ExitStack() as stack:
        folder = None
        if master.startswith("local"):
            with suppress(OSError):
                # Tasks that Spark has given up, or that Ctrl-C has left, may go on and make files while it is removed.
                made = TemporaryDirectory(prefix="lagoon-progress-", ignore_cleanup_errors=True)
                folder = stack.enter_context(made)
        yield folder


def totals_in(folder: str) -> Totals:
    """Add up the counts of all tasks that have begun."""
    written = [content for file in Path(folder).iterdir() if len(content := file.read_bytes()) == _COUNTS.size]
    offsets, records, size = (sum(column) for column in zip((0, 0, 0), *map(_COUNTS.unpack, written), strict=True))
    return offsets, records, size
