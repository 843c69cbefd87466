"""Both ways to archive, and changes that tests make to runs and their files."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from kafka_lagoon.delta.kernel import Kernel
from kafka_lagoon.delta.storage import Storage
from kafka_lagoon.delta.warehouse import Warehouse
from kafka_lagoon.ingest import staged_commit
from kafka_lagoon.ingest.archive_lock import ArchiveLock, archive_lock
from kafka_lagoon.ingest.commit import RunOutput, commit
from tests.clock import CLOCK
from tests.delta.record_samples import CLUSTER, run
from tests.jobs.commands import rows as table_rows


class Died(BaseException):
    """Stands for the end of a process in tests with a single process."""


@dataclass(frozen=True)
class Writer:
    """A way to write: through Delta Kernel, or by Spark from staged files."""

    lock: Callable[[], AbstractContextManager[ArchiveLock]]
    commit: Callable[[ArchiveLock, RunOutput], None]


def kernel_writer(warehouse: Warehouse) -> Writer:
    """Writes through Delta Kernel."""
    return Writer(lambda: archive_lock(warehouse, CLUSTER, CLOCK), commit)


def ingest(writer: Writer, number: int, upto: int) -> None:
    """Run `number` continues at the end of the archive."""
    with writer.lock() as lock:
        known = lock.topics.get("t")
        start = known.partitions[0].next_offset if known else 0
        writer.commit(lock, run(lock, number, start, upto, problems=1))


def folder(warehouse: Warehouse) -> Path:
    """Return the folder of a warehouse."""
    return Path(warehouse.locations["records"].removeprefix("file:")).parent


def contents(warehouse: Warehouse) -> tuple[list[int], list[tuple[int, int]], list[int]]:
    """Return offsets in records, ranges, and offsets with problems, with a reader other than Spark."""

    def rows(table: str, *columns: str) -> list[tuple[int, ...]]:
        return sorted(tuple(row.values()) for row in table_rows(folder(warehouse), table, *columns))

    ranges = rows("record_ranges", "from_offset", "to_offset")
    return (
        [one[0] for one in rows("records", "offset")],
        [(one[0], one[1]) for one in ranges],
        [one[0] for one in rows("record_problems", "base_offset")],
    )


# Functions that change files, in the order in which a run calls them.
STEPS = {
    "kernel": [
        *((Storage, "write", call) for call in (1, 2, 3, 4)),
        *((Kernel, "append", call) for call in (1, 2, 3)),
        *((Storage, "delete", call) for call in (1, 2)),
    ],
    "spark": [
        (Storage, "write_whole", 1),
        (staged_commit, "_append", 1),
        (staged_commit, "_append", 3),
    ],  # each run takes 5 s with Spark
}


@contextmanager
def dies(where: object, what: str, call: int) -> Iterator[None]:
    """End the process right after the n-th call of a function."""
    calls = 0
    with pytest.MonkeyPatch.context() as patch:
        real = getattr(where, what)

        def called(*arguments: object, **named: object) -> object:
            nonlocal calls
            calls += 1
            made = real(*arguments, **named)
            if calls == call:
                raise Died
            return made

        patch.setattr(where, what, called)
        yield
    assert calls >= call, "the run never came to the point where it was to die"


def reports(writer: Writer) -> list[str]:
    """Return the reports that the next run makes for dead runs."""
    with writer.lock() as lock:
        return [report.text for report in lock.reports.values()]


def remove(tmp_path: Path, name: str) -> None:
    """Remove the files below a warehouse and its staging folder whose path matches."""
    places = list(tmp_path.rglob(name))
    assert places, name
    for place in places:
        place.unlink()


def lossy(made: RunOutput) -> RunOutput:
    """Make the run with an additional earlier range that retention removed."""
    row = replace(made.reconciled.ranges[0], lost=7, records=0, files=0, problem="LOST")
    return replace(made, reconciled=replace(made.reconciled, ranges=[row]))
