"""Runs a verb of `lagoon admin` with faulty arguments, and checks that nothing is connected."""

import pytest

from kafka_lagoon.cli.main import main


def faults(capsys: pytest.CaptureFixture[str], *arguments: str) -> list[str]:
    """Return the lines that name the faults; the exit code is 2."""
    capsys.readouterr()
    assert main(["admin", *arguments, "-b", "127.0.0.1:1", "--yes"]) == 2
    printed, lines = capsys.readouterr()
    assert printed == ""
    return [line.removeprefix("lagoon: ") for line in lines.splitlines()]
