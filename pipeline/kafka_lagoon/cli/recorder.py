"""Opens table admin_actions in the background, while a cluster is read and a plan is confirmed."""

from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import ExitStack, contextmanager
from threading import Thread
from typing import TYPE_CHECKING, Self

from kafka_lagoon.apply.recording import NoRecorder, Recorder
from kafka_lagoon.cli.terminal import warn
from kafka_lagoon.clock import Clock

if TYPE_CHECKING:
    from kafka_lagoon.delta.warehouse import Warehouse
    from kafka_lagoon.settings import Settings

_NOT_RECORDED = (
    "the settings name no warehouse: nothing is recorded in table admin_actions, and no lock prevents "
    "two runs from altering a cluster at the same time"
)

LOCK_WAIT_MS = 5_000  # longer than a verb takes; a changed cluster is detected before anything is sent


class OpeningRecorder:
    """Opens the recorder of a job in a thread, which `begin` starts; use as a context manager."""

    def __init__(self, job: str, settings: "Settings | None", clock: Clock) -> None:
        has_tables = settings and (settings.warehouse or settings.catalog)
        self.job, self._settings, self._clock = job, settings if has_tables else None, clock
        self._stack = ExitStack()
        self._thread: Thread | None = None
        self._warehouse: Future[Warehouse] = Future()
        self._has_warned = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Wait for the thread: if it holds Python's global lock when the process ends, the process may crash."""
        if self._thread:
            self._thread.join()
        self._stack.close()

    def check(self) -> None:
        """Refuse a warehouse that does not exist, before anything is planned; ConfigError says how it is created."""
        if self._settings:
            from kafka_lagoon.cli.file_modes import check_creation  # noqa: PLC0415  pydantic

            check_creation(self._settings)

    def begin(self) -> None:
        """Open the warehouse in the background if that needs no Spark session; warn if there is no warehouse."""
        if not self._settings:
            self._warn()
        if self._thread or not self._settings:
            return
        from kafka_lagoon.warehouse_settings import opens_without_session  # noqa: PLC0415  pydantic

        if opens_without_session(self._settings):
            self._thread = Thread(target=self._open, args=(self._settings,), daemon=True)
            self._thread.start()

    def _warn(self) -> None:
        """Warn once, before a plan is confirmed, that nothing is recorded."""
        if not self._has_warned:
            warn(_NOT_RECORDED)
        self._has_warned = True

    def _open(self, settings: "Settings") -> None:
        try:
            from kafka_lagoon.delta.admin_actions import warehouse_for_actions  # noqa: PLC0415  0.6 s

            opened = warehouse_for_actions(settings, self._clock, self.job)
            self._warehouse.set_result(self._stack.enter_context(opened))
        except BaseException as error:  # noqa: BLE001  raised again when the recorder is requested
            self._warehouse.set_exception(error)

    @contextmanager
    def opened(self, cluster_id: str) -> Iterator[Recorder]:
        """Return the recorder, with the lock on alterations of a cluster. The lock is on the cluster's id, not on its name.

        Raises LockHeld if another run holds the lock; ConfigError or TableError if the warehouse cannot be written.
        """
        if self._settings is None:
            self._warn()
            yield NoRecorder()
            return
        if self._thread is None:
            self._open(self._settings)
        from kafka_lagoon.delta.admin_actions import recording  # noqa: PLC0415

        with recording(self._warehouse.result(), cluster_id, self._clock, LOCK_WAIT_MS) as recorder:
            yield recorder
