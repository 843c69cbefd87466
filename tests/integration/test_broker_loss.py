"""Each of three brokers is stopped in turn, and Kafka's own tool shows the effect that view broker_loss has predicted."""

from dataclasses import dataclass
from typing import Any

import pytest

from kafka_lagoon.clock import Deadline
from kafka_lagoon.sandbox.kafka import LocalKafka
from kafka_lagoon.tables.cluster_rows import BrokerRow, PartitionRow
from kafka_lagoon.tables.snapshot_rows import Snapshot
from tests.clock import CLOCK
from tests.integration import every_broker
from tests.integration import kafka_tools as tools
from tests.integration.test_against_kafka_tools import snapshot_of
from tests.integration.views_of import rows_of_view

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(300)]
PREFIX = "loss-"
# Replicas of each partition, the preferred leader first, and min.insync.replicas.
TOPICS = {
    "three": ("1:2:3,2:3:1,3:1:2,1:3:2", 2),
    "all": ("1:2:3,3:2:1", 3),
    "two": ("1:2,2:3,3:1,2:1", 2),
    "spare": ("1:2,2:3,3:1", 1),
    "one": ("1,2,3", 1),
}
# Columns of the view, findings, and the tool's options for them.
STATES = {
    "is_offline": ("leaderless", "--unavailable-partitions"),
    "is_under_min_isr": ("under_min_isr", "--under-min-isr-partitions"),
    "is_at_min_isr": ("at_min_isr", "--at-min-isr-partitions"),
}
Partitions = set[tuple[str, int]]


@dataclass(frozen=True, slots=True)
class Running:
    """Brokers, and the output of their tools for this test."""

    kafka: LocalKafka

    @property
    def bootstrap_servers(self) -> str:
        """Return the addresses of all brokers."""
        return self.kafka.bootstrap_servers

    def tool(self, main_class: str, *args: str) -> str:
        """Return the tool's output."""
        return self.kafka.tool(main_class, *args)

    def printed(self, option: str) -> Partitions:
        """Return the partitions of this test that kafka-topics prints with the option."""
        return {at for at in tools.topics(self, option) if at[0].startswith(PREFIX)}


@pytest.fixture(scope="module")
def running(kafka: LocalKafka) -> Running:
    """Run three brokers, with topics that tolerate a lost broker in different degrees."""
    for name, (replicas, needed) in TOPICS.items():
        create = ("--create", "--topic", PREFIX + name, "--replica-assignment", replicas)
        config = ("--config", f"min.insync.replicas={needed}")
        kafka.tool(tools.TOPICS, "--bootstrap-server", kafka.bootstrap_servers, *create, *config)
    every_broker.knows_topics(kafka.bootstrap_servers, [PREFIX + name for name in TOPICS])
    return Running(kafka)


@pytest.mark.proof
@pytest.mark.parametrize("broker_id", [1, 2, 3])
def test_what_is_predicted_happens(running: Running, broker_id: int) -> None:
    """The same partitions are offline, under and at min.insync.replicas, and the same brokers lead the others."""
    before = _healthy(running.kafka)
    predicted = _of_topics(rows_of_view([before], "broker_loss_partitions"), broker_id)
    assert len(predicted) > 10
    elsewhere = {column: running.printed(option) - predicted.keys() for column, (_, option) in STATES.items()}
    running.kafka.stop(broker_id)
    try:
        after = _without(running.kafka, broker_id)
        findings = _findings(after)
        for column, (finding, option) in STATES.items():
            printed = running.printed(option)
            assert {at for at, row in predicted.items() if row[column]} | elsewhere[column] == printed, column
            if finding != "under_min_isr":  # the tool counts a partition without a leader as under it
                assert findings[finding] == printed
        assert findings["under_replicated"] == running.printed("--under-replicated-partitions")
        assert {at: (row["new_leader_id"], row["in_sync"]) for at, row in predicted.items()} == {
            (row.topic, row.partition): (row.leader_id, len(row.isr or ()))
            for row in after.of(PartitionRow)
            if (row.topic, row.partition) in predicted
        }
    finally:
        running.kafka.start(broker_id)
        _healthy(running.kafka)


def _of_topics(rows: list[dict[str, Any]], broker_id: int) -> dict[tuple[str, int], dict[str, Any]]:
    return {
        (row["topic"], row["partition"]): row
        for row in rows
        if (row["loss"], row["lost"]) == ("broker", str(broker_id)) and row["topic"].startswith(PREFIX)
    }


def _findings(snapshot: Snapshot) -> dict[str, Partitions]:
    """Return the partitions of this test by finding."""
    rows = [row for row in rows_of_view([snapshot], "health_findings") if (row["topic"] or "").startswith(PREFIX)]
    kinds = ("leaderless", "under_replicated", "under_min_isr", "at_min_isr")
    return {kind: {(row["topic"], row["partition"]) for row in rows if row["finding"] == kind} for kind in kinds}


def _healthy(kafka: LocalKafka) -> Snapshot:
    """Take a snapshot in which every replica is in sync."""
    deadline = Deadline.after(CLOCK, 60_000)
    snapshot = snapshot_of(kafka)
    while any(row.is_under_replicated for row in snapshot.of(PartitionRow)) and deadline.pause(0.5):
        snapshot = snapshot_of(kafka)
    return snapshot


def _without(kafka: LocalKafka, broker_id: int) -> Snapshot:
    """Take a snapshot once all brokers know that one is down."""
    deadline = Deadline.after(CLOCK, 60_000)
    snapshot = snapshot_of(kafka)
    while not _is_gone(snapshot, broker_id) and deadline.pause(0.5):
        snapshot = snapshot_of(kafka)
    return snapshot


def _is_gone(snapshot: Snapshot, broker_id: int) -> bool:
    fenced = any(row.broker_id == broker_id and row.is_fenced for row in snapshot.of(BrokerRow))
    leads = any(row.leader_id == broker_id for row in snapshot.of(PartitionRow))
    return fenced and not leads
