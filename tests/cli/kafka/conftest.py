"""Runs verbs on a fake cluster, and keeps the exit code, lines and rows."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from kafka_lagoon.cli.main import run
from tests.clock import CLOCK
from tests.fake.broker import fake_cluster
from tests.fake.cluster import FakeCluster
from tests.plain_lines import python_in

SHORT_TIMEOUTS = (
    "kafka.request_timeout_ms=500",
    "kafka.socket_connection_setup_timeout_ms=500",
    "kafka.default_api_timeout_ms=2000",
    "kafka.retry_backoff_ms=10",
    "kafka.retry_backoff_max_ms=50",
)


@dataclass(frozen=True, slots=True)
class Shown:
    """The output of a verb, and its exit code."""

    code: int
    out: str
    err: str

    def rows(self, kind: str) -> list[dict[str, Any]]:
        """Return the rows of one kind, from the JSON output of a verb."""
        rows = [json.loads(line) for line in self.out.splitlines()]
        return [row for row in rows if row["kind"] == kind]


Ask = Callable[..., Shown]


@pytest.fixture
def state() -> Iterator[FakeCluster]:
    """Three running brokers with two topics."""
    cluster = FakeCluster(racks={1: "a", 2: "b", 3: "c"})
    cluster.add_topic("orders", 3)
    cluster.add_topic("other", 1)
    with fake_cluster(cluster):
        yield cluster


@pytest.fixture
def ask(state: FakeCluster, capsys: pytest.CaptureFixture[str]) -> Ask:
    """Run a verb on the fake cluster."""
    servers = ",".join(f"{host}:{port}" for host, port in state.addresses.values())
    timeouts = [word for one in SHORT_TIMEOUTS for word in ("--set", one)]

    def verb(*argv: str) -> Shown:
        code = run(["kafka", *argv, "-b", servers, *timeouts], {}, CLOCK)
        output = capsys.readouterr()
        assert python_in(output.err) == []
        return Shown(code, output.out, output.err)

    return verb
