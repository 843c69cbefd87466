"""Lists of groups by a broker that has just restarted, and the keys by which coordinators are asked, on real brokers."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread

import pytest
from confluent_kafka import Consumer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from kafka_lagoon.admin.coordinator_lists import GROUPS, keys_of_partitions
from kafka_lagoon.admin.groups import list_groups
from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.client.request_stats import RequestStats
from kafka_lagoon.clock import Deadline
from kafka_lagoon.kafka_settings import KafkaSettings
from kafka_lagoon.sandbox.kafka import LocalKafka
from tests.clock import CLOCK
from tests.integration import every_broker

TOPIC, PARTITIONS = "restarted", 1_000  # as many as make a broker take a moment until it leads them
IDS = {f"group-{number}" for number in range(20)}


@contextmanager
def connected(kafka: LocalKafka) -> Iterator[tuple[Cluster, Deadline]]:
    deadline = Deadline.after(CLOCK, 60_000)
    settings = KafkaSettings(bootstrap_servers=kafka.bootstrap_servers)
    with Cluster.connect(settings, CLOCK, RequestStats(), deadline, waits=True) as cluster:
        yield cluster, deadline


def commit(kafka: LocalKafka, group_id: str) -> None:
    """Commit an offset of the topic's first partition."""
    consumer = Consumer({"bootstrap.servers": kafka.bootstrap_servers, "group.id": group_id, "log_level": 0})
    consumer.commit(offsets=[TopicPartition(TOPIC, 0, 0)], asynchronous=False)
    consumer.close()


@pytest.fixture
def alone(tmp_path: Path) -> Iterator[LocalKafka]:
    """A broker with many partitions and twenty groups."""
    with LocalKafka(tmp_path / "kafka") as kafka:
        client = AdminClient({"bootstrap.servers": kafka.bootstrap_servers, "log_level": 0})
        client.create_topics([NewTopic(TOPIC, PARTITIONS, 1)])[TOPIC].result()
        every_broker.knows_topics(kafka.bootstrap_servers, [TOPIC])
        for group_id in sorted(IDS):
            commit(kafka, group_id)
        yield kafka


@pytest.mark.proof
def test_a_broker_that_has_just_restarted(alone: LocalKafka) -> None:
    """Whoever waits for it lists all groups at once."""
    for end in (alone.stop, alone.kill):
        end(1)
        start = Thread(target=alone.start, args=(1,))
        start.start()
        with connected(alone) as (cluster, deadline):
            listings = list_groups(cluster, deadline)
        start.join()
        assert (set(listings.groups), listings.failures) == (IDS, [])


def test_the_coordinators_of_the_keys(kafka: LocalKafka) -> None:
    """The coordinator of each key, as brokers name it, is the leader of the partition that the key is for."""
    with connected(kafka) as (cluster, deadline):
        cluster.find_coordinators(["creates the topic of groups"], deadline)
        every_broker.knows_topics(kafka.bootstrap_servers, [GROUPS.topic])
        (topic,) = cluster.refresh([GROUPS.topic], deadline).topics
        keys = keys_of_partitions(len(topic.partitions))
        assert not cluster.find_coordinators(list(keys.values()), deadline)
        leaders = {one.partition_index: one.leader_id for one in topic.partitions}
        assert {partition: cluster.coordinator_of(key) for partition, key in keys.items()} == leaders
    assert len(set(leaders.values())) > 1
