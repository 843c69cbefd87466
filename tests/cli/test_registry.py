"""A new command of any kind is one file and one line; each check names a missing part of it."""

import importlib
import re
import shlex
import sys
from argparse import ArgumentParser
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from kafka_lagoon import cli
from kafka_lagoon.apply.action import Guard
from kafka_lagoon.cli.admin.command import altering
from kafka_lagoon.cli.command import PLAIN, Command
from kafka_lagoon.cli.jobs import JOB
from kafka_lagoon.cli.kafka.command import CLUSTER
from kafka_lagoon.cli.main import _split, declaration, main, options_of
from kafka_lagoon.cli.output import CommandOutput, RowSet
from kafka_lagoon.cli.planned_actions import PlannedActions
from kafka_lagoon.cli.registry import CLUSTERS, COMMANDS, INSTALLATION, JOBS, TABLES, Listed, names_of, usage
from kafka_lagoon.cli.required_permissions import requirements_of
from kafka_lagoon.cli.tables.command import over
from kafka_lagoon.tables.row_classes import Int32, column, row
from tests.cli.kafka import test_old_releases
from tests.cli.tables.conftest import Ask, ask, lake, run
from tests.documents import documents, page
from tests.fake.broker import FakeBroker
from tests.integration import test_least_permissions
from tests.test_tree import TESTS

__all__ = ["ask", "lake", "run"]  # fixtures of tests/cli/tables

FOLDER = Path(str(cli.__file__)).parent
DECLARED = [name for name, listed in COMMANDS.items() if listed.place]


@pytest.fixture(scope="module")
def integration() -> str:
    """Returns all tests on real clusters as text."""
    return "".join(path.read_text("utf-8") for path in (TESTS / "integration").glob("test_*.py"))


def test_every_declared_command_is_listed() -> None:
    """Each declaration of a module of cli/ has one line in cli/registry.py, and each line names a declaration."""
    declared = set()
    for path in FOLDER.rglob("*.py"):
        module = ".".join(path.relative_to(FOLDER).with_suffix("").parts)
        names = re.findall(r"^([A-Z_]+) = Command\(", path.read_text("utf-8"), re.MULTILINE)
        declared |= {f"{module}:{name}".removesuffix(":COMMAND") for name in names}
    listed = [listed.place for listed in COMMANDS.values() if listed.place]
    assert sorted(listed) == sorted(declared), "cli/registry.py: a line is missing, or names nothing"


@pytest.mark.parametrize("name", DECLARED)
def test_a_command_has_what_all_commands_have(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A command has a line in the help, an extra, a page with its exit codes, and a help that explains every option."""
    command, listed = declaration(name), COMMANDS[name]
    family = name.rpartition(" ")[0]
    assert isinstance(command, Command)
    assert f"  {name.rpartition(' ')[2]} " in usage(family)
    assert listed.heading in ("", JOBS, TABLES, CLUSTERS, INSTALLATION)
    assert listed.extra or COMMANDS[family].extra, "cli/registry.py: which extra brings its packages?"
    with pytest.raises(SystemExit) as ended:
        options_of(name, ["--help"])
    assert ended.value.code == 0
    parser = ArgumentParser()
    command.kind.declare(parser)
    command.declare(parser)
    assert [action.dest for action in parser._actions if not action.help] == [], "options without help"
    if "--bootstrap-server" in parser._option_string_actions and name != "doctor":  # it reports what is refused
        forms = requirements_of(name)
        assert forms, f"`requires` of {listed.place}: which permissions does `{name}` need?"
        assert all(f"`{form}`" in page("permissions") for form in forms), "python -m tests.documents"
        assert ("Required permissions: " in " ".join(capsys.readouterr().out.split())) == bool(command.requires)
    text = "".join(documents().values())
    assert f"lagoon {name}" in text or f"`{name.rpartition(' ')[2]}`" in text, f"docs/: what does `lagoon {name}` do?"


@pytest.mark.parametrize("name", DECLARED)
def test_the_examples_of_a_command_are_valid(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its help ends with at least one example; each calls the command, with arguments that it accepts on a terminal."""
    monkeypatch.setattr(sys.stdin, "isatty", lambda: True)
    monkeypatch.setenv("BILLING_PASSWORD", "a password")
    examples = declaration(name).examples
    assert examples, f"`examples` of {COMMANDS[name].place}: how is `lagoon {name}` called?"
    for example in examples:
        calls = [call for call in _calls(example) if call[: len(name.split())] == name.split()]
        assert calls, f"`lagoon {name}` is not in its example: {example}"
        for words in _calls(example):
            family, command, argv = _split(words)
            options_of(f"{family} {command}".strip(), argv)
    with pytest.raises(SystemExit):
        options_of(name, ["--help"])
    assert capsys.readouterr().out.endswith("\nexamples:\n" + "".join(f"  {example}\n" for example in examples))


def _calls(line: str) -> list[list[str]]:
    """Return the words after `lagoon` of each call in a line of a shell: the line, parts of a pipe, or in $( )."""
    parts = re.findall(r"\$\((.*?)\)", line) or [line]
    calls = []
    for part in parts:
        words = shlex.split(part, comments=True)
        marks = [place for place, word in enumerate(words) if word in ("|", ">")]
        pieces = [words[start + 1 : end] for start, end in pairwise([-1, *marks, len(words)])]
        calls += [piece[1:] for piece in pieces if piece[0] == "lagoon"]
    return calls


@pytest.mark.parametrize("name", names_of("kafka"))
def test_a_verb_of_kafka_is_proven(name: str) -> None:
    """It is tested on real brokers with the least permissions, and on every old release."""
    run = {command.split()[1] for command in test_least_permissions.RUN}
    assert name in run, f"tests/integration/test_least_permissions.py: RUN needs `kafka {name}`"
    old = {words.split()[0] for words in test_old_releases.VERBS}
    assert name in old, f"tests/cli/kafka/test_old_releases.py: VERBS needs `{name}`"


@pytest.mark.parametrize("name", names_of("admin"))
def test_a_verb_of_admin_is_proven(name: str, integration: str) -> None:
    """It is tested on a real cluster; its guards are options of its kind."""
    assert re.search(rf'"{name}"', integration), f"tests/integration: nothing runs `admin {name}`"
    parser = ArgumentParser()
    declaration(f"admin {name}").declare(parser)
    own = [action.dest for action in parser._actions]
    assert not any(option.startswith("allow_") for option in own), "guards are arguments of `altering`"


@row
class _CountRow:
    count: Int32 = column("A number.")


def listed(monkeypatch: pytest.MonkeyPatch, name: str, command: Command[Any], heading: str = "") -> None:
    """Add a test command: its module, and its line."""
    module = ModuleType("kafka_lagoon.cli.scratch")
    monkeypatch.setattr(module, "COMMAND", command, raising=False)
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setitem(COMMANDS, name, Listed("scratch", "counts", heading, "sql"))  # type: ignore[index]  # a dictionary


@pytest.mark.parametrize(
    ("name", "meaning"),
    [
        ("kafka produce", "--timeout SECONDS longest time for each request, not for the whole input"),
        ("kafka produce", "--json read and print one JSON object per record"),
        ("kafka lag", "--timeout SECONDS longest time for the whole command"),
        ("kafka transactions", "--topic A,B list the producers of these topics instead"),
    ],
)
def test_a_shared_option_says_what_it_means_to_a_verb(
    capsys: pytest.CaptureFixture[str], name: str, meaning: str
) -> None:
    """The time of `produce` is that of a request, and `transactions --topic` lists something else than transactions."""
    with pytest.raises(SystemExit):
        options_of(name, ["--help"])
    assert meaning in " ".join(capsys.readouterr().out.split())


def test_a_verb_of_kafka_is_one_file_and_one_line(
    monkeypatch: pytest.MonkeyPatch, brokers: dict[int, FakeBroker], capsys: pytest.CaptureFixture[str]
) -> None:
    """It gets the options, the connection, the tables and the JSON of all verbs."""
    rows = [RowSet(kind="count", rows=[_CountRow(count=7)], columns=["count"])]
    listed(
        monkeypatch, "kafka count", Command(kind=CLUSTER, summary="Counts.", answer=lambda _: CommandOutput(rows=rows))
    )
    server = f"127.0.0.1:{brokers[1].server_address[1]}"
    assert main(["kafka", "count", "-b", server]) == 0
    assert capsys.readouterr().out == "count\n    7\n"
    assert main(["kafka", "-b", server, "count", "--json"]) == 0
    assert capsys.readouterr().out == '{"kind": "count", "count": 7}\n'
    assert main(["kafka", "--help"]) == 0
    assert re.search(r"\n  count +counts\n", capsys.readouterr().out)


def test_a_verb_of_admin_is_one_file_and_one_line(
    monkeypatch: pytest.MonkeyPatch, brokers: dict[int, FakeBroker], capsys: pytest.CaptureFixture[str]
) -> None:
    """It gets the plan, the confirmation and the guards of all verbs."""
    verb = Command(kind=altering(Guard.DELETIONS), summary="Drops.", answer=lambda _: PlannedActions(notes=["a note"]))
    listed(monkeypatch, "admin drop", verb)
    server = f"127.0.0.1:{brokers[1].server_address[1]}"
    assert main(["admin", "drop", "-b", server]) == 2
    assert "give --yes" in capsys.readouterr().err
    assert main(["admin", "drop", "-b", server, "--dry-run", "--allow-deletions"]) == 0
    assert capsys.readouterr() == ("nothing to do\n", "lagoon: a note\n")


def test_a_command_over_tables_is_one_file_and_one_line(monkeypatch: pytest.MonkeyPatch, ask: Ask) -> None:
    """It gets the snapshots, the engines, the tables and the JSON of all such commands."""
    statement = "SELECT cluster, brokers FROM snapshots_now"

    def count(context: Any) -> CommandOutput:
        return CommandOutput(rows=[context.rows("count", statement, (), ["brokers"])], complaints=["too many"])

    listed(monkeypatch, "count", Command(kind=over("snapshots_now"), summary="Counts.", answer=count), TABLES)
    shown = ask("count")
    assert "count:\n" in shown.out
    assert (shown.code, shown.err) == (3, "lagoon: too many\n")
    assert [one["kind"] for one in ask("count", "--json").rows("count")] == ["count", "count"]


@pytest.mark.parametrize("kind", [PLAIN, JOB])
def test_other_commands_are_one_file_and_one_line(kind: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """They return the exit code, and get options, environment and clock."""
    command = Command(
        kind=kind,
        summary="Ends.",
        declare=lambda parser: parser.add_argument("code", type=int),
        answer=lambda call: call.options.code,
        check=lambda options: ["too large"] if options.code > 9 else [],
    )
    listed(monkeypatch, "end", command, JOBS if kind is JOB else INSTALLATION)
    assert main(["end", "7"]) == 7
    assert main(["end", "10"]) == 2
    assert main(["end", "x"]) == 2
    assert replace(command, summary="").epilog == ""


def test_every_module_of_a_family_imports_alone() -> None:
    """A command starts with its own module; other modules of the family declare no command."""
    for name in DECLARED:
        assert importlib.import_module(COMMANDS[name].module)
