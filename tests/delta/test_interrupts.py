"""A JVM that starts in a block is not interrupted, and py4j logs nothing that it raises."""

import logging
import os
import signal
import socket
import subprocess
from threading import main_thread
from types import SimpleNamespace

import pytest
from py4j.clientserver import ClientServerConnection, JavaParameters, PythonParameters
from py4j.protocol import Py4JNetworkError

from kafka_lagoon.delta.interrupts import held_back

pytestmark = pytest.mark.usefixtures("ctrl_c")


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
