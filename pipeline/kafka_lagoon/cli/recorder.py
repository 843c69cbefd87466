"""Opens table admin_actions in the background while a cluster is read and a plan is confirmed, so that nobody waits for it."""

from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import ExitStack, contextmanager
from threading import Thread
from typing import TYPE_CHECKING

from kafka_lagoon.apply.recording import NoRecorder, Recorder
from kafka_lagoon.cli.terminal import warn
from kafka_lagoon.clock import Clock

if TYPE_CHECKING:
    from kafka_lagoon.delta.warehouse import Warehouse
    from kafka_lagoon.settings import Settings

_NOT_RECORDED = "the settings name no warehouse: nothing is recorded in table admin_actions"

LOCK_WAIT_MS = 5_000  # a verb takes less; what it changes meanwhile is found before anything is sent


class OpeningRecorder:
    """The recorder of a job, which a thread opens from `begin` on."""

    def __init__(self, job: str, settings: "Settings | None", clock: Clock) -> None:
        self.job, self._settings, self._clock = job, settings, clock
        self._stack = ExitStack()
        self._warehouse: Future[Warehouse] | None = None

    def begin(self) -> None:
        """Open the warehouse that the settings name, if they name one. The thread does not keep the process alive."""
        settings = self._settings
        if self._warehouse is None and settings and (settings.warehouse or settings.catalog):
            self._warehouse = Future()
            Thread(target=self._open, args=(settings, self._warehouse), daemon=True).start()

    def _open(self, settings: "Settings", warehouse: "Future[Warehouse]") -> None:
        try:
            from kafka_lagoon.delta.admin_actions import warehouse_for_actions  # noqa: PLC0415  0.6 s

            opened = warehouse_for_actions(settings, self._clock, self.job)
            warehouse.set_result(self._stack.enter_context(opened))
        except BaseException as error:  # noqa: BLE001  raised by whoever asks for the recorder
            warehouse.set_exception(error)

    @contextmanager
    def opened(self, cluster_id: str) -> Iterator[Recorder]:
        """The recorder, with the lock on alterations of a cluster, which settings may call by several names.

        LockHeld if another run has it; ConfigError or TableError if the warehouse cannot be written.
        """
        self.begin()
        if self._warehouse is None:
            warn(_NOT_RECORDED)
            yield NoRecorder()
            return
        from kafka_lagoon.delta.admin_actions import recording  # noqa: PLC0415

        with self._stack, recording(self._warehouse.result(), cluster_id, self._clock, LOCK_WAIT_MS) as recorder:
            yield recorder
