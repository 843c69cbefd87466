"""Removes the rows of a run from the tables when another run has published in between.

No view shows them, so rows that cannot be removed stay invisible. The files themselves stay until maintenance, for readers of
the versions that name them. The commits have dataChange = false, because streams stop at commits that remove data. A stream may
have read the rows before; table `snapshots` does not have their snapshot_id.
"""

from collections.abc import Mapping
from contextlib import suppress

from kafka_lagoon.clock import Clock
from kafka_lagoon.delta.kernel_errors import Conflict
from kafka_lagoon.delta.warehouse import COMMIT_LOCK_WAIT_MS, Warehouse
from kafka_lagoon.errors import LockHeld, TableError

_ATTEMPTS = 5


def withdraw(warehouse: Warehouse, urls: Mapping[str, str], clock: Clock) -> None:
    """Remove one file of each table from the table's latest version."""
    for table, url in urls.items():
        with suppress(TableError, LockHeld), warehouse.exclusively("commit", clock, COMMIT_LOCK_WAIT_MS):
            _remove(warehouse, table, url, clock)


def _remove(warehouse: Warehouse, table: str, url: str, clock: Clock) -> None:
    path = url.removeprefix(f"{warehouse.locations[table]}/")
    for _ in range(_ATTEMPTS):
        state = warehouse.state(table)
        named = [file for file in warehouse.kernel.live_files(state) if file.path == path]
        if not named:  # maintenance has joined it with other files
            return
        with suppress(Conflict):
            warehouse.kernel.replace(state, named, {}, clock.now_ms())
            return
