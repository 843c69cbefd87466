"""The metadata quorum of fake brokers."""

from dataclasses import replace

import pytest

from kafka_lagoon.admin.quorum import describe_quorum, quorum_failures, quorum_partitions
from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.client.failures import Failure
from kafka_lagoon.protocol.messages.describe_quorum import (
    DESCRIBE_QUORUM,
    METADATA_TOPIC,
    DescribeQuorumResponse,
    QuorumListener,
    QuorumNode,
    QuorumPartition,
    QuorumReplica,
    QuorumTopic,
)
from tests.admin.conftest import soon
from tests.fake.cluster import FakeCluster
from tests.fake.faults import Altered, Fault

NOT_LEADER_OR_FOLLOWER, NOT_CONTROLLER = 6, 41
LOG = QuorumPartition(
    partition_index=0,
    error_code=0,
    leader_id=3001,
    leader_epoch=7,
    high_watermark=10,
    current_voters=(),
    observers=(),
)


@pytest.mark.usefixtures("kraft")
def test_any_broker_answers(state: FakeCluster, cluster: Cluster) -> None:
    """The quorum has the metadata log as its leader sees it."""
    state.quorum = LOG
    response = describe_quorum(cluster, soon())
    assert not isinstance(response, Failure)
    assert list(quorum_partitions(response)) == [LOG]
    assert list(quorum_failures(response)) == []


@pytest.mark.usefixtures("kraft")
def test_an_error_inside_the_answer_is_a_failure(state: FakeCluster, cluster: Cluster) -> None:
    """The error is in the partition of the response, although the response as a whole has error 0."""
    state.quorum = replace(LOG, error_code=NOT_CONTROLLER)
    response = describe_quorum(cluster, soon())
    assert not isinstance(response, Failure)
    assert [failure.name for failure in quorum_failures(response)] == ["NOT_CONTROLLER"]


@pytest.mark.usefixtures("kraft")
def test_an_election_of_the_controller_is_waited_for(state: FakeCluster, cluster: Cluster) -> None:
    """Brokers forward to the former leader for a moment, and Kafka's Admin client sends the request again, too."""

    def former(response: DescribeQuorumResponse) -> DescribeQuorumResponse:
        refused = replace(LOG, error_code=NOT_LEADER_OR_FOLLOWER, leader_id=0)
        return replace(response, topics=(QuorumTopic(topic_name=METADATA_TOPIC, partitions=(refused,)),))

    state.quorum = LOG
    state.faults = [Fault(DESCRIBE_QUORUM.key, Altered(former), times=5)]
    response = describe_quorum(cluster, soon())
    assert not isinstance(response, Failure)
    assert list(quorum_failures(response)) == []
    assert [partition.leader_id for partition in quorum_partitions(response)] == [LOG.leader_id]


@pytest.mark.usefixtures("kraft")
def test_an_election_between_two_answers(state: FakeCluster, cluster: Cluster) -> None:
    """Three answers differ if the first one is the former leader's, and the last one the next leader's."""

    def altered(**fields: int) -> Altered:
        log = QuorumTopic(topic_name=METADATA_TOPIC, partitions=(replace(LOG, **fields),))
        return Altered(lambda response: replace(response, topics=(log,)))

    state.quorum = LOG
    state.faults = [
        Fault(DESCRIBE_QUORUM.key, altered(leader_id=3002, leader_epoch=6), times=1),
        Fault(DESCRIBE_QUORUM.key, altered(error_code=NOT_LEADER_OR_FOLLOWER), times=1),
    ]
    response = describe_quorum(cluster, soon())
    assert not isinstance(response, Failure)
    assert [partition.leader_epoch for partition in quorum_partitions(response)] == [LOG.leader_epoch]


@pytest.mark.usefixtures("kraft")
def test_one_broker_that_names_another_leader(state: FakeCluster, cluster: Cluster) -> None:
    """The leader is the one that two brokers name; offsets, which move between two requests, may differ."""

    def altered(**fields: int) -> Altered:
        log = QuorumTopic(topic_name=METADATA_TOPIC, partitions=(replace(LOG, **fields),))
        return Altered(lambda response: replace(response, topics=(log,)))

    state.quorum = LOG
    state.faults = [
        Fault(DESCRIBE_QUORUM.key, altered(leader_id=3002), node_id=1),
        Fault(DESCRIBE_QUORUM.key, altered(high_watermark=11), node_id=2),
    ]
    response = describe_quorum(cluster, soon())
    assert not isinstance(response, Failure)
    assert [partition.leader_id for partition in quorum_partitions(response)] == [LOG.leader_id]


@pytest.mark.usefixtures("kraft")
def test_a_listener_twice(state: FakeCluster, cluster: Cluster) -> None:
    """It is a failure: nobody can know which of them is true."""
    listeners = tuple(QuorumListener(name="CONTROLLER", host="h", port=port) for port in (1, 2))

    def twice(response: DescribeQuorumResponse) -> DescribeQuorumResponse:
        return replace(response, nodes=(QuorumNode(node_id=3001, listeners=listeners),))

    state.quorum = LOG
    state.faults = [Fault(DESCRIBE_QUORUM.key, Altered(twice), times=2)]
    response = describe_quorum(cluster, soon())
    assert not isinstance(response, Failure)
    assert [failure.name for failure in quorum_failures(response)] == ["CONTRADICTORY_ANSWER"]


@pytest.mark.usefixtures("kraft")
def test_a_replica_twice(state: FakeCluster, cluster: Cluster) -> None:
    """A controller votes once, and no voter is an observer."""
    replica = QuorumReplica(replica_id=3001, log_end_offset=10)
    for log in (
        replace(LOG, current_voters=(replica, replica)),
        replace(LOG, current_voters=(replica,), observers=(replica,)),
    ):
        state.quorum = log
        response = describe_quorum(cluster, soon())
        assert not isinstance(response, Failure)
        assert [failure.name for failure in quorum_failures(response)] == ["CONTRADICTORY_ANSWER"]


@pytest.mark.usefixtures("kraft")
def test_the_metadata_log_twice(state: FakeCluster, cluster: Cluster) -> None:
    """In one list or in two: there is one metadata log with one partition."""

    def partition_twice(response: DescribeQuorumResponse) -> DescribeQuorumResponse:
        (topic,) = response.topics
        return replace(response, topics=(replace(topic, partitions=topic.partitions * 2),))

    def topic_twice(response: DescribeQuorumResponse) -> DescribeQuorumResponse:
        return replace(response, topics=response.topics * 2)

    state.quorum = LOG
    for twice in (partition_twice, topic_twice):
        state.faults = [Fault(DESCRIBE_QUORUM.key, Altered(twice), times=2)]
        response = describe_quorum(cluster, soon())
        assert not isinstance(response, Failure)
        assert [failure.name for failure in quorum_failures(response)] == ["CONTRADICTORY_ANSWER"]


def test_brokers_on_zookeeper_have_no_quorum(cluster: Cluster) -> None:
    """Brokers on ZooKeeper do not offer the API."""
    refused = describe_quorum(cluster, soon())
    assert isinstance(refused, Failure)
    assert refused.name == "UNSUPPORTED_VERSION"


@pytest.mark.usefixtures("kraft")
def test_an_answer_without_the_metadata_log(state: FakeCluster, cluster: Cluster) -> None:
    """It is a failure: a quorum without replicas does not exist."""
    state.quorum = replace(LOG, partition_index=1)
    response = describe_quorum(cluster, soon())
    assert not isinstance(response, Failure)
    assert [failure.name for failure in quorum_failures(response)] == ["NOT_RETURNED"]
