"""The Dockerfile and docker-compose.yml agree with their documentation, as far as can be checked without an engine."""

import fnmatch
import importlib.util
import re
import subprocess
import tomllib
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, requires
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from kafka_lagoon.cli.registry import COMMANDS
from kafka_lagoon.settings_sources import load
from tests.clock import CLOCK


def instructions(dockerfile: str) -> Iterator[tuple[str, str]]:
    """Return each instruction and its argument, without comments and line ends."""
    text = re.sub(r"^#.*\n", "", dockerfile, flags=re.MULTILINE)
    for line in re.sub(r"\\\n", " ", text).splitlines():
        if line.strip():
            name, _, argument = line.strip().partition(" ")
            yield name, argument.strip()


ROOT = Path(__file__).resolve().parent.parent.parent
DOCKER = ROOT / "conf" / "docker"
STEPS = list(instructions((DOCKER / "Dockerfile").read_text("utf-8")))
SERVICES: dict[str, dict[str, Any]] = yaml.safe_load((ROOT / "docker-compose.yml").read_text("utf-8"))["services"]
ENVIRON = dict(pair.split("=", 1) for name, argument in STEPS if name == "ENV" for pair in argument.split())
BROKERS = {name: service for name, service in SERVICES.items() if name.startswith("kafka-")}
OURS = {name: service for name, service in SERVICES.items() if service["image"] == "kafka-lagoon"}


def test_the_image_is_not_root() -> None:
    """Its user is a number, which Kubernetes' runAsNonRoot can check, and root owns the installed files."""
    users = [argument for name, argument in STEPS if name == "USER"]
    assert re.fullmatch(r"[1-9]\d+:[1-9]\d+", users[-1])
    last = [
        argument
        for name, argument in STEPS[max(i for i, step in enumerate(STEPS) if step[0] == "FROM") :]
        if name == "COPY"
    ]
    assert last == ["--from=build /opt/lagoon /opt/lagoon"]


def test_no_compiler_is_in_the_image() -> None:
    """apt installs only Java's runtime and the first process."""
    installed = re.findall(
        r"apt-get install ([^&]+)&&", " ".join(argument for name, argument in STEPS if name == "RUN")
    )
    assert [[word for word in one.split() if not word.startswith("-")] for one in installed] == [
        ["openjdk-17-jre-headless", "tini"]
    ]


def test_what_is_copied_is_in_the_context() -> None:
    """.dockerignore excludes no file that a step copies."""
    lines = (DOCKER / "Dockerfile.dockerignore").read_text("utf-8").splitlines()
    sent = [line[1:] for line in lines if line.startswith("!")]
    for words in (argument.split() for name, argument in STEPS if name == "COPY" and not argument.startswith("--from")):
        for source in words[:-1]:
            assert (ROOT / source).exists()
            assert any(fnmatch.fnmatch(source, f"{one}*") for one in sent), source


@pytest.mark.parametrize("name", BROKERS)
def test_a_broker_is_limited(name: str) -> None:
    """Its heap and its memory are limited, and its health check starts no JVM."""
    broker = BROKERS[name]
    assert "-Xmx" in broker["environment"]["KAFKA_HEAP_OPTS"]
    assert broker["mem_limit"]
    assert broker["healthcheck"]["test"] == ["CMD", "bash", "-c", "</dev/tcp/127.0.0.1/9092"]
    assert broker["environment"]["KAFKA_LISTENERS"].startswith("INSIDE://:9092")


@pytest.mark.parametrize("name", SERVICES)
def test_nobody_else_reaches_it(name: str) -> None:
    """Ports are bound to this machine, no path of the host is mounted, and every limit is set."""
    service = SERVICES[name]
    assert all(port.startswith("127.0.0.1:") for port in service.get("ports", ()))
    assert all(volume.startswith("tables:") for volume in service.get("volumes", ()))
    assert service["mem_limit"]


@pytest.mark.parametrize("name", OURS)
def test_our_containers_have_no_privileges(name: str) -> None:
    """The file system is read-only, and capabilities are dropped and cannot be gained."""
    service = OURS[name]
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert "user" not in service  # the image's


@pytest.mark.parametrize("script", sorted(DOCKER.glob("*.sh")), ids=lambda path: path.name)
def test_scripts_are_named_and_parse(script: Path) -> None:
    """Each script is a command of a service, by its path in the image."""
    subprocess.run(["sh", "-n", str(script)], check=True)
    assert [name for name, service in OURS.items() if f"/opt/lagoon/conf/docker/{script.name}" in service["command"]]


def test_settings_and_commands_are_ours() -> None:
    """Environment variables of the jobs are settings, and the commands of the scripts accept their options."""
    assert list(load(None, ENVIRON | SERVICES["jobs"]["environment"]).named_clusters()) == ["default"]
    scripts = "".join(path.read_text("utf-8") for path in DOCKER.glob("*.sh"))
    commands = set(re.findall(r"\blagoon ([a-z]+)", re.sub(r"^ *#.*$", "", scripts, flags=re.MULTILINE)))
    assert commands == {"snapshot", "ingest", "report", "maintain", "kafka", "admin"}
    assert commands <= COMMANDS.keys()


@pytest.fixture(scope="module")
def locked() -> ModuleType:
    """Return the script that selects the packages of the image."""
    spec = importlib.util.spec_from_file_location("locked", DOCKER / "locked.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _brought(name: str, extras: frozenset[str] = frozenset()) -> set[str]:
    """Return a package and its requirements on this machine, by their metadata."""
    try:
        requirements = [Requirement(line) for line in requires(name) or ()]
    except PackageNotFoundError:
        return set()
    brought: set[str] = set()
    for requirement in requirements:
        markers = requirement.marker
        if markers is None or any(markers.evaluate({"extra": extra}) for extra in extras | {""}):
            name = canonicalize_name(requirement.name)
            brought |= {name} | _brought(name, frozenset(requirement.extras))
    return brought


def test_the_image_has_what_the_jobs_need(locked: ModuleType) -> None:
    """It has all requirements of the extra `all`, with hashes, and no packages for tests."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    named = set(locked.packages(project, "all"))
    lock = locked.locked((ROOT / "requirements.lock").read_text("utf-8"), named)
    chosen = set(re.findall(r"^([a-z0-9-]+)==", lock, re.MULTILINE))
    needed = named.union(*map(_brought, named))
    assert needed <= chosen
    pins = [Requirement(line) for line in re.findall(r"^([a-z0-9-]+==[^\\\n]+)", lock, re.MULTILINE)]
    for python in ("3.11", "3.12", "3.13"):
        of_python = {"python_version": python, "python_full_version": f"{python}.1"}
        here = [one.name for one in pins if one.marker is None or one.marker.evaluate(of_python)]
        assert len(here) == len(set(here))
        assert needed <= set(here)
    assert chosen.isdisjoint({"pytest", "mypy", "moto", "confluent-kafka", "polars"})
    assert len(re.findall("--hash=sha256:", lock)) >= len(chosen)


def test_one_package_alone(locked: ModuleType) -> None:
    """Return the line that builds PySpark."""
    lock = (ROOT / "requirements.lock").read_text("utf-8")
    assert re.findall(r"^([a-z0-9-]+)==", locked.locked(lock, ["setuptools"]), re.MULTILINE) == ["setuptools"]


STUB = """#!/bin/sh
echo "$*" >> "$CALLS"
case $1$2 in ingest*) exit 3 ;; kafkaproduce) cat >> "$CALLS.records" ;; esac
"""


def _calls(folder: Path, script: str, environ: dict[str, str], until: str) -> tuple[list[str], str]:
    """Return the calls of `lagoon` by a script until the second call with this beginning, and the script's output."""
    (folder / "lagoon").write_text(STUB)
    (folder / "lagoon").chmod(0o755)
    calls = folder / "calls"
    given = {"PATH": f"{folder}:/usr/bin:/bin", "CALLS": str(calls), "LAGOON_WAREHOUSE": "w", **environ}
    with subprocess.Popen(["sh", str(DOCKER / script)], env=given, stderr=subprocess.PIPE, text=True) as process:
        while not calls.exists() or calls.read_text().count(f"\n{until}") < 2:
            assert process.poll() is None
            CLOCK.sleep(0.05)
        process.terminate()
        _, said = process.communicate()
    return calls.read_text().splitlines(), said


def test_the_schedule(tmp_path: Path) -> None:
    """At every slot the jobs run in order, once a day maintenance; a failed job is reported and does not end the schedule."""
    environ = {"EVERY_S": "1", "REPORT": str(tmp_path / "new" / "index.html")}
    (tmp_path / "timeout").write_text('#!/bin/sh\necho "$2 $4" >> "$CALLS.limits"\nexec /usr/bin/timeout "$@"\n')
    (tmp_path / "timeout").chmod(0o755)
    calls, said = _calls(tmp_path, "schedule.sh", environ, "ingest")
    jobs = [call.split()[0] for call in calls]
    assert jobs[:6] == ["snapshot", "ingest", "report", "maintain", "snapshot", "ingest"]
    slots = [call.split()[2] for call in calls if call.startswith("snapshot")]
    assert slots == sorted(set(slots))
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", slots[0])
    assert "schedule: lagoon ingest ended with exit code 3\n" in said
    assert (tmp_path / "new").is_dir()
    limits = (tmp_path / "calls.limits").read_text().splitlines()
    assert limits[:4] == ["900 snapshot", "21600 ingest", "1800 report", "21600 maintain"]


def test_the_load(tmp_path: Path) -> None:
    """Topics are created, records have keys, and a group is reset at intervals."""
    calls, _ = _calls(tmp_path, "load.sh", {"SERVERS": "a:1", "PAUSE_S": "0"}, "kafka produce orders")
    assert calls[0].startswith("admin create-topic orders payments ")
    assert [call for call in calls if call.startswith("admin reset-offsets nightly ")]
    records = (tmp_path / "calls.records").read_text().splitlines()
    assert records[0] == "customer 1\torder 1-1"
