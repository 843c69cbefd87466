"""The threads of a soak: readers, lanes of jobs and faults, each of which goes on until all end."""

import threading
from typing import Protocol

_ENDS_WITHIN_S = 900  # a lane ends after its job


class Looping(Protocol):
    """Something that goes on until an event is set."""

    def run(self, ends: threading.Event) -> None:
        """Go on until the event is set."""


class Threads:
    """Threads that end together; what one of them raised is raised again where they end."""

    def __init__(self) -> None:
        self.over = threading.Event()
        self._errors: list[BaseException] = []
        self._threads: list[threading.Thread] = []

    def start(self, work: Looping) -> None:
        """Run something until all end."""
        thread = threading.Thread(target=self._run, args=(work,), daemon=True)
        self._threads.append(thread)
        thread.start()

    def _run(self, work: Looping) -> None:
        try:
            work.run(self.over)
        except BaseException as error:  # noqa: BLE001  raised again where the threads end
            self._errors.append(error)
            self.over.set()

    def end(self) -> None:
        """Let all end; raise what one of them raised."""
        self.over.set()
        for thread in self._threads:
            thread.join(_ENDS_WITHIN_S)
        if self._errors:
            raise self._errors[0]
