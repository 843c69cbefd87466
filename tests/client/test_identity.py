"""Names in responses: names of Kafka and similar brokers are accepted, paths and control characters are refused."""

import pytest

from kafka_lagoon.client.identity import cluster_id_fault, host_fault, topic_fault

HOSTILE = ("", ".", "..", "../victim", "a/b", "a b", "a\nb", "a\x1b[2J", "a\u202eb", "a\udcff", "é", "a" * 300)


@pytest.mark.parametrize(
    "cluster_id",
    [
        "vPeOCWypqUOSepEvx0cbog",  # ids of Kafka
        "-GtCrhpIT7mJLj3cQ-PqYg",  # before 2.8 an id could begin with a dash
        "redpanda.0d8d6d5c-7b4f-4c55-9d36-0a5b0f6d1d35",
        "lkc-abc123",
        "kfake",
        "mockCluster7f2a3c",
        "my_cluster.example.org",
    ],
)
def test_ids_of_clusters(cluster_id: str) -> None:
    """Ids of Kafka, Redpanda, Confluent Cloud, franz-go's kfake and librdkafka's mock are accepted."""
    assert cluster_id_fault(cluster_id) is None


@pytest.mark.parametrize("cluster_id", [*HOSTILE, ".hidden", "a:b", "C:\\x", "%2e%2e"])
def test_what_is_no_id_of_a_cluster(cluster_id: str) -> None:
    """The reason is one line that can be printed safely."""
    reason = cluster_id_fault(cluster_id)
    assert reason is not None
    assert reason.isprintable()
    assert len(reason) < 250


@pytest.mark.parametrize("topic", ["orders", "__consumer_offsets", "a.b-c_D9", "...", "-", "a" * 249])
def test_names_of_topics(topic: str) -> None:
    """Names are checked as by Topic.validate of Kafka's clients."""
    assert topic_fault(topic) is None


@pytest.mark.parametrize("topic", [*HOSTILE, "a" * 250, "a:b"])
def test_what_is_no_name_of_a_topic(topic: str) -> None:
    """Names are checked as by Topic.validate."""
    assert (topic_fault(topic) or "").isprintable()
    assert topic_fault(topic)


@pytest.mark.parametrize(
    "host", ["kafka-1.example.org", "kafka.example.org.", "kafka_1", "10.0.0.7", "::1", "fe80::1%eth0", "2001:db8::7"]
)
def test_hosts(host: str) -> None:
    """Hosts may be names of DNS and containers, and addresses."""
    assert host_fault(host) is None


@pytest.mark.parametrize("host", [*HOSTILE[0:1], *HOSTILE[3:], "a:b", "[::1]", "fe80::1%a b", "1::2::3", "@", "a,b"])
def test_what_is_no_host(host: str) -> None:
    """Such hosts are not looked up."""
    assert (host_fault(host) or "").isprintable()
    assert host_fault(host)
