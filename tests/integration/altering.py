"""Runs verbs of `lagoon admin` in this process, as tests of them need it."""

import json
from dataclasses import dataclass
from typing import Any

import pytest

from kafka_lagoon.cli.main import main
from tests.integration.administered import Administered

NOT_RECORDED = "lagoon: the settings name no warehouse: nothing is recorded in table admin_actions"


@dataclass(frozen=True, slots=True)
class Ran:
    """What a run ended with: its exit code, and its lines."""

    code: int
    printed: str
    beside: str

    def results(self) -> list[dict[str, Any]]:
        """The objects of a run with --json."""
        return [json.loads(line) for line in self.printed.splitlines()]


@dataclass(frozen=True, slots=True)
class Hand:
    """Runs verbs as a user, a super user by default, and asks nobody."""

    administered: Administered
    capsys: pytest.CaptureFixture[str]

    def run(self, *arguments: str, user: str | None = None, confirm: str = "--yes") -> Ran:
        """Run a verb with its arguments."""
        self.capsys.readouterr()
        code = main(["admin", *arguments, confirm, *self.administered.arguments(user)])
        printed = self.capsys.readouterr()
        return Ran(code, printed.out, printed.err)

    def done(self, *arguments: str, user: str | None = None) -> str:
        """What a verb prints that does everything it was asked for."""
        ran = self.run(*arguments, user=user)
        assert ran.code == 0, ran.printed + ran.beside
        return ran.printed
