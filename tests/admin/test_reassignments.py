"""Reassignments of a fake cluster, as its controller lists them."""

from dataclasses import replace

import pytest

from kafka_lagoon.admin.reassignments import alter_reassignments, list_reassignments
from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.client.failures import Failure
from kafka_lagoon.protocol.messages.alter_partition_reassignments import ALTER_PARTITION_REASSIGNMENTS
from kafka_lagoon.protocol.messages.list_partition_reassignments import (
    LIST_PARTITION_REASSIGNMENTS,
    ListPartitionReassignmentsResponse,
    OngoingPartitionReassignment,
    OngoingTopicReassignment,
)
from kafka_lagoon.topic_partition import TopicPartition
from tests.admin.conftest import soon
from tests.fake.cluster import FakeCluster
from tests.fake.faults import Altered, Close, Fault

MOVING = OngoingTopicReassignment(
    name="orders",
    partitions=(
        OngoingPartitionReassignment(
            partition_index=0, replicas=(1, 2, 3), adding_replicas=(3,), removing_replicas=(1,)
        ),
    ),
)


def test_the_controller_answers(state: FakeCluster, cluster: Cluster) -> None:
    """The controller is looked up again if another broker has become controller. Without KRaft no other broker answers."""
    state.reassignments = (MOVING,)
    state.controller_id = 3
    response = list_reassignments(cluster, soon())
    assert not isinstance(response, Failure)
    assert response.topics == (MOVING,)
    assert [node for node, key, _ in state.requests if key == LIST_PARTITION_REASSIGNMENTS.key] == [1, 3, 1]


def test_one_broker_is_not_believed(state: FakeCluster, cluster: Cluster) -> None:
    """Under KRaft brokers pass the controller's list on. Where two differ, a third one decides."""
    state.reassignments = (MOVING,)
    passed_on = Altered(lambda response: replace(response, error_code=0, topics=(MOVING,)))
    state.faults += [Fault(LIST_PARTITION_REASSIGNMENTS.key, passed_on, node_id=node) for node in (2, 3)]
    reversed_replicas = replace(MOVING.partitions[0], replicas=(3, 2, 1))
    altered = Altered(lambda response: replace(response, topics=(replace(MOVING, partitions=(reversed_replicas,)),)))
    state.faults.append(Fault(LIST_PARTITION_REASSIGNMENTS.key, altered, node_id=1))
    response = list_reassignments(cluster, soon())
    assert not isinstance(response, Failure)
    assert response.topics == (MOVING,)


@pytest.mark.parametrize(
    ("partitions", "reason"),
    [
        (MOVING.partitions * 2, "orders-0 is listed twice"),
        ((replace(MOVING.partitions[0], adding_replicas=(), removing_replicas=()),), "no replica"),
        ((replace(MOVING.partitions[0], adding_replicas=(3, 3)),), "does not have once each"),
        ((replace(MOVING.partitions[0], removing_replicas=(1, 1)),), "does not have once each"),
        ((replace(MOVING.partitions[0], replicas=(1, 2)),), "does not have once each"),
        ((replace(MOVING.partitions[0], replicas=(1, 2, 3, 3)),), "does not have once each"),
    ],
)
def test_moves_that_no_controller_lists(
    state: FakeCluster, cluster: Cluster, partitions: tuple[OngoingPartitionReassignment, ...], reason: str
) -> None:
    """They are a failure, whoever answers."""
    state.reassignments = (replace(MOVING, partitions=partitions),)
    response = list_reassignments(cluster, soon())
    assert isinstance(response, Failure)
    assert response.name == "CONTRADICTORY_ANSWER"
    assert reason in str(response.message)


def test_a_replica_that_is_added_and_removed(state: FakeCluster, cluster: Cluster) -> None:
    """KRaft lists it, in a move that was altered while it added the replica."""
    state.reassignments = (replace(MOVING, partitions=(replace(MOVING.partitions[0], removing_replicas=(3,)),)),)
    response = list_reassignments(cluster, soon())
    assert isinstance(response, ListPartitionReassignmentsResponse)
    assert response.topics == state.reassignments


def test_nothing_waits_for_a_controller(state: FakeCluster, cluster: Cluster) -> None:
    """A cluster without a controller fails soon, not when the deadline has passed."""
    state.controller_id = -1
    response = list_reassignments(cluster, soon())
    assert isinstance(response, Failure)
    assert response.name == "NOT_CONTROLLER"


@pytest.mark.usefixtures("topic_apis")
def test_alter_reassignments(state: FakeCluster, cluster: Cluster) -> None:
    """The request is sent to the current controller; an error of the whole request is a failure of every partition."""
    state.controller_id = 2
    targets = {TopicPartition("orders", 0): [3, 2], TopicPartition("orders", 1): None}
    assert alter_reassignments(cluster, targets, soon()) == {}
    assert state.topics["orders"].partitions[0].replicas == (3, 2)
    state.faults.append(Fault(ALTER_PARTITION_REASSIGNMENTS.key, Close()))
    lost = alter_reassignments(cluster, targets, soon())
    assert {failure.may_be_done for failure in lost.values()} == {True}
    assert set(lost) == set(targets)
