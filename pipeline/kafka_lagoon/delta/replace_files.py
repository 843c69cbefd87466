"""Replaces files of a table by new ones in one commit. New files that no version of the table names are deleted."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import date

from kafka_lagoon.clock import Clock
from kafka_lagoon.delta.files import DataFile, LiveFile
from kafka_lagoon.delta.kernel import State
from kafka_lagoon.delta.kernel_errors import Conflict
from kafka_lagoon.delta.log_files import added_files
from kafka_lagoon.delta.warehouse import COMMIT_LOCK_WAIT_MS, Warehouse
from kafka_lagoon.errors import LockHeld, TableError
from kafka_lagoon.frozen import frozen
from kafka_lagoon.tables.table import Table

ATTEMPTS = 5

Files = Mapping[date, Sequence[DataFile]]


@frozen
class Replacement:
    """New files by day, already written, and the files that they replace.

    `old` returns the old files of a version of the table, None if the version does not have all of them. `removes_rows` is
    true if the old files have rows that the new ones do not have, `adds_rows` if the new ones have rows that the old ones do
    not have.
    """

    old: Callable[[State], Sequence[LiveFile] | None]
    new: Files
    removes_rows: bool = False
    adds_rows: bool = False


def replace_files(warehouse: Warehouse, table: Table, replacement: Replacement, clock: Clock) -> bool:
    """Commit a replacement under the lock on commits. False if old files are gone, or if others commit during each attempt.

    TableError or LockHeld if it fails. The new files of a failed commit are deleted, but not on an object store: it may still
    carry out the request of the commit, which names them.
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
    new, changes = replacement.new, {"removes_rows": replacement.removes_rows, "adds_rows": replacement.adds_rows}
    state = warehouse.state_to_read(table)
    for _ in range(ATTEMPTS):
        old = replacement.old(state)
        if old is None:
            return False
        try:
            version = warehouse.kernel.replace(state, old, new, clock.now_ms(), **changes)
        except Conflict:  # a commit of others where no lock is possible, or our own, whose answer was lost
            # SchemaChanged if others have added columns or features that our files do not support.
            state = warehouse.state_to_read(table)
            if _is_there(warehouse, table, state, new):
                return True
            continue
        if added_files(warehouse.kernel.storage, warehouse.locations[table.name], version) != _urls(new):
            raise TableError(
                f"version {version} of table {table.name} is not what was committed: does its log store keep writers apart?"
            )
        return True
    return False


def _is_there(warehouse: Warehouse, table: Table, state: State, files: Files) -> bool:
    """True if a version of the table has these files; False for no files."""
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
