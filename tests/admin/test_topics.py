"""Topics of fake brokers: creation, deletion, new partitions, and deletion of records."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from kafka_lagoon.admin.topics import create_partitions, create_topics, delete_records, delete_topics, describe_topics
from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.client.failures import Failure
from kafka_lagoon.protocol.messages.create_partitions import CreatePartitionsTopic
from kafka_lagoon.protocol.messages.create_topics import BROKER_DEFAULT, CREATE_TOPICS, CreatableTopic
from kafka_lagoon.protocol.messages.delete_records import DELETE_RECORDS
from kafka_lagoon.protocol.messages.delete_topics import DELETE_TOPICS
from kafka_lagoon.protocol.messages.metadata import METADATA, MetadataTopic
from kafka_lagoon.topic_partition import TopicPartition
from kafka_lagoon.wire.primitives import uuid_text
from tests.admin.conftest import soon
from tests.fake.cluster import FakeCluster
from tests.fake.faults import Altered, Close, Fault

pytestmark = pytest.mark.usefixtures("topic_apis")


def new(name: str, partitions: int = BROKER_DEFAULT) -> CreatableTopic:
    return CreatableTopic(
        name=name, num_partitions=partitions, replication_factor=BROKER_DEFAULT, assignments=(), configs=()
    )


def test_describe_topics(state: FakeCluster, cluster: Cluster) -> None:
    """A topic that does not exist is None and no failure; without a response each topic has a failure."""
    described = describe_topics(cluster, ["orders", "absent"], soon())
    assert isinstance(described["orders"], MetadataTopic)
    assert described["absent"] is None
    assert describe_topics(cluster, [], soon()) == {}
    state.faults.append(Fault(METADATA.key, Close(), times=100))
    lost = describe_topics(cluster, ["orders", "absent"], soon())
    assert all(isinstance(known, Failure) for known in lost.values())
    assert set(lost) == {"orders", "absent"}


def test_create_topics(state: FakeCluster, cluster: Cluster) -> None:
    """The request is sent to the controller, also after it has changed; a refused topic has the reason, and stops no other."""
    state.controller_id = 2
    failures = create_topics(cluster, [new("a", 2), new("orders"), new("b")], soon())
    assert [(name, one.name, one.message) for name, one in failures.items()] == [
        ("orders", "TOPIC_ALREADY_EXISTS", "Topic 'orders' already exists.")
    ]
    assert len(state.topics["a"].partitions) == 2
    assert [node for node, key, _ in state.requests if key == CREATE_TOPICS.key] == [1, 2]


def test_validation_creates_nothing(state: FakeCluster, connect: Callable[[], Cluster]) -> None:
    """A validation is not sent to a broker of a version that would create the topic."""
    assert create_topics(connect(), [new("a")], soon(), validate_only=True) == {}
    assert set(state.topics) == {"orders"}
    state.highest[CREATE_TOPICS.key] = 0
    failures = create_topics(connect(), [new("a")], soon(), validate_only=True)
    assert failures["a"].name == "UNSUPPORTED_VERSION"
    assert set(state.topics) == {"orders"}


def test_a_creation_is_sent_once(state: FakeCluster, cluster: Cluster) -> None:
    """After a lost connection the failure says that the topic may have been created, and nothing is sent again."""
    state.faults.append(Fault(CREATE_TOPICS.key, Close()))
    failure = create_topics(cluster, [new("a")], soon())["a"]
    assert (failure.may_be_done, failure.name) == (True, "CONNECTION_LOST")
    assert state.count(CREATE_TOPICS.key) == 1


def test_large_topics_are_created_in_several_requests(state: FakeCluster, connect: Callable[..., Cluster]) -> None:
    """Controllers refuse more than 10,000 records of metadata at once."""
    # The fake broker makes 10,000 partitions.
    cluster = connect(request_timeout_ms=30_000, default_api_timeout_ms=30_000)
    assert create_topics(cluster, [new(f"t{number}", 2_000) for number in range(5)], soon()) == {}
    assert state.count(CREATE_TOPICS.key) == 3


def test_delete_topics_by_id(state: FakeCluster, cluster: Cluster) -> None:
    """Only the described topic is deleted; a topic that was re-created since stays."""
    topic_id = uuid_text(state.topics["orders"].topic_id)
    other = uuid_text(bytes(15) + b"\x63")
    failures = delete_topics(cluster, {"orders": topic_id, "re-created": other}, soon())
    assert {name: one.name for name, one in failures.items()} == {"re-created": "UNKNOWN_TOPIC_ID"}
    assert not state.topics


def test_results_of_other_topics_are_passed_over(state: FakeCluster, cluster: Cluster) -> None:
    """The topic has been deleted by then: an error would say that it may not."""
    topic_id = uuid_text(state.topics["orders"].topic_id)

    def with_another(answer: Any) -> Any:
        other = replace(answer.responses[0], name=None, topic_id=bytes(15) + b"\x63", error_code=29)
        return replace(answer, responses=(other, *answer.responses))

    state.faults.append(Fault(DELETE_TOPICS.key, Altered(with_another)))
    assert delete_topics(cluster, {"orders": topic_id}, soon()) == {}


def test_delete_topics_by_name(state: FakeCluster, cluster: Cluster) -> None:
    """Brokers before Kafka 2.8 have no ids."""
    state.highest[DELETE_TOPICS.key] = 5
    assert delete_topics(cluster, {"orders": None}, soon()) == {}
    assert not state.topics


def test_create_partitions(state: FakeCluster, cluster: Cluster) -> None:
    """The given number of partitions is the total."""
    wanted = [CreatePartitionsTopic(name="orders", count=8, assignments=None)]
    assert create_partitions(cluster, wanted, soon(), validate_only=True) == {}
    assert len(state.topics["orders"].partitions) == 6
    assert create_partitions(cluster, wanted, soon()) == {}
    assert len(state.topics["orders"].partitions) == 8


def test_delete_records(state: FakeCluster, cluster: Cluster) -> None:
    """Each leader gets a request for its own partitions."""
    offsets = {TopicPartition("orders", number): 10 + number for number in range(6)}
    assert delete_records(cluster, offsets, soon()) == {}
    assert [one.log_start_offset for one in state.topics["orders"].partitions] == [10, 11, 12, 13, 14, 15]
    assert sorted(node for node, key, _ in state.requests if key == DELETE_RECORDS.key) == [1, 2, 3]
