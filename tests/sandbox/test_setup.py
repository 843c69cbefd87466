"""Packages that a new machine installs: the lock agrees with pyproject.toml and names no index."""

import re
import tomllib
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
