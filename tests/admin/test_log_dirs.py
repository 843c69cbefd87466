"""Log directories of fake brokers, and the sizes of replicas in them."""

from dataclasses import replace
from typing import Any

import pytest

from kafka_lagoon.admin.log_dirs import Replica, describe_log_dirs, move_replicas, replica_places, replica_sizes
from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.protocol.messages.alter_replica_log_dirs import ALTER_REPLICA_LOG_DIRS
from kafka_lagoon.protocol.messages.describe_log_dirs import DESCRIBE_LOG_DIRS
from kafka_lagoon.topic_partition import TopicPartition
from tests.admin.conftest import soon
from tests.fake.cluster import FakeCluster
from tests.fake.faults import Altered, Fault

ORDERS = [TopicPartition("orders", partition) for partition in range(6)]
OFFLINE = 56


def test_every_broker_answers_for_itself(state: FakeCluster, cluster: Cluster) -> None:
    """Each broker gets a request; results are in the order of their ids, and only of the named brokers."""
    log_dirs = describe_log_dirs(cluster, [3, 1], soon())
    assert list(log_dirs.answers) == [1, 3]
    assert not log_dirs.failures
    assert state.count(DESCRIBE_LOG_DIRS.key) == 2


def test_a_broken_directory_is_a_failure_beside_its_answer(state: FakeCluster, cluster: Cluster) -> None:
    """The other directories of its broker are still described."""

    def broken(response: Any) -> Any:
        first, *others = response.results
        return replace(response, results=(replace(first, error_code=OFFLINE, topics=()), *others))

    state.faults = [Fault(DESCRIBE_LOG_DIRS.key, Altered(broken), node_id=2)]
    log_dirs = describe_log_dirs(cluster, [1, 2], soon())
    assert set(log_dirs.answers) == {1, 2}
    [failure] = log_dirs.failures
    assert (failure.node_id, failure.name) == (2, "KAFKA_STORAGE_ERROR")


@pytest.mark.parametrize("version", [2, 5])
def test_an_empty_list_is_a_refusal(state: FakeCluster, cluster: Cluster, version: int) -> None:
    """Without DESCRIBE on the cluster brokers return an error from v3 on, and no directories before."""
    state.cluster_operations, state.highest[DESCRIBE_LOG_DIRS.key] = 0, version
    for broker in cluster.brokers.values():
        broker.close()
    log_dirs = describe_log_dirs(cluster, [1, 2], soon())
    assert not log_dirs.answers
    assert [failure.name for failure in log_dirs.failures] == ["CLUSTER_AUTHORIZATION_FAILED"] * 2


def test_sizes_are_the_leaders(state: FakeCluster, cluster: Cluster) -> None:
    """Sizes are those of the leaders' replicas, not of followers or of replicas that are moving to another directory."""
    for index, partition in enumerate(state.topics["orders"].partitions):
        partition.size = 1000 + index
    sizes = replica_sizes(cluster, ORDERS, soon())
    assert sizes.answers == {item: 1000 + item.partition for item in ORDERS}


@pytest.mark.parametrize("version", [2, 5])
def test_sizes_need_a_permission(state: FakeCluster, cluster: Cluster, version: int) -> None:
    """Without the permission every partition is a failure at once, with a response that is an error or an empty list."""
    state.cluster_operations, state.highest[DESCRIBE_LOG_DIRS.key] = 0, version
    for broker in cluster.brokers.values():
        broker.close()
    sizes = replica_sizes(cluster, ORDERS, soon())
    assert {failure.name for failure in sizes.failures.values()} == {"CLUSTER_AUTHORIZATION_FAILED"}
    assert set(sizes.failures) == set(ORDERS)
    assert state.count(DESCRIBE_LOG_DIRS.key) == 3


def test_a_partition_without_a_directory(state: FakeCluster, cluster: Cluster) -> None:
    """A partition without a directory is a failure, and the request is not repeated."""
    state.topics["orders"].partitions[0].replicas = ()
    sizes = replica_sizes(cluster, ORDERS[:2], soon())
    assert {item: failure.name for item, failure in sizes.failures.items()} == {ORDERS[0]: "LOG_DIR_NOT_FOUND"}
    assert set(sizes.answers) == {ORDERS[1]}


@pytest.mark.usefixtures("topic_apis")
def test_move_replicas(cluster: Cluster) -> None:
    """Each broker gets a request for its own replicas; a missing replica is an error at once."""
    ours, theirs, absent = Replica("orders", 0, 1), Replica("orders", 0, 2), Replica("orders", 1, 9)
    assert move_replicas(cluster, {ours: "/b", theirs: "/b"}, soon()) == {}
    gathered = replica_places(cluster, [ours, theirs, Replica("orders", 1, 1), absent], soon())
    assert [gathered.answers[one].log_dir for one in (ours, theirs)] == ["/b", "/b"]
    assert gathered.answers[Replica("orders", 1, 1)].log_dir == "/a"
    assert [(str(failure.scope), failure.name) for failure in gathered.failures.values()] == [
        ("orders-1 on broker 9", "BROKER_NOT_AVAILABLE")
    ]


@pytest.mark.usefixtures("topic_apis")
def test_a_move_that_is_answered_twice(state: FakeCluster, cluster: Cluster) -> None:
    """Two answers that differ are no success: the later one was believed."""

    def doubled(answer: Any) -> Any:
        (topic,) = answer.results
        (result,) = topic.partitions
        both = (replace(result, error_code=OFFLINE), result)
        return replace(answer, results=(replace(topic, partitions=both),))

    state.faults = [Fault(ALTER_REPLICA_LOG_DIRS.key, Altered(doubled))]
    replica = Replica("orders", 0, 1)
    failures = move_replicas(cluster, {replica: "/b"}, soon())
    assert [(one, failure.name, failure.may_be_done) for one, failure in failures.items()] == [
        (replica, "PROTOCOL_ERROR", True)
    ]


@pytest.mark.usefixtures("topic_apis")
def test_a_replica_that_is_not_there_is_not_moved(state: FakeCluster, cluster: Cluster) -> None:
    """The request is sent once: the broker stores the directory for a later replica, but reports that it has none."""
    state.topics["orders"].partitions[0].replicas = (2, 3)
    replica = Replica("orders", 0, 1)
    assert move_replicas(cluster, {replica: "/b"}, soon())[replica].name == "REPLICA_NOT_AVAILABLE"
    assert state.count(ALTER_REPLICA_LOG_DIRS.key) == 1
    assert replica_places(cluster, [replica], soon()).failures[replica].name == "LOG_DIR_NOT_FOUND"
