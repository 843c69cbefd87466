"""Holds Ctrl-C, SIGTERM and SIGHUP back while a JVM starts, and keeps Ctrl-C from JVMs: they are needed to end a run in order.

A terminal sends Ctrl-C to every process, SIGTERM reaches only the one that a scheduler has started.
"""

import logging
import signal
from collections.abc import Iterator
from contextlib import contextmanager

from py4j.protocol import Py4JNetworkError

from kafka_lagoon.deferred_signals import deferred_signals

_LOGGERS_OF_PY4J = (None, "py4j.clientserver", "py4j.java_gateway")  # it logs calls with the root logger


@contextmanager
def held_back() -> Iterator[None]:
    """Hold signals back until the block ends, as `deferred_signals` does, and block Ctrl-C.

    A JVM that is interrupted while it starts may stay behind. Processes that start in the block inherit a blocked SIGINT, so
    Spark's Python workers never see it, and none of them fails before the driver is interrupted. From then on py4j does not
    log a traceback when a handler interrupts a call of Java or the JVM has ended, because the call raises an exception anyway,
    nor when it cannot cancel the call that was interrupted.
    """
    for name in _LOGGERS_OF_PY4J:
        logging.getLogger(name).addFilter(_is_not_raised)
    with deferred_signals(blocked={signal.SIGINT}):
        yield


def _is_not_raised(record: logging.LogRecord) -> bool:
    error = record.exc_info[1] if record.exc_info else None
    is_raised = isinstance(error, KeyboardInterrupt | Py4JNetworkError | ConnectionRefusedError)
    return not (is_raised or (error and isinstance(error.__context__, KeyboardInterrupt)))
