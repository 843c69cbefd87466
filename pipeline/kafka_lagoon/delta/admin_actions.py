"""Writes the rows of table admin_actions, each write a commit of its own: what a run that dies has written stays.

Where the warehouse is a local folder this needs no session of Spark, so that `lagoon admin` starts at once.
"""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime

from kafka_lagoon.apply.action_rows import AdminActionRow
from kafka_lagoon.clock import Clock
from kafka_lagoon.delta.schema import ADMIN_ACTIONS, WRITE_DATE
from kafka_lagoon.delta.session import session
from kafka_lagoon.delta.sessionless import without_session
from kafka_lagoon.delta.warehouse import COMMIT_LOCK_WAIT_MS, Warehouse, open_warehouse
from kafka_lagoon.errors import ChecksFailed
from kafka_lagoon.settings import Settings


class AdminActions:
    """Table admin_actions of a warehouse; a recorder for apply/execution.py."""

    def __init__(self, warehouse: Warehouse, clock: Clock) -> None:
        self._warehouse, self._clock = warehouse, clock

    def write(self, rows: Sequence[AdminActionRow]) -> None:
        """Append rows in one commit, and read the commit back; TableError or LockHeld if that fails."""
        name, kernel = ADMIN_ACTIONS.name, self._warehouse.kernel
        location = self._warehouse.locations[name]
        day = datetime.fromtimestamp(rows[0].at_ms / 1000, UTC).date()
        file = self._warehouse.write_rows(ADMIN_ACTIONS, rows, day)
        with self._warehouse.exclusively("commit", self._clock, COMMIT_LOCK_WAIT_MS):
            version = kernel.append(self._warehouse.base(name), [file], (WRITE_DATE, day))
        if file.url not in kernel.added(location, version):
            raise ChecksFailed(f"version {version} of table {name} does not have the rows that were written to it")


@contextmanager
def recording(warehouse: Warehouse, cluster_id: str, clock: Clock, wait_ms: int = 0) -> Iterator[AdminActions]:
    """Holds the lock on alterations of a cluster, and gives the table of actions.

    LockHeld if another run has the lock for longer than `wait_ms` milliseconds.
    """
    with warehouse.exclusively(f"alter-{cluster_id}", clock, wait_ms):
        yield AdminActions(warehouse, clock)


@contextmanager
def warehouse_for_actions(settings: Settings, clock: Clock, job: str) -> Iterator[Warehouse]:
    """The warehouse of the settings, open for rows of admin_actions.

    A local folder is opened without a session, unless the platform has settings of its own. Errors are those of
    `open_warehouse`.
    """
    with ExitStack() as stack:
        folder = without_session(stack, settings, clock, (ADMIN_ACTIONS,))
        yield folder or open_warehouse(session(f"lagoon {job}"), settings, clock)
