"""Odd names from a broker, and a cluster with another id than in the settings, in `lagoon kafka`."""

from dataclasses import replace

from kafka_lagoon.protocol.messages.describe_cluster import DESCRIBE_CLUSTER
from kafka_lagoon.protocol.messages.metadata import METADATA
from tests.cli.kafka.conftest import Ask
from tests.fake.cluster import FakeCluster
from tests.fake.faults import Altered, Fault


def test_a_pinned_cluster(ask: Ask) -> None:
    """The right id changes nothing; another id is a configuration error for every verb."""
    assert ask("metadata", "--only", "topic", "--set", "kafka.cluster_id=fake").code == 0
    for verb in ("metadata", "groups", "lag", "fetch orders:0"):
        refused = ask(*verb.split(), "--set", "kafka.cluster_id=other")
        assert (refused.code, refused.out) == (2, "")
        assert "cluster_id: expected other, and the cluster at 127.0.0.1:" in refused.err


def test_a_bad_cluster_id(state: FakeCluster, ask: Ask) -> None:
    """One line, exit 1."""
    change = Altered(lambda answer: replace(answer, cluster_id="../victim\x1b[2J"))
    state.faults.append(Fault(METADATA.key, change, times=1_000))
    refused = ask("metadata")
    assert (refused.code, refused.out) == (1, "")
    assert "`../victim\\u001b[2J` is not a cluster id" in refused.err


def test_a_name_that_is_refused_is_a_failure(state: FakeCluster, ask: Ask) -> None:
    """All other topics are shown; exit 3."""
    state.add_topic("../x", 1)
    shown = ask("metadata", "--only", "topic", "--json")
    assert [row["topic"] for row in shown.rows("topic")] == ["orders", "other"]
    assert shown.code == 3
    assert "topic ../x: Metadata: NAME_REFUSED (`../x` is not a name of a topic" in shown.err


def test_a_description_of_another_cluster(state: FakeCluster, ask: Ask) -> None:
    """If DescribeCluster and Metadata contradict each other, the description is discarded."""
    change = Altered(lambda answer: replace(answer, cluster_id="other", cluster_authorized_operations=-1))
    state.faults.append(Fault(DESCRIBE_CLUSTER.key, change, times=1_000))
    shown = ask("metadata")
    assert shown.code == 3
    assert "DescribeCluster: CONTRADICTORY_ANSWER" in shown.err
