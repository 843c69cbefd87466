"""Writes the rows of table admin_actions, each write a commit of its own: what a run that dies has written stays.

Where the warehouse is a local folder or in S3 this needs no session of Spark, so that `lagoon admin` starts at once. A folder
has a lock. Elsewhere nothing keeps two runs over one cluster apart, so the commits of a run carry a transaction id: of two runs
that have read the same one only the first can say that it starts, and until it ends, or is silent for ten minutes, its odd
number tells others to wait.
"""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from datetime import date

from kafka_lagoon import log
from kafka_lagoon.clock import Clock, Deadline
from kafka_lagoon.delta.files import DataFile
from kafka_lagoon.delta.foreign_commits import CLOCKS_DIFFER_MS, commits_between
from kafka_lagoon.delta.kernel import Fence, State
from kafka_lagoon.delta.kernel_errors import Fenced
from kafka_lagoon.delta.log_files import added_files
from kafka_lagoon.delta.open_warehouse import open_warehouse
from kafka_lagoon.delta.session import session
from kafka_lagoon.delta.sessionless import without_session
from kafka_lagoon.delta.warehouse import COMMIT_LOCK_WAIT_MS, Warehouse, refuse_replaced
from kafka_lagoon.errors import ChecksFailed, LockHeld, PipelineError
from kafka_lagoon.settings import Settings
from kafka_lagoon.tables.schema import ADMIN_ACTIONS, WRITE_DATE
from kafka_lagoon.tables.write_rows import AdminActionRow
from kafka_lagoon.times import utc_day

_SILENCE_MS = 600_000  # a run that has not ended after this time is considered dead
_POLL_SECONDS = 0.5


class AdminActions:
    """Table admin_actions of a warehouse; a recorder for apply/execution.py.

    With `fence`, which is that of its first commit, no other run over the cluster can have committed since it was made.
    """

    def __init__(self, warehouse: Warehouse, clock: Clock, fence: Fence | None = None) -> None:
        self._warehouse, self._clock, self._fence = warehouse, clock, fence
        self._base: State | None = None  # with a fence: the version of the run's last commit
        self._last: int | None = None

    def write(self, rows: Sequence[AdminActionRow]) -> None:
        """Append rows in one commit, and read the commit back.

        TableError or LockHeld if that fails, or if somebody has removed rows that this run has written before.
        """
        name, kernel = ADMIN_ACTIONS.name, self._warehouse.kernel
        day = utc_day(rows[0].at_ms)
        file = self._warehouse.write_rows(ADMIN_ACTIONS, rows, day)
        version = self._commit([file], day)
        if file.url not in added_files(kernel.storage, self._warehouse.locations[name], version):
            raise ChecksFailed(f"version {version} of table {name} does not have the rows that were written to it")

    def end(self) -> None:
        """Record that the run has ended, if it has begun, so that others need not wait. A failure is only an event."""
        if self._fence and self._last is not None:
            try:
                self._commit([], utc_day(self._clock.now_ms()))
            except PipelineError as error:
                log.error("alteration_not_ended", reason=str(error))

    def _commit(self, files: Sequence[DataFile], day: date) -> int:
        """Commit files, or the end of the run, after examining what was committed since the run's last commit."""
        name, kernel = ADMIN_ACTIONS.name, self._warehouse.kernel
        before = self._base or self._warehouse.base(name)
        fence = self._fence if files or self._fence is None else Fence(self._fence.app_id, self._fence.version - 1)
        with self._warehouse.exclusively("commit", self._clock, COMMIT_LOCK_WAIT_MS):
            try:
                version = kernel.append(before, files, (WRITE_DATE, day), fence=fence)
            except Fenced as error:
                version = self._version_with(files, before)  # where the answer to our commit was lost
                if not version:
                    for file in files:
                        kernel.storage.delete(file.url)
                    raise LockHeld(f"alterations of the cluster ({name})", "it began in the meantime") from error
        if self._last is not None:
            refuse_replaced(self._warehouse, ADMIN_ACTIONS, self._last)
        self._last = version
        if self._fence:
            self._base = kernel.load(before.location, version)
            self._fence = Fence(self._fence.app_id, self._fence.version + 2)
        return version

    def _version_with(self, files: Sequence[DataFile], before: State) -> int:
        """The version after `before` that added these files, 0 if none did."""
        kernel, urls = self._warehouse.kernel, [file.url for file in files]
        newest = self._warehouse.state(ADMIN_ACTIONS.name).version
        versions = range(newest, before.version, -1)
        return next((one for one in versions if urls and added_files(kernel.storage, before.location, one) == urls), 0)


@contextmanager
def recording(
    warehouse: Warehouse, cluster_id: str, clock: Clock, wait_ms: int = 0, fence: Fence | None = None
) -> Iterator[AdminActions]:
    """Hold the lock on alterations of a cluster, and yield the table of actions.

    LockHeld if another run holds it for longer than `wait_ms` milliseconds. With `fence`, the first write also raises it if
    another run has begun since that was made.
    """
    if warehouse.has_locks:
        with warehouse.exclusively(f"alter-{cluster_id}", clock, wait_ms):
            yield AdminActions(warehouse, clock)
        return
    recorder = AdminActions(warehouse, clock, fence or _fence(warehouse, cluster_id, clock, wait_ms))
    try:
        yield recorder
    finally:
        recorder.end()


def fence_of_now(warehouse: Warehouse, cluster_id: str, clock: Clock, wait_ms: int = 0) -> Fence | None:
    """The fence of a run that reads a cluster now and alters it later; None where a lock keeps runs apart.

    LockHeld if another run alters it for longer than `wait_ms` milliseconds.
    """
    return None if warehouse.has_locks else _fence(warehouse, cluster_id, clock, wait_ms)


def is_passed(warehouse: Warehouse, fence: Fence) -> bool:
    """True if a run has altered the cluster since the fence was made."""
    last = warehouse.kernel.last_transaction(warehouse.state(ADMIN_ACTIONS.name), fence.app_id)
    return last is not None and last >= fence.version


def _fence(warehouse: Warehouse, cluster_id: str, clock: Clock, wait_ms: int) -> Fence:
    """The transaction id of a run's first commit: odd, above the last. LockHeld if another run has not ended."""
    app_id, deadline = f"lagoon/alter/{cluster_id}", Deadline.after(clock, wait_ms)
    while True:
        state = warehouse.state(ADMIN_ACTIONS.name)
        last = warehouse.kernel.last_transaction(state, app_id) or 0
        if last % 2 == 0 or _is_silent(warehouse, state, app_id, clock):
            warehouse.opened[ADMIN_ACTIONS.name] = state
            return Fence(app_id, last + 1 + last % 2)
        if not deadline.pause(_POLL_SECONDS):
            minutes = _SILENCE_MS // 60_000
            holder = (
                f"its last commit is less than {minutes} minutes old; if it has died, it counts as ended after that"
            )
            raise LockHeld(f"alterations of cluster {cluster_id}", holder)


def _is_silent(warehouse: Warehouse, state: State, app_id: str, clock: Clock) -> bool:
    """True if the last commit under a transaction id is old, or no longer in the log, which keeps commits for days."""
    since_ms = clock.now_ms() - _SILENCE_MS
    storage = warehouse.kernel.storage
    for version in range(state.version, 0, -1):
        (commit,) = commits_between(storage, state.location, version - 1, version)
        if app_id in commit.transactions:
            return commit.at_ms < since_ms
        if commit.is_before(since_ms - CLOCKS_DIFFER_MS):  # and so are all that precede it
            return True
    return True


@contextmanager
def warehouse_for_actions(settings: Settings, clock: Clock, job: str) -> Iterator[Warehouse]:
    """Open the warehouse of the settings for rows of admin_actions.

    A local folder, or one in S3, is opened without a session, unless the platform has settings of its own. Errors are those of
    `open_warehouse`.
    """
    with ExitStack() as stack:
        folder = without_session(stack, settings, clock, (ADMIN_ACTIONS,))
        yield folder or open_warehouse(session(f"lagoon {job}", settings.warehouse), settings, clock)
