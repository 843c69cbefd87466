"""Ctrl-C, SIGTERM and SIGHUP wait until a JVM has started, and are not lost."""

import logging
import os
import signal
import socket
import subprocess
from collections.abc import Iterator
from threading import Thread, main_thread
from types import SimpleNamespace

import pytest
from py4j.clientserver import ClientServerConnection, JavaParameters, PythonParameters
from py4j.protocol import Py4JNetworkError

from kafka_lagoon.delta.interrupts import held_back


@pytest.fixture(autouse=True)
def _heeded() -> Iterator[None]:
    """A shell lets its background processes, such as this run of tests, ignore SIGINT."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_ctrl_c_is_raised_at_the_end_of_the_block() -> None:
    """The block runs to its end, also where other threads would get the signal; later ones interrupt at once."""
    reached = False
    waiting = Thread(target=signal.pause, daemon=True)
    waiting.start()
    with pytest.raises(KeyboardInterrupt), held_back():  # noqa: PT012  the end of the block raises it
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
        with held_back():
            os.kill(os.getpid(), number)
            reached.append("end of the block")
        assert reached == ["end of the block", number.name]
        assert signal.getsignal(number) is terminate
        signal.signal(number, signal.SIG_DFL)
        with held_back():
            assert signal.getsignal(number) == signal.SIG_DFL
    finally:
        signal.signal(number, before)


def test_ctrl_c_comes_before_an_error_of_the_block() -> None:
    """The JVM of spark-submit ends by the same Ctrl-C, and then no session starts."""
    with pytest.raises(KeyboardInterrupt), held_back():  # noqa: PT012  the end of the block raises it
        os.kill(os.getpid(), signal.SIGINT)
        raise OSError("the JVM is gone")


def test_a_process_that_ignores_ctrl_c_goes_on() -> None:
    """A job in the background of a shell script is not ended by the Ctrl-C that ends another job of that terminal."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with held_back():
        os.kill(os.getpid(), signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN


def test_handlers_of_the_block_do_not_stay() -> None:
    """The handler from before the block is set again, also if a library sets one of its own in the block."""
    with held_back():
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_ctrl_c_does_not_run_a_handler_of_the_block() -> None:
    """Ctrl-C that waits until the block ends is KeyboardInterrupt, and the handler from before the block is set again."""
    ran: list[int] = []
    with pytest.raises(KeyboardInterrupt), held_back():  # noqa: PT012  the end of the block raises it
        signal.signal(signal.SIGINT, lambda number, _: ran.append(number))
        signal.pthread_kill(main_thread().ident or 0, signal.SIGINT)
    assert ran == []
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_processes_of_the_block_do_not_see_it() -> None:
    """They start with SIGINT blocked, as do all that they start."""
    with held_back():
        process = subprocess.Popen(["/bin/sh", "-c", "echo; read line"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdin
    assert process.stdout
    process.stdout.readline()
    process.send_signal(signal.SIGINT)
    process.communicate(b"end\n", timeout=30)
    assert process.returncode == 0


def test_other_threads_only_run_the_block() -> None:
    """Python lets only the main thread set handlers."""
    ran: list[bool] = []

    def block() -> None:
        with held_back():
            ran.append(True)

    thread = Thread(target=block)
    thread.start()
    thread.join()
    assert ran == [True]


@pytest.mark.parametrize("error", [KeyboardInterrupt(), Py4JNetworkError("Answer from Java side is empty")])
def test_py4j_logs_nothing_that_it_raises(error: BaseException) -> None:
    """Its traceback would stand above our line; other records of the root logger pass."""
    with held_back():
        pass
    root = logging.getLogger()
    record = root.makeRecord("root", logging.ERROR, "f", 1, "while sending", (), (type(error), error, None))
    assert not root.filter(record)
    assert root.filter(root.makeRecord("root", logging.ERROR, "f", 1, "else", (), None))


def test_py4j_logs_nothing_of_a_call_that_cannot_be_cancelled(caplog: pytest.LogCaptureFixture) -> None:
    """The JVM may have closed the connection by which py4j would cancel the interrupted call: that was a traceback."""
    caplog.set_level(logging.ERROR, "py4j.clientserver")  # sessions of other tests may have set a higher one
    with held_back():
        pass
    ours, theirs = socket.socketpair()
    theirs.close()
    no_gateway = SimpleNamespace(pool=None)
    connection = ClientServerConnection(JavaParameters(), PythonParameters(), no_gateway, None, None)
    connection.socket, connection.stream, connection.is_connected = ours, ours.makefile("rb"), True
    with ours:
        try:
            os.kill(os.getpid(), signal.SIGINT)
            signal.pause()
        except KeyboardInterrupt:
            connection.shutdown_socket(1, 2)
        assert caplog.messages == []
        connection.shutdown_socket(1, 2)
        assert caplog.messages == ["Exception occurred while shutting down connection"]
