"""`--watch`: repeated output, until Ctrl-C, the timeout or a passed limit."""

import json
from pathlib import Path
from unittest.mock import Mock

import pytest

from kafka_lagoon.cli.kafka.watch import Round, watch
from kafka_lagoon.cli.main import run
from kafka_lagoon.cli.output import Ending
from kafka_lagoon.errors import ConfigError
from tests.cli.kafka.conftest import Ask
from tests.clock import CLOCK, Hands
from tests.fake.cluster import FakeCluster, FakeCommit, FakeGroup


@pytest.fixture(autouse=True)
def reader(state: FakeCluster) -> FakeGroup:
    """A group with a lag of ten."""
    group = state.groups["reader"] = FakeGroup(coordinator_id=2, commits={("orders", 0): FakeCommit(90)})
    return group


def test_it_ends_with_the_timeout(ask: Ask) -> None:
    """Each output is printed under its time, and the exit code is that of the last."""
    shown = ask("lag", "--watch", "1", "--timeout", "2.5", "--sort", "lag")
    lines = shown.out.splitlines()
    assert shown.code == 0
    assert lines.count("group:") in (2, 3)
    assert lines[0].endswith("Z")


def test_it_ends_where_a_limit_is_passed(reader: FakeGroup, ask: Ask) -> None:
    """A script can wait for a limit: exit 3 with the line of the limit."""
    reader.commits["orders", 0] = FakeCommit(1)
    shown = ask("lag", "--watch", "1", "--fail-above", "lag=50", "--json")
    assert (shown.code, shown.err) == (3, "lagoon: lag above 50: 1 partition, highest 99 (reader orders-0)\n")
    assert [json.loads(line)["kind"] for line in shown.out.splitlines()] == ["group", "lag"]


def test_a_cluster_that_does_not_answer_is_asked_again(capsys: pytest.CaptureFixture[str]) -> None:
    """Each failed round prints a line, until the timeout; the exit code is that of the last round."""
    argv = ["health", "--watch", "1", "--timeout", "1.5", "-b", "127.0.0.1:1"]
    assert run(["kafka", *argv], {}, CLOCK) == 1
    errors = capsys.readouterr().err.splitlines()
    assert set(errors) == {"lagoon: 127.0.0.1:1: connect: Connection refused"}
    assert len(errors) > 1


def test_what_is_wrong_from_the_beginning_ends_it(ask: Ask, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Exit 2 at once. A file that is missing later, as a secret that is being replaced, is read again in the next round."""
    missing = ("--set", "kafka.security_protocol=SSL", "--set", f"kafka.ssl_truststore_location={tmp_path}/ca.pem")
    shown = ask("lag", "--watch", "1", "--timeout", "30", *missing)
    assert (shown.code, shown.err.count("\n")) == (2, 1)
    rounds = [rounded(0), ConfigError(["ca.pem: missing"]), rounded(3, is_passed=True)]
    once = Mock(side_effect=rounds)
    assert watch(once, 1, Hands().clock(), None, as_json=True) == 3
    assert capsys.readouterr().err == "lagoon: ca.pem: missing\n"


def rounded(exit_code: int, *, is_passed: bool = False) -> Round:
    return Round(blocks=(), ending=Ending(lines=(), exit_code=exit_code, is_passed=is_passed))


def test_on_a_terminal_each_answer_takes_the_place_of_the_last(ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    """It starts at the top of the screen, clears the remainder of the earlier output, and is cut to the height."""
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")  # words: ok, the variable of terminals
    monkeypatch.setenv("LINES", "6")
    monkeypatch.setenv("COLUMNS", "80")
    shown = ask("lag", "--watch", "1", "--timeout", "0.5").out
    assert shown.startswith("\x1b[H20")
    assert shown.endswith("\x1b[J")
    lines = shown.removesuffix("\x1b[J").splitlines()
    assert len(lines) == 5
    assert lines[-1] == "... 5 more lines\x1b[K"


@pytest.mark.parametrize("height", [1, 2])
def test_the_lowest_terminal(height: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """On a terminal of one line the output scrolled by, for a height below one."""
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")  # words: ok, the variable of terminals
    monkeypatch.setenv("LINES", str(height))
    long = Round(blocks=["a\nb\nc\n"], ending=Ending(lines=(), exit_code=3, is_passed=True))
    assert watch(lambda: long, 1, CLOCK, None, as_json=False) == 3
    assert capsys.readouterr().out.count("\n") == 1


def test_the_longest_pause(ask: Ask) -> None:
    """More than a day is a typo, and longer than some clocks can wait."""
    shown = ask("lag", "--watch", "99999999999")
    assert (shown.code, shown.err.partition(";")[0]) == (
        2,
        "lagoon: --watch: '99999999999' is not a whole number from 1 to 86400",
    )


def test_names_are_escaped_on_a_terminal(ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lines about failures and limits have the names of groups, which others choose."""
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")  # words: ok, the variable of terminals
    monkeypatch.setenv("NO_COLOR", "1")
    shown = ask("lag", "x\x1b[31mred\x1b]0;owned\x07", "--watch", "1", "--timeout", "0.5").out
    assert "x\\u001b[31mred\\u001b]0;owned\\u0007" in shown
    for ours in ("\x1b[H", "\x1b[K", "\x1b[J"):
        shown = shown.replace(ours, "")
    assert "\x1b" not in shown


def test_a_terminal_without_escapes_gets_lines(ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    """A terminal that cannot move its cursor gets one output after the other, as a pipe does."""
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setenv("TERM", "dumb")  # words: ok, the variable of terminals
    assert "\x1b" not in ask("lag", "--watch", "1", "--timeout", "0.5").out
