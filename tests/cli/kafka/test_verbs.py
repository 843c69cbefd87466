"""A new verb of `lagoon kafka`: each check names what was forgotten about it."""

import importlib
import re
from pathlib import Path

import pytest

from kafka_lagoon.cli import kafka
from kafka_lagoon.cli.kafka.run import VERBS
from kafka_lagoon.cli.kafka.verb import Verb
from kafka_lagoon.cli.permissions import REQUIRED_PERMISSIONS
from tests.cli.kafka import test_old_releases
from tests.documents import page
from tests.integration import test_least_permissions

_MODULES = {path.stem for path in Path(str(kafka.__file__)).parent.glob("*.py")}


def test_every_module_with_a_verb_is_a_verb() -> None:
    """Modules of cli/kafka that declare VERB are those that cli/kafka/run.py lists."""
    declared = {name for name in _MODULES if hasattr(importlib.import_module(f"kafka_lagoon.cli.kafka.{name}"), "VERB")}
    assert declared == {name.replace("-", "_") for name in VERBS}


@pytest.mark.parametrize("name", VERBS)
def test_a_verb_has_all_that_verbs_have(name: str) -> None:
    """A module, permissions that it needs, a line in docs/permissions.md, a proof of its permissions and a run on every old release."""
    assert isinstance(importlib.import_module(f"kafka_lagoon.cli.kafka.{name.replace('-', '_')}").VERB, Verb)
    ways = {command.split()[1] for command in REQUIRED_PERMISSIONS if command.startswith("kafka ")}
    assert name in ways, f"cli/permissions.py: which permissions does `kafka {name}` need?"
    assert re.search(rf"\bkafka {name}\b", page("permissions")), "python -m tests.documents"
    run = {command.split()[1] for command in test_least_permissions.RUN}
    assert name in run, f"tests/integration/test_least_permissions.py: RUN needs `kafka {name}`"
    old = {words.split()[0] for words in test_old_releases.VERBS}
    assert name in old, f"tests/cli/kafka/test_old_releases.py: VERBS needs `{name}`"
