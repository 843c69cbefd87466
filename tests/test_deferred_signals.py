"""Ctrl-C, SIGTERM and SIGHUP wait for the end of a block, and are not lost."""

import os
import signal
import subprocess
from threading import Thread

import pytest

from kafka_lagoon.deferred_signals import deferred_signals

pytestmark = pytest.mark.usefixtures("ctrl_c")


def test_ctrl_c_is_raised_at_the_end_of_the_block() -> None:
    """The block runs to its end, also where other threads would get the signal; later ones interrupt at once."""
    reached = False
    waiting = Thread(target=signal.pause, daemon=True)
    waiting.start()
    with pytest.raises(KeyboardInterrupt), deferred_signals():  # noqa: PT012  the end of the block raises it
        os.kill(os.getpid(), signal.SIGINT)
        reached = True
    assert reached
    with pytest.raises(KeyboardInterrupt):
        os.kill(os.getpid(), signal.SIGINT)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_other_signals_wait_as_well(number: signal.Signals) -> None:
    """Its handler, which every command has, runs at the end of the block; without one the signal keeps its meaning."""
    reached: list[str] = []

    def terminate(sent: int, _: object) -> None:
        reached.append(signal.Signals(sent).name)

    before = signal.signal(number, terminate)
    try:
        with deferred_signals():
            os.kill(os.getpid(), number)
            reached.append("end of the block")
        assert reached == ["end of the block", number.name]
        assert signal.getsignal(number) is terminate
        signal.signal(number, signal.SIG_DFL)
        with deferred_signals():
            assert signal.getsignal(number) == signal.SIG_DFL
    finally:
        signal.signal(number, before)


def test_ctrl_c_comes_before_an_error_of_the_block() -> None:
    """The JVM of spark-submit ends by the same Ctrl-C, and then no session starts."""
    with pytest.raises(KeyboardInterrupt), deferred_signals():  # noqa: PT012  the end of the block raises it
        os.kill(os.getpid(), signal.SIGINT)
        raise OSError("the JVM is gone")


def test_a_process_that_ignores_ctrl_c_goes_on() -> None:
    """A job in the background of a shell script is not ended by the Ctrl-C that ends another job of that terminal."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with deferred_signals():
        os.kill(os.getpid(), signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN


def test_handlers_of_the_block_do_not_stay() -> None:
    """The handler from before the block is set again, also if a library sets one of its own in the block."""
    with deferred_signals():
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_other_threads_only_run_the_block() -> None:
    """Python lets only the main thread set handlers."""
    ran: list[bool] = []

    def block() -> None:
        with deferred_signals():
            ran.append(True)

    thread = Thread(target=block)
    thread.start()
    thread.join()
    assert ran == [True]


def test_processes_of_the_block_are_interrupted() -> None:
    """No signal is blocked in them unless the caller wants it."""
    with deferred_signals():
        process = subprocess.Popen(["/bin/sleep", "600"])
    process.send_signal(signal.SIGINT)
    assert process.wait(30) == -signal.SIGINT
