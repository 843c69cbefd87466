"""Runs functions in threads that do not keep the process alive.

When a process ends, Python waits for the threads of every ThreadPoolExecutor, also of one that a daemon thread uses: after
Ctrl-C a run over several clusters would wait for brokers that do not answer.
"""

from collections.abc import Callable
from concurrent.futures import Executor, Future
from queue import SimpleQueue
from threading import Lock, Thread
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")


class DaemonThreads(Executor):
    """At most `most` threads, which are started when there is work for them."""

    def __init__(self, most: int, name: str) -> None:
        self._most, self._name = most, name
        self._work: SimpleQueue[tuple[Future[Any], Callable[[], Any]] | None] = SimpleQueue()
        self._threads: list[Thread] = []
        self._lock = Lock()
        self._idle = 0  # threads that wait for work
        self._is_over = False

    def submit(self, fn: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> Future[R]:
        """Call a function in one of the threads; RuntimeError after `shutdown`."""
        future: Future[R] = Future()
        with self._lock:
            if self._is_over:
                raise RuntimeError("the threads have ended")
            if self._idle:
                self._idle -= 1
            elif len(self._threads) < self._most:
                thread = Thread(target=self._run, name=f"{self._name}_{len(self._threads)}", daemon=True)
                thread.start()
                self._threads.append(thread)
            self._work.put((future, lambda: fn(*args, **kwargs)))
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:  # noqa: FBT002  of the base class
        """End the threads when all work is done, or is cancelled as far as it has not begun."""
        with self._lock:
            self._is_over = True
            while cancel_futures and not self._work.empty():
                if work := self._work.get():
                    work[0].cancel()
            for _ in self._threads:
                self._work.put(None)
        for thread in self._threads if wait else ():
            thread.join()

    def _run(self) -> None:
        while self._do_next():
            with self._lock:
                self._idle += 1

    def _do_next(self) -> bool:
        """Do the next work; False if there is none any more. A function of its own, so that no result is kept meanwhile."""
        work = self._work.get()
        if work is None:
            return False
        future, call = work
        if future.set_running_or_notify_cancel():
            try:
                future.set_result(call())
            except BaseException as error:  # noqa: BLE001  raised to whoever asks for the result
                future.set_exception(error)
            finally:
                del work, future, call  # the error refers to this frame
        return True
