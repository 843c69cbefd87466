"""No command ends with exit 134, which a thread of Arrow's that outlives Python would cause at times."""

from datetime import UTC, datetime
from pathlib import Path

import pytest
from confluent_kafka.admin import NewTopic

from kafka_lagoon.sandbox.kafka import LocalKafka
from tests.integration.state import create_topics
from tests.jobs.commands import lagoon

pytestmark = [pytest.mark.kafka, pytest.mark.spark, pytest.mark.proof, pytest.mark.timeout(3600)]
RUNS = 50


def test_short_runs_end_well(kafka: LocalKafka, tmp_path: Path) -> None:
    """Jobs without work read tables and end at once, while such a thread would still run."""
    create_topics(kafka.bootstrap_servers, [NewTopic("exit-codes", 1, 1)])
    slot = datetime.now(UTC).isoformat(timespec="seconds")
    options = ["--warehouse", str(tmp_path / "lake"), "--set", f"kafka.bootstrap_servers={kafka.bootstrap_servers}"]
    commands = (
        ["snapshot", *options, "--slot", slot],
        ["ingest", *options, "--topics", "exit-codes"],
        ["maintain", *options, "--dry-run"],
        ["sql", *options, "--engine", "spark", "--json", "SELECT * FROM consumer_lag_published"],
    )
    for number in range(RUNS):
        for command in commands:
            done = lagoon(*command)
            assert done.returncode == 0, (number, command[0], done.stderr)
