"""A command that a reader or Ctrl-C ends: the exit code, and one line at most. Real pipes and pagers are in test_sql.py."""

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
