"""Brokers of Kafka 4.4 refuse connections that are meant for another broker or another cluster (KIP-1242)."""

import pytest

from kafka_lagoon.client.access import access_to
from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.client.request_stats import RequestStats
from kafka_lagoon.client.session import Session
from kafka_lagoon.clock import Deadline
from kafka_lagoon.errors import ConnectionFailed
from kafka_lagoon.kafka_settings import KafkaSettings, checked
from kafka_lagoon.sandbox.kafka import LocalKafka
from tests.clock import CLOCK
from tests.integration.secured import Secured

pytestmark = pytest.mark.kafka


def open_at(kafka: LocalKafka, address_of: int, node_id: int, cluster_id: str | None) -> RequestStats:
    """Open a connection to the address of a broker, as if this broker of this cluster were there; return what was sent."""
    deadline, stats = Deadline.after(CLOCK, 10_000), RequestStats()
    settings = KafkaSettings(bootstrap_servers=kafka.bootstrap_servers)
    access = access_to(settings, CLOCK, stats, lambda: cluster_id)
    Session.open(node_id, *kafka.address(address_of), access, deadline).close()
    return stats


@pytest.fixture(scope="module")
def cluster_id(kafka: LocalKafka) -> str:
    """Return the id of the cluster."""
    settings, deadline = KafkaSettings(bootstrap_servers=kafka.bootstrap_servers), Deadline.after(CLOCK, 10_000)
    with Cluster.connect(settings, CLOCK, RequestStats(), deadline) as cluster:
        assert cluster.cluster_id is not None
        return cluster.cluster_id


def test_the_right_broker(kafka: LocalKafka, cluster_id: str) -> None:
    """The first request of the connection is ApiVersions with the ids, and the broker has no objection."""
    stats = open_at(kafka, 2, 2, cluster_id)
    assert stats.by_api["ApiVersions", 2].api_version == 5


@pytest.mark.parametrize(("node_id", "other"), [(2, None), (1, "another-cluster")])
def test_another_broker(kafka: LocalKafka, cluster_id: str, node_id: int, other: str | None) -> None:
    """The error names the broker that was meant."""
    meant = f"broker {node_id} of cluster {other or cluster_id} does not listen there: correct the broker's address"
    with pytest.raises(ConnectionFailed, match=meant):
        open_at(kafka, 1, node_id, other or cluster_id)


def test_another_broker_behind_sasl(secured: Secured) -> None:
    """Brokers look at the ids only once a connection is authenticated."""
    settings, deadline = checked(secured.settings("scram-tls")), Deadline.after(CLOCK, 20_000)
    with Cluster.connect(settings, CLOCK, RequestStats(), deadline) as cluster:
        access = access_to(settings, CLOCK, RequestStats(), lambda: cluster.cluster_id)
        broker = cluster.brokers[1]
        Session.open(1, broker.host, broker.port, access, deadline).close()
        with pytest.raises(ConnectionFailed, match=r"broker 2 of cluster .* does not listen there"):
            Session.open(2, broker.host, broker.port, access, deadline)


def test_before_the_cluster_is_known(kafka: LocalKafka) -> None:
    """Bootstrap servers are asked without ids."""
    assert open_at(kafka, 1, 2, None).by_api["ApiVersions", 2].answers == 1
