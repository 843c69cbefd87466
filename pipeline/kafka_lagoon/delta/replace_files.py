"""Replaces files of a table by new ones in one commit. New files that no version of the table names are deleted."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import date

from kafka_lagoon.clock import Clock
from kafka_lagoon.delta.files import DataFile, LiveFile
from kafka_lagoon.delta.kernel import Conflict, State
from kafka_lagoon.delta.warehouse import COMMIT_LOCK_WAIT_MS, Warehouse
from kafka_lagoon.errors import LockHeld, TableError
from kafka_lagoon.frozen import frozen
from kafka_lagoon.tables.table import Table

ATTEMPTS = 5

Files = Mapping[date, Sequence[DataFile]]


@frozen
class Replacement:
    """New files by day, which are written already, and the files that they replace: `old` finds them in a version of the table.

    `old` is None for a version that has not all of them. With `rows_go` the old files have rows that go with them, with
    `rows_come` the new ones have rows that come with them.
    """

    old: Callable[[State], Sequence[LiveFile] | None]
    new: Files
    rows_go: bool = False
    rows_come: bool = False


def replace_files(warehouse: Warehouse, table: Table, replacement: Replacement, clock: Clock) -> bool:
    """Commit a replacement; False if that is not possible: old files are gone, or others commit each time.

    The lock on commits is held meanwhile. TableError or LockHeld if it fails. An object store may still carry out the request
    of a commit that failed, and the commit names the new files: there they stay.
    """
    try:
        with warehouse.exclusively("commit", clock, COMMIT_LOCK_WAIT_MS):
            is_committed = _commit(warehouse, table, replacement, clock)
    except (TableError, LockHeld):
        if warehouse.kernel.storage.local(warehouse.locations[table.name]) is not None:
            with suppress(TableError):
                if not _is_there(warehouse, table, warehouse.state(table.name), replacement.new):
                    _delete(warehouse, replacement.new)
        raise
    if not is_committed:
        _delete(warehouse, replacement.new)
    return is_committed


def _commit(warehouse: Warehouse, table: Table, replacement: Replacement, clock: Clock) -> bool:
    new, changes = replacement.new, {"rows_go": replacement.rows_go, "rows_come": replacement.rows_come}
    state = warehouse.state_to_read(table)
    for _ in range(ATTEMPTS):
        old = replacement.old(state)
        if old is None:
            return False
        try:
            version = warehouse.kernel.replace(state, old, new, clock.now_ms(), **changes)
        except Conflict:  # of others, where no lock is possible, or our own commit, whose answer was lost
            # Others may have added columns, or features that our files do not support: that is an error.
            state = warehouse.state_to_read(table)
            if _is_there(warehouse, table, state, new):
                return True
            continue
        if warehouse.kernel.added(warehouse.locations[table.name], version) != _urls(new):
            raise TableError(
                f"version {version} of table {table.name} is not what was committed: does its log store keep writers apart?"
            )
        return True
    return False


def _is_there(warehouse: Warehouse, table: Table, state: State, files: Files) -> bool:
    """True if a version of the table has these files; False if there are none."""
    if not any(files.values()):
        return False
    wanted = {table.partition_by: next(iter(files))} if len(files) == 1 else {}
    there = {file.url(warehouse.locations[table.name]) for file in warehouse.kernel.live_files(state, wanted)}
    return there.issuperset(_urls(files))


def _urls(files: Files) -> list[str]:
    return [file.url for of_day in files.values() for file in of_day]


def _delete(warehouse: Warehouse, files: Files) -> None:
    for url in _urls(files):
        warehouse.kernel.storage.delete(url)
