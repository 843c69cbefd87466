"""The state that a plan begins with is what two brokers describe; real clusters are read in integration/test_plan.py."""

from dataclasses import replace

from kafka_lagoon.apply.checks import faults_of
from kafka_lagoon.apply.diff import diff
from kafka_lagoon.apply.live import Wanted, read_live
from kafka_lagoon.apply.plan import wanted_of
from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.protocol.messages.describe_configs import CLIENT_METRICS
from kafka_lagoon.protocol.messages.metadata import METADATA, MetadataResponse
from tests.admin.conftest import cluster, soon
from tests.apply.lives import desired
from tests.fake.cluster import FakeCluster
from tests.fake.faults import Altered, Fault

__all__ = ["cluster"]  # a fixture of tests/admin


def _is_behind(metadata: MetadataResponse) -> MetadataResponse:
    """Name neither the last broker nor the last partition of a topic."""
    topics = (replace(topic, partitions=topic.partitions[:-1]) for topic in metadata.topics)
    return replace(metadata, brokers=metadata.brokers[:-1], topics=tuple(topics))


def test_a_broker_that_is_behind(state: FakeCluster, cluster: Cluster) -> None:
    """Its description of the cluster is not what alterations are planned from."""
    state.faults.append(Fault(METADATA.key, Altered(_is_behind), node_id=1, times=1_000))
    live = read_live(cluster, Wanted(), soon())
    assert sorted(live.racks) == [1, 2, 3]
    assert len(live.topics["orders"].partitions) == 6
    assert live.failures == []


def test_a_subscription_that_brokers_describe_without_keys(state: FakeCluster, cluster: Cluster) -> None:
    """Brokers of Kafka 3 describe only keys that are set; the others are known too, and a new subscription is created."""
    text = '[client_metrics.new]\n"interval.ms" = 5000\nmetrics = ["org.apache.kafka."]\n'
    live = read_live(cluster, wanted_of(desired(text)), soon())
    assert faults_of(desired(text), live) == []
    (action,) = diff(desired(text), live)
    assert (action.resource.name, action.after) == ("new", {"interval.ms": "5000", "metrics": "org.apache.kafka."})
    state.configs[CLIENT_METRICS, "new"] = {"interval.ms": "5000"}
    live = read_live(cluster, wanted_of(desired(text)), soon())
    (action,) = diff(desired(text), live)
    assert action.after == {"metrics": "org.apache.kafka."}
    misspelt = desired("[client_metrics.new]\nmetrix = 'x'\n")
    (fault,) = faults_of(misspelt, live)
    assert "metrix: is no config of a client metrics (did you mean metrics?)" in fault
