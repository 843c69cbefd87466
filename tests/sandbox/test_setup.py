"""Packages that a new machine installs: the lock agrees with pyproject.toml and names no index. What `make release` refuses."""

import os
import re
import shutil
import subprocess
import tomllib
from datetime import UTC, datetime
from pathlib import Path

import pytest
from packaging.requirements import Requirement

CLONE = Path(__file__).resolve().parents[2]
LOCK = (CLONE / "requirements.lock").read_text()
PROJECT = tomllib.loads((CLONE / "pyproject.toml").read_text())
OPTIONAL = PROJECT["project"]["optional-dependencies"]


def requirements() -> list[Requirement]:
    """Return all packages of `make setup`: the product, the extras of `make lock`, and build requirements."""
    extras = {
        *re.findall(r"--extra (\w+)", (CLONE / "Makefile").read_text()),
        "records",
        "spark",
        "snapshot",
        "sql",
        "report",
        "yaml",
    }
    assert {"all", "demo", "test", "lint"} <= extras
    assert OPTIONAL["all"] == ["kafka-lagoon[records,spark,sql,report,yaml]"]
    lists = [
        PROJECT["project"]["dependencies"],
        PROJECT["build-system"]["requires"],
        *map(OPTIONAL.get, sorted(extras)),
    ]
    named = dict.fromkeys(Requirement(text) for texts in lists for text in texts)
    return [requirement for requirement in named if requirement.name != "kafka-lagoon"]


@pytest.mark.parametrize("requirement", requirements(), ids=str)
def test_every_requirement_is_locked(requirement: Requirement) -> None:
    """Each requirement is pinned in the lock to a version that it allows."""
    pinned = re.findall(rf"^{re.escape(requirement.name)}==(\S+)", LOCK, re.MULTILINE | re.IGNORECASE)
    assert pinned
    assert all(requirement.specifier.contains(version) for version in pinned)


def test_lock_is_whole_and_names_no_place() -> None:
    """Every pin has hashes, and no line has a URL: the index is a setting of pip."""
    pins = re.findall(r"^\S+==.*\n +(--hash=sha256:[0-9a-f]{64})?", LOCK, re.MULTILINE)
    assert pins
    assert all(pins)
    assert "://" not in LOCK


def test_continuous_integration_runs_what_people_run() -> None:
    """The CI script runs `make test`."""
    lines = [line for line in (CLONE / ".ci" / "run").read_text().splitlines() if not line.startswith("#")]
    assert lines[-1] == "exec make test"


def _steps(target: str) -> str:
    """Return the commands of a target as if nothing was made yet."""
    alone = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    command = ["make", "--dry-run", "--always-make", target]
    return subprocess.run(command, cwd=CLONE, env=alone, capture_output=True, text=True, check=True).stdout


def test_only_what_starts_brokers_fetches_kafka() -> None:
    """`make setup` is a minute shorter for people who have a cluster."""
    fetched = {
        target: "kafka-4.4.0" in _steps(target) for target in ("setup", "quick", "lint", "demo", "test", "bench")
    }
    assert [target for target, is_fetched in fetched.items() if is_fetched] == ["demo", "test", "bench"]


def test_setup_prints_no_commands() -> None:
    """Newcomers see what is done in plain lines: each command of its steps is silent."""
    steps = re.search(r"^setup:.*?(?=^test:)", (CLONE / "Makefile").read_text(), re.MULTILINE | re.DOTALL)
    assert steps
    commands = re.findall(r"(?<!\\\n)^\t(.*)$", steps[0], re.MULTILINE)
    assert commands
    assert [command for command in commands if not command.startswith(("@", "-@"))] == []


def test_a_release_needs_a_clean_tree_and_a_section(tmp_path: Path) -> None:
    """Both are looked at before the tests; the section gets the day, and a version is not released twice."""
    for name in ("Makefile", "pyproject.toml", "CHANGELOG.md"):
        shutil.copy(CLONE / name, tmp_path)
    version = PROJECT["project"]["version"]
    heading = re.compile(rf"^## {re.escape(version)} .*$", re.MULTILINE)
    changelog = tmp_path / "CHANGELOG.md"
    changelog.write_text(heading.sub(f"## {version} (unreleased)", changelog.read_text()))

    def run(*command: str) -> subprocess.CompletedProcess[str]:
        # Make runs the tests.
        alone = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
        return subprocess.run(command, cwd=tmp_path, env=alone, capture_output=True, text=True, check=False)

    commit = ("git", "-c", "user.name=x", "-c", "user.email=x@example.org", "commit", "--quiet", "--all", "-m", "x")
    for command in (("git", "init", "--quiet"), ("git", "add", "."), commit):
        assert run(*command).returncode == 0
    assert run("make", "release-ready").returncode == 0
    (tmp_path / "new.txt").touch()
    refused = run("make", "release")
    assert refused.returncode == 2
    assert refused.stdout == "The tree has changes that are not committed:\n?? new.txt\n"
    (tmp_path / "new.txt").unlink()
    before = datetime.now(UTC)
    assert run("make", "release-date").returncode == 0
    days = {before, datetime.now(UTC)}  # two around midnight
    dated = heading.search(changelog.read_text())
    assert dated
    assert dated[0] in {f"## {version} ({day:%Y-%m-%d})" for day in days}
    assert run(*commit).returncode == 0
    refused = run("make", "release-ready")
    assert refused.returncode == 2
    assert f"CHANGELOG.md has no section '## {version} (unreleased)'" in refused.stdout
