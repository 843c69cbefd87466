"""A command that a reader or Ctrl-C ends: the exit code, and one line at most. Real pipes and pagers are in test_sql.py."""

import os
import subprocess
import sys

import pytest

from kafka_lagoon.cli.outcome import MAINTAIN, RunOutcome, one_by_one
from kafka_lagoon.cli.pipes import piped
from kafka_lagoon.cli.terminal import reported
from kafka_lagoon.errors import TableError
from tests.clock import CLOCK


def _interrupted() -> int:
    raise KeyboardInterrupt


def _caught_as(error: Exception) -> int:
    try:
        return _interrupted()
    except KeyboardInterrupt as interrupt:
        raise error from interrupt


def _while_handled() -> int:
    try:
        return _interrupted()
    except KeyboardInterrupt:
        raise AttributeError("a fault of py4j") from None


@pytest.mark.parametrize(
    "run",
    [
        _interrupted,
        lambda: _caught_as(RuntimeError("Error calling __set_name__")),
        lambda: _caught_as(TableError("the JVM is gone")),
        _while_handled,
    ],
)
def test_ctrl_c_is_one_line(run: object, capsys: pytest.CaptureFixture[str]) -> None:
    """Also where other code has caught KeyboardInterrupt and raised something else."""
    assert piped(lambda: reported(run)) == 130  # type: ignore[arg-type]
    assert capsys.readouterr().err == "lagoon: interrupted\n"


def test_other_errors_stay() -> None:
    """An error that Ctrl-C has not caused is a fault of ours, with its traceback."""
    with pytest.raises(RuntimeError, match="ours"):
        piped(lambda: _raise(RuntimeError("ours")))
    assert piped(lambda: reported(lambda: _raise(TableError("no table")))) == 1


def _raise(error: Exception) -> int:
    raise error


def test_ctrl_c_ends_a_job_for_all_its_tables(capsys: pytest.CaptureFixture[str]) -> None:
    """The tables after it are not tried, and the error that it caused is not printed."""
    outcomes = [RunOutcome(job=MAINTAIN, table=name) for name in ("one", "two")]

    def maintain(_: RunOutcome) -> int:
        return _caught_as(TableError("the JVM is gone"))

    assert piped(lambda: max(one_by_one(outcomes, CLOCK, maintain))) == 130
    assert capsys.readouterr().err == "lagoon: interrupted\n"
    assert [outcome.error for outcome in outcomes] == ["KeyboardInterrupt", None]


def _shell(words: str, streams: str) -> tuple[int, str, str]:
    """Run a command with redirected streams; return its exit code, output and lines on standard error."""
    done = subprocess.run(
        ["/bin/sh", "-c", f"exec {sys.executable} -m kafka_lagoon {words} {streams}"],
        capture_output=True,
        text=True,
        check=False,
        stdin=subprocess.DEVNULL,
        env={name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"},  # few users set it
    )
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("words", ["path conf", "--help", "kafka --help", "kafka topics --help", "--version", "sql"])
def test_a_full_disk_is_one_line(words: str) -> None:
    """Exit 1 if standard output cannot be written, also where help is printed."""
    assert _shell(words, ">/dev/full") == (1, "", "lagoon: standard output: No space left on device\n")


@pytest.mark.parametrize(
    ("words", "line"),
    [
        ("admin create-topic x -b 127.0.0.1:1", "lagoon: there is no terminal to ask on: give --yes"),
        ("kafka produce t -b 127.0.0.1:1", "lagoon: 127.0.0.1:1: connect: Connection refused"),
    ],
)
def test_a_closed_input_is_empty(words: str, line: str) -> None:
    """A command without standard input behaves as with an empty one: nobody is asked."""
    code, printed, lines = _shell(words, "<&-")
    assert code in (1, 2)
    assert printed == ""
    assert lines.startswith(line)
    assert lines.count("\n") == 1


def test_a_full_disk_of_standard_error_changes_no_exit_code() -> None:
    """Nothing ends because a line cannot be written there: 2 stays 2, and was 1."""
    assert _shell("kafka topics --frob", "2>/dev/full") == (2, "", "")


@pytest.mark.parametrize("streams", [">&-", "2>&-", "<&- >&- 2>&-"])
def test_a_closed_output_is_discarded(streams: str) -> None:
    """A closed stream is /dev/null: a socket or a file never gets its number."""
    code, _, lines = _shell("path conf", streams)
    assert (code, lines) == (0, "")
