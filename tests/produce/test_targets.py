"""Topics to write to are described by brokers."""

from collections.abc import Callable
from typing import Any

import pytest

from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.errors import BrokerError
from kafka_lagoon.produce.targets import TargetTopic, describe_targets
from kafka_lagoon.protocol.messages.describe_configs import DESCRIBE_CONFIGS, TOPIC
from kafka_lagoon.protocol.messages.metadata import METADATA
from kafka_lagoon.records.compressing import CODECS
from kafka_lagoon.topic_partition import TopicPartition
from tests.fake.cluster import FakeCluster
from tests.fake.faults import Altered, Fault
from tests.produce.conftest import soon

Connect = Callable[[], Cluster]
TOPIC_AUTHORIZATION_FAILED = 29


def test_topics_are_described(state: FakeCluster, connect: Connect) -> None:
    """A target has the number of partitions, the topic id and the largest batch; the leaders are known afterwards."""
    state.add_topic("news", 3, end=0)
    state.topics["news"].max_message_bytes = 5_000
    state.topics["news"].partitions[1].leader_id = -1
    cluster = connect()
    targets = describe_targets(cluster, {"news", "orders"}, soon())
    news = TargetTopic(topic="news", topic_id=state.topics["news"].topic_id, partitions=3, max_batch_bytes=5_000)
    assert targets["news"] == news
    state.configs[TOPIC, "news"] = {"compression.type": "lz4"}
    (described,) = describe_targets(cluster, {"news"}, soon()).values()
    assert [name for name, codec in CODECS.items() if described.keeps(codec)] == ["lz4"]
    assert all(map(news.keeps, CODECS.values()))
    assert targets["orders"].max_batch_bytes is None
    assert (news.available(cluster), targets["orders"].available(cluster)) == ([0, 2], list(range(6)))


def test_configs_that_cannot_be_described(state: FakeCluster, connect: Connect) -> None:
    """The largest batch is unknown; everything else is known."""

    def refuse(answer: Any) -> Any:
        for result in answer.results:
            result.error_code, result.configs = TOPIC_AUTHORIZATION_FAILED, ()
        return answer

    state.faults.append(Fault(DESCRIBE_CONFIGS.key, Altered(refuse), times=100))
    targets = describe_targets(connect(), {"orders"}, soon())
    assert (targets["orders"].partitions, targets["orders"].max_batch_bytes) == (6, None)


@pytest.mark.parametrize("late", [(1,), (2,), (3,), (1, 2), (2, 3), (1, 3)])
def test_brokers_that_learn_a_topic_late(state: FakeCluster, connect: Connect, late: tuple[int, ...]) -> None:
    """A topic that some brokers deny exists if another one describes it."""

    def denied(answer: Any) -> Any:
        for topic in answer.topics:
            if topic.name == "news":
                topic.error_code, topic.partitions, topic.topic_id = 3, (), bytes(16)
        return answer

    state.add_topic("news", 3, end=0)
    state.faults += [Fault(METADATA.key, Altered(denied), node_id=node_id, times=100) for node_id in late]
    cluster = connect()
    assert describe_targets(cluster, {"news", "orders"}, soon())["news"].partitions == 3
    assert all(cluster.leader_of(TopicPartition("news", number)) for number in range(3))


def test_a_topic_that_does_not_exist(connect: Connect) -> None:
    """The error is raised before anything is written, and the topic is not created."""
    with pytest.raises(BrokerError, match="UNKNOWN_TOPIC_OR_PARTITION"):
        describe_targets(connect(), {"orders", "nosuch"}, soon())
