"""Holds Ctrl-C, SIGTERM and SIGHUP back while a JVM starts, and keeps Ctrl-C from JVMs: they are needed to end a run in order.

A terminal sends Ctrl-C to every process, SIGTERM reaches only the one that a scheduler has started.
"""

import logging
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from threading import current_thread, main_thread

from py4j.protocol import Py4JNetworkError

_HELD_BACK = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_CTRL_C = {signal.SIGINT}
_LOGGERS_OF_PY4J = (None, "py4j.clientserver", "py4j.java_gateway")  # it logs calls with the root logger


@contextmanager
def held_back() -> Iterator[None]:
    """Hold signals back until the block ends, then call their handlers, which are the same after the block as before.

    A process that ignores SIGINT, as shells start their background processes, ignores it in the block, too; SIGTERM and
    SIGHUP end a process without a handler at once.

    A JVM that is interrupted while it starts may stay behind. Processes that start in the block inherit a blocked SIGINT, so
    Spark's Python workers never see it, and none of them fails before the driver is interrupted. From then on py4j does not
    log a traceback when a handler interrupts a call of Java or the JVM has ended, because the call raises an exception anyway,
    nor when it cannot cancel the call that was interrupted.
    """
    for name in _LOGGERS_OF_PY4J:
        logging.getLogger(name).addFilter(_is_not_raised)
    if current_thread() is not main_thread():  # only the main thread may set handlers, and a signal interrupts no other
        yield
        return
    was_sent: list[signal.Signals] = []

    def note(number: int, _: object) -> None:
        was_sent.append(signal.Signals(number))
        if number == signal.SIGTERM:
            signal.signal(number, signal.SIG_DFL)  # a second one ends the process, also if the block hangs

    before = {number: signal.getsignal(number) for number in _HELD_BACK}
    handlers = {number: handler for number, handler in before.items() if callable(handler)}
    for number in handlers:
        signal.signal(number, note)
    signal.pthread_sigmask(signal.SIG_BLOCK, _CTRL_C)
    try:
        yield
    finally:
        # A handler that was set in the block would run as soon as Ctrl-C is unblocked.
        for number, handler in before.items():
            signal.signal(number, note if number in handlers else handler)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _CTRL_C)
        for number, handler in handlers.items():
            signal.signal(number, handler)
        # Ctrl-C is also why the block may have failed: spark-submit's JVM ends by it.
        if was_sent:
            handlers[was_sent[0]](was_sent[0], None)


def _is_not_raised(record: logging.LogRecord) -> bool:
    error = record.exc_info[1] if record.exc_info else None
    is_raised = isinstance(error, KeyboardInterrupt | Py4JNetworkError | ConnectionRefusedError)
    return not (is_raised or (error and isinstance(error.__context__, KeyboardInterrupt)))
