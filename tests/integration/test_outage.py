"""A broker that is down, as reported by the last line of a snapshot, against Kafka's own tool."""

from collections.abc import Iterator

import pytest

from kafka_lagoon.cli.summary import snapshot_line
from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.client.request_stats import RequestStats
from kafka_lagoon.clock import Deadline
from kafka_lagoon.kafka_settings import KafkaSettings
from kafka_lagoon.sandbox.kafka import LocalKafka
from kafka_lagoon.snapshot.collect import collect
from kafka_lagoon.tables.cluster_rows import BrokerRow, PartitionRow
from kafka_lagoon.tables.snapshot_rows import Snapshot
from tests.clock import CLOCK
from tests.integration import every_broker
from tests.integration import kafka_tools as tools

TOPIC, STOPPED = "outage", 3


@pytest.fixture
def without_one(kafka: LocalKafka) -> Iterator[LocalKafka]:
    """Stop a broker of the cluster, with a topic on all of its brokers; restore the cluster's health after the test."""
    where = ("--bootstrap-server", kafka.bootstrap_servers)
    kafka.tool(tools.TOPICS, *where, "--create", "--topic", TOPIC, "--partitions", "4", "--replication-factor", "3")
    every_broker.knows_topics(kafka.bootstrap_servers, [TOPIC])
    kafka.stop(STOPPED)
    yield kafka
    kafka.start(STOPPED)
    deadline = Deadline.after(CLOCK, 60_000)
    while any(row.is_under_replicated for row in taken(kafka).of(PartitionRow)) and deadline.pause(0.5):
        pass


def taken(kafka: LocalKafka) -> Snapshot:
    deadline = Deadline.after(CLOCK, 60_000)
    settings = KafkaSettings(bootstrap_servers=kafka.bootstrap_servers, default_api_timeout_ms=5_000)
    with Cluster.connect(settings, CLOCK, RequestStats(), deadline) as cluster:
        return collect(cluster, "prod", 0, deadline, lambda *_: None)


@pytest.mark.proof
def test_a_stopped_broker_is_reported(without_one: LocalKafka) -> None:
    """It is fenced, and the affected partitions equal those of Kafka's own tool; the snapshot is complete all the same."""
    snapshot = taken(without_one)
    described = tools.topics(without_one)
    under = sum(len(one.isr) < len(one.replicas) for one in described.values())
    leaderless = sum(one.leader_id is None for one in described.values())
    assert under >= 4
    expected = f"1 of 3 brokers fenced, {under:,} partitions under-replicated, {leaderless:,} leaderless, "
    assert expected in snapshot_line(snapshot, "/lake", 1.0)
    assert [row.broker_id for row in snapshot.of(BrokerRow) if row.is_fenced] == [STOPPED]
    assert snapshot.published.status == ("partial" if leaderless else "complete")
