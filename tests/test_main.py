"""Ctrl-C, SIGTERM and SIGHUP: handled where a process runs one command, and left alone where another program calls it."""

import gc
import os
import re
import runpy
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from kafka_lagoon import __main__
from kafka_lagoon.cli import main as command_line

JOBS = sorted((Path(__file__).parent.parent / "jobs").glob("*.py"))
COMMAND = ["kafka", "versions"]


@pytest.fixture(autouse=True)
def _goes_on() -> Iterator[None]:
    """The collector walks all objects again, and signals have their handlers: an entry point leaves them as a process needs at its end."""
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP)}
    yield
    gc.unfreeze()
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.fixture
def handler() -> Iterator[object]:
    """Return the handler of Ctrl-C, which the process of the tests needs again."""
    before = signal.getsignal(signal.SIGINT)
    yield before
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def interrupted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every command is interrupted as soon as it begins."""

    def interrupt(*_: object) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(command_line, "_executed", interrupt)


@pytest.mark.usefixtures("interrupted")
def test_a_call_leaves_ctrl_c_to_its_caller(handler: object) -> None:
    """A notebook or a server that runs a command can be interrupted afterwards."""
    terminate = signal.getsignal(signal.SIGTERM)
    assert command_line.main(COMMAND) == 130
    assert signal.getsignal(signal.SIGINT) is handler
    assert signal.getsignal(signal.SIGTERM) is terminate


@pytest.mark.usefixtures("interrupted", "handler")
def test_an_entry_point_ignores_a_second_ctrl_c(capsys: pytest.CaptureFixture[str]) -> None:
    """It would interrupt the end of the process, with a traceback."""
    assert __main__.main(COMMAND) == 130
    assert signal.getsignal(signal.SIGINT) == signal.SIG_IGN
    assert capsys.readouterr().err == "lagoon: interrupted\n"


@pytest.mark.usefixtures("interrupted", "handler")
@pytest.mark.parametrize("job", JOBS, ids=lambda job: job.stem)
def test_jobs_are_entry_points(job: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of them ends with the exit code, and ignores a second Ctrl-C."""
    monkeypatch.setattr("sys.argv", [str(job)])
    with pytest.raises(SystemExit) as ended:
        runpy.run_path(str(job), run_name="__main__")
    assert ended.value.code == 130
    assert signal.getsignal(signal.SIGINT) == signal.SIG_IGN


def test_ctrl_c_during_the_imports(monkeypatch: pytest.MonkeyPatch, handler: object) -> None:
    """The command line is not there yet to end with one line."""

    def interrupt(*_: object) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(command_line, "main", interrupt)
    assert __main__.main(COMMAND) == 130
    assert signal.getsignal(signal.SIGINT) != handler


def test_other_exit_codes_leave_ctrl_c(monkeypatch: pytest.MonkeyPatch, handler: object) -> None:
    """The end of a command that was not interrupted may be interrupted."""
    monkeypatch.setattr(command_line, "main", lambda _: 3)
    assert __main__.main(COMMAND) == 3
    assert signal.getsignal(signal.SIGINT) is handler


@pytest.mark.usefixtures("handler")
def test_sigterm_ends_it_as_ctrl_c_does(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """With an exit code of its own; a second SIGTERM ends the process at once, also one whose end hangs."""
    cleared: list[str] = []

    def terminated(*_: object) -> int:
        try:
            os.kill(os.getpid(), signal.SIGTERM)
        finally:
            cleared.append("temporary files")
        return 0

    monkeypatch.setattr(command_line, "_executed", terminated)
    # The process that runs the tests may have a handler.
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    assert __main__.main(COMMAND) == 143
    assert cleared
    assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL
    assert capsys.readouterr().err == "lagoon: interrupted\n"


@pytest.mark.usefixtures("handler")
def test_sighup_ends_it_as_well(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Temporary files stayed where a terminal was closed. A shell sends it, and then the kernel: the second one is ignored."""
    cleared: list[str] = []

    def hung_up(*_: object) -> int:
        try:
            os.kill(os.getpid(), signal.SIGHUP)
        finally:
            os.kill(os.getpid(), signal.SIGHUP)
            cleared.append("temporary files")
        return 0

    monkeypatch.setattr(command_line, "_executed", hung_up)
    # A process that nohup has started ignores it.
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    assert __main__.main(COMMAND) == 129
    assert cleared
    assert signal.getsignal(signal.SIGHUP) == signal.SIG_IGN
    assert capsys.readouterr().err == "lagoon: interrupted\n"


def test_sigterm_ends_a_command_whose_output_nobody_reads(tmp_path: Path) -> None:
    """Standard output and error are the same full pipe, in which the last line of the command has no room either."""
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    with suppress(BlockingIOError):
        while os.write(writer, bytes(4096)):
            pass
    os.set_blocking(writer, True)
    statement = "SELECT i FROM range(1000000) AS t (i)"
    command = [sys.executable, "-m", "kafka_lagoon", "sql", "--warehouse", str(tmp_path), statement]
    with subprocess.Popen(command, stdout=writer, stderr=writer) as process:
        os.close(writer)
        status = Path(f"/proc/{process.pid}/status")
        while not int(re.findall(r"SigCgt:\t(\w+)", status.read_text())[0], 16) & 1 << signal.SIGTERM - 1:
            time.sleep(0.01)
        process.terminate()
        try:
            assert process.wait(20) == 143
        finally:
            process.kill()
            os.close(reader)


class _Interrupting:
    """Interrupts the process while it is destroyed, as a signal can at that moment."""

    def __init__(self, number: signal.Signals) -> None:
        self._number = number

    def __del__(self) -> None:
        os.kill(os.getpid(), self._number)


@pytest.mark.usefixtures("handler")
@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_an_interrupt_in_a_finalizer_ends_the_command(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], number: signal.Signals, code: int
) -> None:
    """Python prints an exception there and ignores it: the command went on to its end, with exit code 0."""

    def run(*_: object) -> int:
        value = _Interrupting(number)
        del value
        time.sleep(5)
        return 0

    monkeypatch.setattr(command_line, "_executed", run)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    hook = sys.unraisablehook
    assert __main__.main(COMMAND) == code
    assert capsys.readouterr().err == "lagoon: interrupted\n"
    assert sys.unraisablehook is hook
    assert signal.getitimer(signal.ITIMER_REAL) == (0, 0)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("before", [signal.SIG_DFL, signal.SIG_IGN])
def test_a_signal_has_its_handler_only_while_the_command_runs(
    monkeypatch: pytest.MonkeyPatch, before: signal.Handlers, number: signal.Signals
) -> None:
    """At the end of the process it would be a traceback. A process that ignores the signal ignores it all the time."""
    during: list[object] = []

    def run(_: object) -> int:
        during.append(signal.getsignal(number))
        return 0

    signal.signal(number, before)
    monkeypatch.setattr(command_line, "main", run)
    assert __main__.main(COMMAND) == 0
    assert (during[0] == before) is (before == signal.SIG_IGN)
    assert signal.getsignal(number) == before


@pytest.mark.parametrize("names", [{"LC_ALL": "C"}, {"LANG": "xx_XX.UTF-8"}])
def test_java_names_files_in_utf8_as_python_does(names: dict[str, str], tmp_path: Path) -> None:
    """In a locale that is C or not installed Java takes paths for ASCII, and cannot open a folder that has other letters."""
    java = tmp_path / "bin" / "java"
    java.parent.mkdir()
    java.write_text(f"#!/bin/sh\nlocale charmap > {tmp_path}/charmap 2>&1\n")
    java.chmod(0o755)
    environ = {"PATH": os.environ["PATH"], "PYTHONPATH": os.pathsep.join(sys.path), "JAVA_HOME": str(tmp_path), **names}
    command = ["snapshot", "--create", "--warehouse", f"{tmp_path}/w", "--set", "kafka.bootstrap_servers=127.0.0.1:1"]
    done = subprocess.run(
        [sys.executable, "-m", "kafka_lagoon", *command], env=environ, capture_output=True, check=False
    )
    assert done.returncode == 1, done.stderr
    assert (tmp_path / "charmap").read_text() == "UTF-8\n"
