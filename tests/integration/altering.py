"""Runs verbs of `lagoon admin` in this process, as tests of them need it."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from kafka_lagoon.cli.main import main
from tests.clock import CLOCK
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


def wait_until(is_true: Callable[[], bool]) -> None:
    """Wait for something that goes on after an answer, or that a broker hears of later."""
    for _ in range(600):
        if is_true():
            return
        CLOCK.sleep(0.05)
    raise AssertionError("30 s were not enough")
