"""Runs a verb of `lagoon admin` whose arguments are faulty, where nothing may be connected."""

import pytest

from kafka_lagoon.cli.main import main


def faults(capsys: pytest.CaptureFixture[str], *arguments: str) -> list[str]:
    """The lines that name the faults; exit 2."""
    capsys.readouterr()
    assert main(["admin", *arguments, "-b", "127.0.0.1:1", "--yes"]) == 2
    printed, lines = capsys.readouterr()
    assert printed == ""
    return [line.removeprefix("lagoon: ") for line in lines.splitlines()]
