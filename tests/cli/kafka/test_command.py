"""Properties of all verbs of `lagoon kafka`: a quick start, readable faults, and exit codes."""

import json
import os
import re
import signal
import subprocess
import sys
import time

import pytest

from kafka_lagoon import __version__
from kafka_lagoon.cli import main as of_lagoon
from kafka_lagoon.cli.arguments import Parser
from kafka_lagoon.cli.main import declaration, main, options_of
from kafka_lagoon.cli.registry import names_of
from kafka_lagoon.clock import Clock
from kafka_lagoon.errors import ConfigError
from kafka_lagoon.protocol.messages.api_versions import API_VERSIONS
from kafka_lagoon.protocol.messages.list_groups import LIST_GROUPS
from tests.cli.kafka.conftest import Ask
from tests.clock import CLOCK
from tests.fake.broker import fake_cluster
from tests.fake.cluster import FakeCluster, FakeCommit, FakeGroup
from tests.fake.faults import Fault, Hang
from tests.plain_lines import python_in

VERBS = names_of("kafka")
_HEAVY = ("pyspark", "pyarrow", "numba", "numpy", "rich")
_NOT_NEEDED = ("kafka_lagoon.protocol.apis", "kafka_lagoon.snapshot.collectors", "pydantic", "pydantic_core")
# Together they take a third of the time of `lagoon kafka metadata`.
_SLOW = ("ssl", "encodings.idna", "concurrent.futures", "logging", "subprocess", "shutil", "json", "difflib")


def run(argv: list[str], environ: dict[str, str], clock: Clock) -> int:
    """Return the exit code of a verb."""
    return of_lagoon.run(["kafka", *argv], environ, clock)


def test_no_verb_that_reads_state_imports_what_is_heavy():
    """Importing every verb of cluster state imports neither Spark nor anything that decodes records."""
    reading = [name.replace("-", "_") for name in VERBS if name not in ("fetch", "produce")]
    modules = "; ".join(f"import kafka_lagoon.cli.kafka.{name}" for name in [*reading, "command", "watch"])
    code = f"import sys, kafka_lagoon.cli.main; {modules}; print([one for one in {_HEAVY} if one in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


@pytest.mark.parametrize("verb", ["metadata", "lag"])
def test_a_verb_imports_only_its_own_messages(verb: str):
    """All 73 APIs and all state tables take 0.2 s to import, pydantic 0.15 s.

    Only the help of a verb and `versions` need the former, only settings beside the bootstrap servers the latter.
    """
    code = (
        "import sys; from kafka_lagoon.cli.main import main; "
        f"main(['kafka', '{verb}', '-b', '127.0.0.1:1', '--timeout', '0.1']); "
        f"print([name for name in {_NOT_NEEDED} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_a_short_verb_does_without_slow_modules():
    """No TLS, one broker, a name in ASCII, output for people and no event: nothing is imported for the others."""
    code = (
        "import sys; from kafka_lagoon.cli.main import main; "
        "main(['kafka', 'metadata', '-b', 'localhost:1', '--timeout', '0.1']); "
        f"print([name for name in {_SLOW} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_the_help_names_every_verb(capsys: pytest.CaptureFixture[str]):
    """`lagoon kafka --help` lists all verbs on standard output; without a verb the list is printed on standard error."""
    assert run(["--help"], {}, CLOCK) == 0
    helped = capsys.readouterr()
    assert run([], {}, CLOCK) == 2
    refused = capsys.readouterr()
    assert all(f"\n  {name}" in helped.out for name in VERBS)
    assert (refused.out, refused.err) == ("", helped.out)


@pytest.mark.parametrize(
    ("argv", "line"),
    [
        (
            [],
            "no cluster: give --conf FILE with [kafka] or [clusters.NAME], or --set kafka.bootstrap_servers=HOST:PORT",
        ),
        (["-b", "nonsense"], "kafka.bootstrap_servers: 'nonsense' is not host:port"),
        (
            ["--set", "clusters.a.bootstrap_servers=a:1", "--set", "clusters.b.bootstrap_servers=b:1"],
            "several clusters: choose one by --cluster (a, b)",
        ),
        (
            ["--set", "clusters.a.bootstrap_servers=a:1", "--cluster", "b"],
            "--cluster b: no such cluster in the settings (a)",
        ),
        (
            ["--set", "clusters.spare.bootstrap_servers=a:1", "--cluster", "sapre", "-b", "a:1"],
            "--cluster sapre: no such cluster in the settings (spare)",
        ),
        (
            ["--set", "clusters.a.bootstrap_servers=a:1", "--set", "clusters.b.bootstrap_servers=b:1", "--cluster", ""],
            "--cluster: '' is empty: give it a value, or leave the option out; see lagoon kafka versions --help",
        ),
        (["-b", "a:1", "--set", "kafka.nope=1"], "kafka.nope: no such setting"),
    ],
)
def test_faults_of_arguments_are_one_line_each(argv: list[str], line: str, capsys: pytest.CaptureFixture[str]):
    """Faults of arguments and settings are reported before the verb connects, and the exit code is 2."""
    code = run(["versions", *argv], {}, CLOCK)
    output = capsys.readouterr()
    assert (code, output.out, output.err) == (2, "", f"lagoon: {line}\n")


@pytest.mark.parametrize("name", VERBS)
@pytest.mark.parametrize("text", ["?", "1.5", ""])
def test_a_value_that_an_option_cannot_have(name: str, text: str) -> None:
    """One plain line names the option, and no type or function of Python."""
    actions = Parser(name, declaration(f"kafka {name}"))._actions
    options = [action.option_strings[-1] for action in actions if action.option_strings and action.nargs != 0]
    lines = []
    for option in options:
        try:
            options_of(f"kafka {name}", [option, text])
        except ConfigError as refused:
            lines.append(str(refused))
    assert [found for line in lines for found in python_in(line)] == []


@pytest.mark.parametrize("seconds", ["0", "-1", "nan", "inf", "1e7", "1e306"])
def test_a_timeout_that_no_command_can_have(seconds: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The longest is that of Kafka's settings in milliseconds."""
    assert run(["versions", "-b", "127.0.0.1:1", "--timeout", seconds], {}, CLOCK) == 2
    assert f"'{seconds}' is not a number of seconds above 0, at most 2147483; see" in capsys.readouterr().err


def test_brokers_on_the_command_line_win(capsys: pytest.CaptureFixture[str]):
    """-b replaces the brokers of the chosen cluster, even if the settings name others."""
    several = ["--set", "clusters.a.bootstrap_servers=a:1", "--set", "clusters.b.bootstrap_servers=b:1"]
    assert run(["versions", *several, "--cluster", "b", "-b", "127.0.0.1:1"], {}, CLOCK) == 1
    assert run(["versions", "-b", "127.0.0.1:1"], {"LAGOON_KAFKA__BOOTSTRAP_SERVERS": "a:1"}, CLOCK) == 1
    assert capsys.readouterr().err == "lagoon: 127.0.0.1:1: connect: Connection refused\n" * 2


def test_a_cluster_that_does_not_answer_is_one_line(capsys: pytest.CaptureFixture[str]):
    """Exit 1 and the address with its refusal."""
    assert run(["versions", "-b", "127.0.0.1:1"], {}, CLOCK) == 1
    assert capsys.readouterr().err == "lagoon: 127.0.0.1:1: connect: Connection refused\n"


def _verb(state: FakeCluster, *argv: str) -> list[str]:
    host, port = state.addresses[1]
    return [sys.executable, "-m", "kafka_lagoon", "kafka", *argv, "-b", f"{host}:{port}"]


def test_a_closed_pipe_ends_a_verb_quietly() -> None:
    """`| head -1` of a long output: one line, nothing on standard error, and the exit code of other tools."""
    state = FakeCluster()
    state.add_topic("wide", 5_000)
    with fake_cluster(state, 1):
        line = f"{' '.join(_verb(state, 'metadata', '--json'))} | head -1; echo ${{PIPESTATUS[0]}}"
        done = subprocess.run(["bash", "-c", line], capture_output=True, text=True, timeout=60, check=True)
    first, code = done.stdout.splitlines()
    assert first.startswith('{"kind": "cluster"')
    assert (code, done.stderr) == (str(128 + signal.SIGPIPE), "")


def test_names_that_a_terminal_cannot_show_are_spelled_out() -> None:
    """In a locale without the letters of a group's name these letters are escaped, and the rest is printed."""
    state = FakeCluster()
    state.groups["größe"] = FakeGroup(1)
    with fake_cluster(state, 1):
        done = subprocess.run(
            _verb(state, "groups"),
            capture_output=True,
            text=True,
            timeout=60,
            check=True,
            env={**os.environ, "PYTHONIOENCODING": "ascii"},
        )
    assert r"gr\xf6\xdfe" in done.stdout


def test_an_interrupt_ends_a_verb_with_one_line() -> None:
    """Ctrl-C while a broker does not answer: no traceback, the exit code of other tools."""
    state = FakeCluster(faults=[Fault(API_VERSIONS.key, Hang(), times=1_000)])
    with fake_cluster(state, 1):
        process = subprocess.Popen(_verb(state, "metadata"), stderr=subprocess.PIPE, text=True)
        while not state.requests:
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=30)
    assert (process.returncode, errors) == (128 + signal.SIGINT, "lagoon: interrupted\n")


def test_an_interrupt_does_not_wait_for_brokers() -> None:
    """Ctrl-C while several brokers are asked at the same time, and do not answer for minutes."""
    state = FakeCluster(faults=[Fault(LIST_GROUPS.key, Hang(), times=1_000)])
    slow = ("--timeout", "600", "--set", "kafka.request_timeout_ms=600000")
    with fake_cluster(state, 3):
        process = subprocess.Popen(_verb(state, "groups", *slow), stderr=subprocess.PIPE, text=True)
        while state.count(LIST_GROUPS.key) < 3:
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        try:
            _, errors = process.communicate(timeout=60)
        finally:
            process.kill()
    assert (process.returncode, errors) == (128 + signal.SIGINT, "lagoon: interrupted\n")


def _named(ask: Ask, *argv: str) -> list[str]:
    return [one["kind"] for one in map(json.loads, ask(*argv, "--json").out.splitlines())]


def test_other_names(state: FakeCluster, ask: Ask) -> None:
    """`topics` is metadata of topics, `consume` is fetch; the help lists both, and hints for wrong words include them."""
    assert _named(ask, "topics") == ["topic", "topic"]
    assert _named(ask, "topics", "orders") == ["topic"]
    state.faults.clear()
    assert ask("consume", "nope").err == "lagoon: nope: no such topic\n"


def test_options_of_every_verb_may_stand_before_it(state: FakeCluster, capsys: pytest.CaptureFixture[str]) -> None:
    """This includes options with an attached value, and an alias of a verb after them."""
    host, port = state.addresses[1]
    for argv, topics in (
        (["-b", f"{host}:{port}", "metadata", "orders"], {"orders"}),
        (["--json", f"--bootstrap-server={host}:{port}", "--timeout", "9", "topics"], {"orders", "other"}),
        ([f"-b{host}:{port}", "--set", "kafka.client_id=x", "topics", "--json", "other"], {"other"}),
        (["metadata", "orders", "--bootstrap-server", f"{host}:{port}", "other"], {"orders", "other"}),
    ):
        assert run(argv, {}, CLOCK) == 0
        assert set(re.findall(r"\b(?:orders|other)\b", capsys.readouterr().out)) == topics
    assert run(["-b", f"{host}:{port}"], {}, CLOCK) == 2


def test_the_version(capsys: pytest.CaptureFixture[str]) -> None:
    """Of `lagoon` and of `lagoon kafka`."""
    assert main(["--version"]) == main(["kafka", "--version"]) == 0
    assert capsys.readouterr().out == f"lagoon {__version__}\n" * 2


@pytest.mark.parametrize("verb", [name for name in VERBS if name not in ("fetch", "produce", "configs")])
def test_headings_fit_80_columns(verb: str, state: FakeCluster, ask: Ask) -> None:
    """Columns for people fit 80 columns; --wide has them and more, and rows for scripts stay the same."""
    state.groups["g"] = FakeGroup(coordinator_id=1, commits={("orders", 0): FakeCommit(1)})
    narrow, wide = ask(verb), ask(verb, "--wide")
    shown = narrow.out.splitlines()
    assert all(len(line) <= 80 for line in shown if "127.0.0.1" not in line)
    assert len(wide.out) >= len(narrow.out)
