"""Keeps Ctrl-C away from JVMs: a terminal sends it to every process, and the JVM is needed to end a run in order."""

import logging
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from threading import current_thread, main_thread

from py4j.protocol import Py4JNetworkError

_CTRL_C = {signal.SIGINT}


@contextmanager
def held_back() -> Iterator[None]:
    """Hold Ctrl-C back until the block ends, then raise it. The handler of SIGINT is the same after the block as before.

    A process that ignores SIGINT, as shells start their background processes, ignores it in the block, too.

    A JVM that is interrupted while it starts may stay behind. Processes that start in the block inherit a blocked SIGINT, so
    Spark's Python workers never see it, and none of them fails before the driver is interrupted. From then on py4j does not
    log a traceback when Ctrl-C interrupts a call of Java or the JVM has ended, because the call raises an exception anyway.
    """
    logging.getLogger().addFilter(_is_not_raised)
    if current_thread() is not main_thread():  # only the main thread may set handlers, and Ctrl-C interrupts no other
        yield
        return
    was_sent: list[int] = []

    def note(number: int, _: object) -> None:
        was_sent.append(number)

    handler = signal.signal(signal.SIGINT, note)
    signal.pthread_sigmask(signal.SIG_BLOCK, _CTRL_C)
    try:
        yield
    finally:
        # A handler that was set in the block would run as soon as Ctrl-C is unblocked.
        signal.signal(signal.SIGINT, note)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _CTRL_C)
        signal.signal(signal.SIGINT, handler)
        # Ctrl-C is also why the block may have failed: spark-submit's JVM ends by it.
        if was_sent and handler is not signal.SIG_IGN:
            raise KeyboardInterrupt


def _is_not_raised(record: logging.LogRecord) -> bool:
    return not (record.exc_info and record.exc_info[0] in {KeyboardInterrupt, Py4JNetworkError})
