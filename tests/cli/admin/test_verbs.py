"""A new verb of `lagoon admin`: each check names what was forgotten about it."""

import importlib
import re
from argparse import ArgumentParser
from pathlib import Path

import pytest

from kafka_lagoon.apply.action import Guard
from kafka_lagoon.cli import admin
from kafka_lagoon.cli.admin.run import VERBS, declared
from kafka_lagoon.cli.admin.verb import AdminVerb
from kafka_lagoon.cli.permissions import REQUIRED_PERMISSIONS
from tests.test_tree import TESTS

_MODULES = {path.stem for path in Path(str(admin.__file__)).parent.glob("*.py")} - {"run"}
_COMMON = {
    "bootstrap_servers",
    "cluster",
    "conf",
    "kafka_properties",
    "set",
    "timeout",
    "warehouse",
    "yes",
    "dry_run",
    "json",
}


@pytest.fixture(scope="module")
def integration() -> str:
    """All tests on real clusters."""
    return "".join(path.read_text("utf-8") for path in (TESTS / "integration").glob("test_*.py"))


def test_every_declared_verb_is_listed() -> None:
    """Verbs that modules of cli/admin declare are those that cli/admin/run.py lists, each under its module."""
    by_module = {name: importlib.import_module(f"kafka_lagoon.cli.admin.{name}") for name in _MODULES}
    known = {verb: name for name, module in by_module.items() for verb in getattr(module, "VERBS", ())}
    assert known == {name: listed.module for name, listed in VERBS.items()}


@pytest.mark.parametrize("name", VERBS)
def test_a_verb_has_all_that_verbs_have(name: str, integration: str) -> None:
    """Options of its own, permissions that it needs, and a test on a real cluster; README is checked by its recipes."""
    verb = declared(name)
    assert isinstance(verb, AdminVerb)
    assert set(verb.guards) <= set(Guard)
    parser = ArgumentParser()
    verb.declare(parser)
    own = {action.dest for action in parser._actions}
    assert not own & _COMMON, "options that all verbs have"
    assert not any(option.startswith("allow_") for option in own), "guards are declared by `guards`"
    needed = {command.split()[1] for command in REQUIRED_PERMISSIONS if command.startswith("admin ")}
    assert name in needed, f"cli/permissions.py: which permissions does `admin {name}` need?"
    assert re.search(rf'"{name}"', integration), f"tests/integration: nothing runs `admin {name}`"
