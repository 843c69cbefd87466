"""Text of brokers, records and other users cannot send control characters to the terminal."""

import ast
import io
import json
from argparse import Namespace
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

import pytest

from kafka_lagoon import log
from kafka_lagoon.cli import terminal
from kafka_lagoon.cli.outcome import RunOutcome, one_by_one
from kafka_lagoon.cli.tables.command import TablesContext, snapshot_rows
from kafka_lagoon.cli.tables.snapshots import ChosenSnapshot
from kafka_lagoon.errors import ConfigError, TableError
from tests.clock import CLOCK
from tests.installed import CLONE

# Clears the screen, sets its title, reverses text direction, and starts lines of its own.
HOSTILE = "a\x1b[2J\x1b]0;owned\x07\x9b31m\u202egnp\u2028new\r\nlagoon: complete\x7f\x00"
PACKAGE = CLONE / "pipeline" / "kafka_lagoon"


def steers(text: str) -> list[str]:
    """Return the control characters of an output, except line ends."""
    return [one for one in text if not one.isprintable() and one != "\n"]


SAID: dict[str, Callable[[], object]] = {
    "say": lambda: terminal.say(f"cluster {HOSTILE}"),
    "warn": lambda: terminal.warn(f"group {HOSTILE}"),
    "confirm": lambda: terminal.is_confirmed(f"Carry this out on cluster {HOSTILE}?"),
    "complain": lambda: terminal.complain(TableError(HOSTILE), HOSTILE),
    "faults": lambda: terminal.complain(ConfigError([HOSTILE, HOSTILE]), HOSTILE),
    "unknown": lambda: terminal.not_a_command(HOSTILE, HOSTILE, ["lag"], "usage: lagoon"),
    "outcome": lambda: one_by_one([RunOutcome(job="ingest", cluster=HOSTILE, lines=[HOSTILE])], CLOCK, lambda _: 0),
}


@pytest.mark.parametrize("name", SAID)
def test_lines_are_harmless(name: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Each text is one line with escaped control characters, also in the question before an alteration."""
    monkeypatch.setattr("sys.stdin", io.StringIO("no\n"))
    SAID[name]()
    said = "".join(capsys.readouterr())
    assert steers(said) == []
    assert "\\u001b[2J" in said
    assert not any(line.startswith("lagoon: complete") for line in said.splitlines())


def test_events_are_harmless() -> None:
    """Values are exact, and the line is ASCII."""
    stream = io.StringIO()
    log.configure(stream)
    log.error("refused", reason=HOSTILE)
    assert steers(stream.getvalue()) == []
    assert stream.getvalue().isascii()
    assert json.loads(stream.getvalue())["reason"] == HOSTILE


# Functions that print without escaping, and the reason why that is safe.
EXACT = {
    "cli/alterations.py": "JSON",
    "cli/completion.py": "scripts of ours",
    "cli/doctor.py": "colours, and JSON",
    "cli/import_state.py": "a file whose texts its writer escapes",
    "cli/sql.py": "names and comments of our own tables",
    "cli/terminal.py": "what `say` has escaped; usages",
}
WRITES = {
    *("__main__.py", "cli/terminal.py", "jars/__main__.py", "log.py"),
    *("delta/sessionless.py", "records/kernel_cache.py"),
}


def calls(path: Path) -> set[str]:
    """Return the calls of a module that print: `say_exactly`, `print`, and `write` of a standard stream."""
    called: set[str] = set()
    source = path.read_text("utf-8")
    if not any(word in source for word in ("say_exactly(", "print(", "sys.stdout", "sys.stderr", "sys.__stdout__")):
        return called
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call):
            text = ast.unparse(node.func)
            if text in ("say_exactly", "print"):
                called.add(text)
            if text in ("sys.stdout.write", "sys.stderr.write", "sys.stdout.writelines", "sys.__stdout__.write"):
                called.add("print")
    return called


def test_all_others_escape_what_they_print() -> None:
    """A command that prints without `say` and `warn` is listed above, with the reason."""
    by_module = {
        path.relative_to(PACKAGE).as_posix(): calls(path)
        for path in PACKAGE.rglob("*.py")
        if path.relative_to(PACKAGE).parts[0] not in ("sandbox", "conf", "jobs")
    }
    assert {name for name, called in by_module.items() if "say_exactly" in called} == set(EXACT)
    assert {name for name, called in by_module.items() if "print" in called} == WRITES


def test_the_tests_find_what_steers() -> None:
    """Each of the characters is detected if it is printed unescaped."""
    assert set(steers(HOSTILE)) == set("\x1b\x07\x9b\u202e\u2028\r\x7f\x00")


def test_a_name_of_a_table_is_harmless_above_its_answer() -> None:
    """Users who can write to the warehouse choose names of clusters, which are in the line about a snapshot."""
    moment = datetime(2026, 11, 21, tzinfo=UTC)
    chosen = ChosenSnapshot(
        cluster=HOSTILE,
        snapshot_id="1",
        snapshot_date=moment.date(),
        captured_at=moment,
        slot=moment,
        status="complete",
        failures=0,
        completeness=None,
        previous_at=None,
        interval_ms=None,
    )
    options, now_ms = Namespace(at=None), 1_795_000_000_000
    context = TablesContext(ask=cast("Any", None), options=options, snapshots=[chosen], now_ms=now_ms)
    (shown,) = snapshot_rows(context).own_lines() or ()
    assert steers(f"{shown}\n") == []


def test_an_answer_in_another_encoding_is_no_consent(monkeypatch: pytest.MonkeyPatch) -> None:
    """Bytes that are no text in this locale were a traceback."""
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"yes\xe9\n"), encoding="utf-8"))
    assert not terminal.is_confirmed("Carry this out?")
