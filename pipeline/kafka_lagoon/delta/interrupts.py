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
    """Hold Ctrl-C back until the block ends, and then raise it. What handles it afterwards is what handled it before.

    A JVM that is interrupted while it starts may stay behind. Processes that start in the block inherit that SIGINT is blocked:
    Spark's Python workers never see it, so none of them fails before the driver has heard of it. From the block on, py4j does
    not log, with a traceback, that Ctrl-C interrupted a call of Java, or that its JVM has ended: the call raises both.
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
        signal.signal(
            signal.SIGINT, note
        )  # a handler that was set in the block would run as soon as Ctrl-C is unblocked
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _CTRL_C)
        signal.signal(signal.SIGINT, handler)
        if was_sent:  # it is also why the block may have failed: spark-submit's JVM ends by Ctrl-C
            raise KeyboardInterrupt


def _is_not_raised(record: logging.LogRecord) -> bool:
    return not (record.exc_info and record.exc_info[0] in {KeyboardInterrupt, Py4JNetworkError})
