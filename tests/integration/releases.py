"""A release of Kafka, the output of its tools for a cluster, and the rows of `lagoon kafka` for it."""

import json
from dataclasses import dataclass
from typing import Any

import pytest

from kafka_lagoon.cli.main import run
from kafka_lagoon.sandbox.kafka import LocalKafka
from tests.clock import CLOCK
from tests.integration import kafka_tools as tools

NEWEST, OLDER, OLDEST = "4.4.0", "3.9.2", "2.8.2"


@dataclass(frozen=True, slots=True)
class Release:
    """A cluster, its release, and its tools by their names in the newest release."""

    name: str
    kafka: LocalKafka

    @property
    def bootstrap_servers(self) -> str:
        return self.kafka.bootstrap_servers

    def tool(self, main_class: str, *args: str) -> str:
        return self.kafka.tool(tools.in_release(main_class, self.name), *args)

    def printed(self, main_class: str, *args: str) -> str:
        """Return the output of a tool for this cluster."""
        return self.tool(main_class, "--bootstrap-server", self.bootstrap_servers, *args)

    def shown(self, capsys: pytest.CaptureFixture[str], *argv: str) -> list[dict[str, Any]]:
        """Return the rows that a verb prints, without failures and notes."""
        capsys.readouterr()
        code = run(["kafka", *argv, "-b", self.bootstrap_servers, "--json"], {}, CLOCK)
        captured = capsys.readouterr()
        assert (code, captured.err) == (0, "")
        return [json.loads(line) for line in captured.out.splitlines()]


def of_kind(rows: list[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    """Return the rows of one kind."""
    return [one for one in rows if one["kind"] == kind]
