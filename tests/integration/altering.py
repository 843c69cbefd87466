"""Runs verbs of `lagoon admin` in this process."""

import json
from dataclasses import dataclass
from typing import Any

import pytest

from kafka_lagoon.cli.main import main
from tests.integration.administered import Administered
from tests.integration.every_broker import have_applied_changes, wait_until


@dataclass(frozen=True, slots=True)
class Ran:
    """The exit code and the lines of a run."""

    code: int
    printed: str
    beside: str

    def results(self) -> list[dict[str, Any]]:
        """Return the objects of a run with --json."""
        return [json.loads(line) for line in self.printed.splitlines()]


@dataclass(frozen=True, slots=True)
class Hand:
    """Runs verbs as a user, by default a super user, without confirmation."""

    administered: Administered
    capsys: pytest.CaptureFixture[str]

    def run(self, *arguments: str, user: str | None = None, confirm: str = "--yes") -> Ran:
        """Run a verb with its arguments once each broker knows all earlier changes; repeat it while the cluster changes."""
        while True:
            have_applied_changes(self.administered.bootstrap_servers)
            self.capsys.readouterr()
            code = main(["admin", *arguments, confirm, *self.administered.arguments(user)])
            printed = self.capsys.readouterr()
            if "the cluster changed since the plan was made" not in printed.err:
                return Ran(code, printed.out, printed.err)

    def done(self, *arguments: str, user: str | None = None) -> str:
        """Return the output of a verb that carries out all of its actions."""
        ran = self.run(*arguments, user=user)
        assert ran.code == 0, ran.printed + ran.beside
        return ran.printed

    def has_nothing_to_do(self, *arguments: str) -> None:
        """Run a verb whose plan is empty once brokers know the state."""
        wait_until(lambda: self.run(*arguments).printed == "nothing to do\n")
