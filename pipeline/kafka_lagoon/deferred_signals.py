"""Lets Ctrl-C, SIGTERM and SIGHUP wait for the end of a block: a process that starts in it is never left without an owner.

Python runs a handler between any two steps of `subprocess.Popen`, also when the process has begun and nobody knows its id.
"""

import signal
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from threading import current_thread, main_thread

_DEFERRED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextmanager
def deferred_signals(blocked: Collection[signal.Signals] = ()) -> Iterator[None]:
    """Call the handlers of signals that come in the block when it has ended; they are the same after the block as before.

    A process that ignores SIGINT, as shells start their background processes, ignores it in the block, too; SIGTERM and
    SIGHUP end a process without a handler at once. Signals in `blocked` are blocked in processes that start in the block.
    """
    if current_thread() is not main_thread():  # only the main thread may set handlers, and a signal interrupts no other
        yield
        return
    was_sent: list[signal.Signals] = []

    def note(number: int, _: object) -> None:
        was_sent.append(signal.Signals(number))
        if number == signal.SIGTERM:
            signal.signal(number, signal.SIG_DFL)  # a second one ends the process, also if the block hangs

    before = {number: signal.getsignal(number) for number in _DEFERRED}
    handlers = {number: handler for number, handler in before.items() if callable(handler)}
    for number in handlers:
        signal.signal(number, note)
    signal.pthread_sigmask(signal.SIG_BLOCK, blocked)
    try:
        yield
    finally:
        # A handler that was set in the block would run as soon as its signal is unblocked.
        for number, handler in before.items():
            signal.signal(number, note if number in handlers else handler)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, blocked)
        for number, handler in handlers.items():
            signal.signal(number, handler)
        # Ctrl-C is also why the block may have failed: spark-submit's JVM ends by it.
        if was_sent:
            handlers[was_sent[0]](was_sent[0], None)
