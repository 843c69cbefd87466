"""Runs verbs of `lagoon admin` in tests, and keeps their output."""

import json
from dataclasses import dataclass
from typing import Any

import pytest

from kafka_lagoon.cli.main import main
from tests.integration.administered import Administered
from tests.integration.every_broker import have_applied_changes


@dataclass(frozen=True)
class Ran:
    """The result of a verb: exit code, standard output, and lines on standard error."""

    exit_code: int
    actions: list[dict[str, Any]]
    lines: str

    def outcomes(self) -> dict[str, str]:
        """Return done, or the name of the error, by name of the resource."""
        return {
            action["resource_name"]: action["outcome"] if action["outcome"] == "done" else action["error_name"]
            for action in self.actions
        }


def admin(
    administered: Administered, capsys: pytest.CaptureFixture[str], *arguments: str, user: str | None = None
) -> Ran:
    """Run a verb as a script does, as a super user or as a user of listener SCRAM.

    The broker that answers the verb knows all earlier changes.
    """
    have_applied_changes(administered.bootstrap_servers)
    capsys.readouterr()
    exit_code = main(["admin", *arguments, *administered.arguments(user), "--yes", "--json"])
    printed, lines = capsys.readouterr()
    return Ran(exit_code, [json.loads(line) for line in printed.splitlines()], lines)
