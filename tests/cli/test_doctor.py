"""`lagoon doctor` as a command: exit codes, lines, JSON, and broken installations."""

import json
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from kafka_lagoon.cli.main import main
from kafka_lagoon.doctor import checks
from kafka_lagoon.doctor.results import Check, Result
from kafka_lagoon.protocol.messages.metadata import METADATA, MetadataResponse
from tests.cli.kafka.conftest import SHORT_TIMEOUTS
from tests.fake.broker import FakeBroker
from tests.fake.cluster import FakeCluster
from tests.fake.faults import Altered, Fault


@pytest.fixture(autouse=True)
def machine(monkeypatch: pytest.MonkeyPatch) -> list[Result]:
    """Observations of this machine: none, unless the test sets them."""
    results: list[Result] = []
    monkeypatch.setattr(checks, "machine", lambda: iter(results))
    return results


def doctor(capsys: pytest.CaptureFixture[str], *argv: str) -> tuple[int, dict[str, list[dict[str, str]]]]:
    """Return the exit code, and the results by check."""
    code = main(["doctor", "--json", *argv])
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    return code, {name: [row for row in rows if row["check"] == name] for name in {row["check"] for row in rows}}


def options(state: FakeCluster) -> list[str]:
    servers = ",".join(f"{host}:{port}" for host, port in state.addresses.values())
    return ["-b", servers, *(word for one in SHORT_TIMEOUTS for word in ("--set", one))]


def test_a_cluster_without_authorizer(
    state: FakeCluster, brokers: dict[int, FakeBroker], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """All checks pass: each address is checked as the settings name it and as a broker advertises it."""
    code, results = doctor(capsys, *options(state), "--warehouse", str(tmp_path))
    assert code == 0
    assert len(results["connection"]) == 2 * len(brokers)
    assert {row["status"] for rows in results.values() for row in rows} == {"ok", "not_checked"}
    assert results["permissions"][0]["observed"] == "the brokers have no authorizer: everybody may do everything"
    assert results["executors"][0]["to_do"] == "lagoon doctor --executors"


def test_a_broker_that_is_gone(
    state: FakeCluster, brokers: dict[int, FakeBroker], capsys: pytest.CaptureFixture[str]
) -> None:
    """The broker is named, other brokers are checked, and the exit code is 1."""
    servers = options(state)
    brokers[2].die()
    code, results = doctor(capsys, *servers)
    failed = [row["subject"] for row in results["connection"] if row["status"] == "failed"]
    assert code == 1
    assert any(re.match(r"default: bootstrap server ", subject) for subject in failed)
    assert len(results["connection"]) > len(failed)


@pytest.mark.usefixtures("brokers")
def test_a_broker_with_an_impossible_address(state: FakeCluster, capsys: pytest.CaptureFixture[str]) -> None:
    """Refused metadata is a failed check: the broker that advertises it would never be reached."""

    def portless(response: MetadataResponse) -> MetadataResponse:
        *others, last = response.brokers
        return replace(response, brokers=(*others, replace(last, port=0)))

    state.faults.append(Fault(METADATA.key, Altered(portless), times=1_000))
    code, results = doctor(capsys, *options(state))
    assert code == 1
    assert "ADDRESS_REFUSED: 0 is not a port" in {row["observed"] for row in results["connection"]}


@pytest.mark.usefixtures("brokers")
def test_a_broker_that_another_one_does_not_name(state: FakeCluster, capsys: pytest.CaptureFixture[str]) -> None:
    """It is connected to all the same, because two other brokers name it."""

    def without_the_last(response: MetadataResponse) -> MetadataResponse:
        return replace(response, brokers=response.brokers[:-1])

    state.faults.append(Fault(METADATA.key, Altered(without_the_last), node_id=1, times=1_000))
    _, results = doctor(capsys, *options(state))
    connected = {row["subject"] for row in results["connection"] if "broker 3" in row["subject"]}
    assert len(connected) == 1


@pytest.mark.usefixtures("brokers")
def test_two_names_for_one_cluster(state: FakeCluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each name has a history in the same tables: the second one is a warning, by the id of the cluster."""
    conf = tmp_path / "lagoon.toml"
    addresses = [f"{host}:{port}" for host, port in state.addresses.values()]
    conf.write_text(
        "".join(f'[clusters.{name}]\nbootstrap_servers = "{one}"\n' for name, one in zip("ab", addresses, strict=False))
    )
    code, results = doctor(capsys, "--conf", str(conf))
    (warning,) = results["cluster id"]
    assert (code, warning["subject"], warning["status"]) == (3, "b", "warning")
    assert warning["observed"] == "fake, as a has: the tables get everything about this cluster twice"
    assert warning["to_do"].startswith("keep one of [clusters.a] and [clusters.b]")


def test_settings_with_faults(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Every fault is a line, and checks that need no settings are still made."""
    conf = tmp_path / "lagoon.toml"
    conf.write_text('warehous = "lake"\n[kafka]\nbootstrap_servers = "here"\n')
    code, results = doctor(capsys, "--conf", str(conf))
    assert code == 1
    assert [row["observed"] for row in results["settings"]] == [
        "kafka.bootstrap_servers: 'here' is not host:port",
        "warehous: no such setting (did you mean warehouse?)",
    ]
    assert results["disk"]


def test_a_settings_file_that_no_option_names(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """One fault is one result: the file, and what names it, are its subject."""
    monkeypatch.setenv("LAGOON_CONF", f"{tmp_path}/none.toml")
    code, results = doctor(capsys)
    assert code == 1
    assert [(row["subject"], row["observed"]) for row in results["settings"]] == [
        (
            f"{tmp_path}/none.toml (by LAGOON_CONF)",
            f"LAGOON_CONF {tmp_path}/none.toml: No such file or directory",
        )
    ]


def test_values_that_only_jobs_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A start, a pattern and a table that `lagoon ingest` and `lagoon snapshot` refuse are faults of the settings."""
    conf = tmp_path / "lagoon.toml"
    conf.write_text(
        '[kafka]\nbootstrap_servers = "localhost:1"\n[ingest]\nstart = "tomorow"\n[snapshot]\nskip_tables = "nope"\n'
    )
    code, results = doctor(capsys, "--conf", str(conf))
    assert code == 1
    start, tables = [row["observed"] for row in results["settings"] if row["status"] == "failed"]
    assert start.startswith("ingest.start: ")
    assert "nope" in tables
    conf.write_text('[kafka]\nbootstrap_servers = "localhost:1"\n[ingest]\npattern = "[a"\n')
    code, results = doctor(capsys, "--conf", str(conf))
    assert code == 1
    assert "'[a' is not a regular expression" in results["settings"][0]["observed"]


def test_the_settings_file_that_nobody_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its line says what has named the file, and the line of the warehouse how it is created."""
    conf = tmp_path / "other.toml"
    conf.write_text('warehouse = "lake"\n')
    monkeypatch.setenv("LAGOON_CONF", str(conf))
    _, results = doctor(capsys)
    assert results["settings"][0]["subject"] == f"{conf} (by LAGOON_CONF)"
    assert results["warehouse"][0]["subject"] == str(tmp_path / "lake")
    assert results["warehouse"][0]["observed"] == f"not there yet; lagoon snapshot --create makes it in {tmp_path}"


def test_without_settings(capsys: pytest.CaptureFixture[str]) -> None:
    """Checks that need settings are reported as not checked."""
    code, results = doctor(capsys)
    assert code == 0
    assert results["connection"][0]["to_do"] == "give --conf FILE, or -b HOST:PORT"
    assert results["warehouse"][0]["to_do"] == "give --warehouse"


@pytest.mark.parametrize(
    ("argv", "line"),
    [
        (["--for", "ingset"], "--for ingset: no such command (did you mean ingest?)"),
        (["--for", "lag"], "--for lag: this command needs no permission: leave it out"),
        (["-b", "localhost:1", "--cluster", "x", "--frob"], "unrecognized arguments: --frob; see lagoon doctor --help"),
    ],
)
def test_bad_arguments(argv: list[str], line: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Exit 2, and one line on standard error."""
    assert main(["doctor", *argv]) == 2
    assert line in capsys.readouterr().err


def test_lines_for_people(machine: list[Result], capsys: pytest.CaptureFixture[str]) -> None:
    """One line per check with a remedy, and a sum; only warnings are exit 3."""
    check = Check("disk", "warehouse /lake")
    machine += [check.ok("70 GB free"), check.warning("1 GB free\x1b[2J", "free some space")]
    assert main(["doctor"]) == 3
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "ok           disk           warehouse /lake: 70 GB free"
    assert lines[1] == "warning      disk           warehouse /lake: 1 GB free\\u001b[2J -> free some space"
    assert re.fullmatch(r"\d+ ok, \d+ warning, 0 failed, \d+ not checked", lines[-1])


@pytest.mark.parametrize("variable", ["NO_COLOR=1", "TERM=dumb"])  # words: ok, the variable of terminals
def test_colours_for_terminals_that_have_them(
    machine: list[Result], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    """The state of a check has a colour on a terminal, unless a variable forbids it."""
    machine.append(Check("disk", "/lake").ok("70 GB free"))
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")  # words: ok, the variable of terminals
    main(["doctor"])
    assert capsys.readouterr().out.startswith("\x1b[32mok ")
    monkeypatch.setenv(*variable.split("="))
    main(["doctor"])
    assert "\x1b" not in capsys.readouterr().out


def test_a_broken_installation(tmp_path: Path) -> None:
    """Without Java, PySpark, pyarrow or even pydantic, each check names the missing package, and others run."""
    absent = ("pyspark", "pyarrow", "llvmlite", "pydantic", "pydantic_core", "deltalake", "rich", "cryptography")
    script = (
        f"import sys\nfor name in {absent!r}: sys.modules[name] = None\n"
        "from kafka_lagoon.cli.main import main\nsys.exit(main(['doctor', '--json']))\n"
    )
    run = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        check=False,
        env={"PATH": str(tmp_path), "PYTHONPATH": ":".join(sys.path), "HOME": str(tmp_path)},
    )
    results = {row["check"]: row for row in map(json.loads, run.stdout.splitlines())}
    assert run.returncode == 1, run.stderr
    assert results["java"]["observed"] == "no java on PATH: install Java 17 or newer"
    assert results["kernels"]["observed"] == "llvmlite is not installed, or does not load"
    assert results["settings"]["observed"].startswith("pydantic")
    assert results["python"]["status"] == "ok"
    assert results["disk"]
