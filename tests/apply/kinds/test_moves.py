"""Moves of partitions to other brokers, and of replicas to other directories, by actions."""

from dataclasses import replace
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_lagoon.admin.log_dirs import Replica, ReplicaPlace
from kafka_lagoon.apply.kinds.moves import (
    CANCEL_REASSIGNMENT,
    MOVE_REPLICA,
    REASSIGN_PARTITION,
    cancel,
    move_replica,
    placements,
    reassign,
    replica_of,
    replica_resource,
)
from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.client.failures import Failure
from kafka_lagoon.protocol.error_codes import CLUSTER_AUTHORIZATION_FAILED, NO_REASSIGNMENT_IN_PROGRESS
from kafka_lagoon.protocol.messages.alter_partition_reassignments import (
    ALTER_PARTITION_REASSIGNMENTS,
    AlterPartitionReassignmentsResponse,
)
from kafka_lagoon.protocol.messages.alter_replica_log_dirs import ALTER_REPLICA_LOG_DIRS
from kafka_lagoon.protocol.messages.list_partition_reassignments import (
    LIST_PARTITION_REASSIGNMENTS,
    OngoingPartitionReassignment,
    OngoingTopicReassignment,
)
from kafka_lagoon.topic_partition import TopicPartition
from tests.admin.conftest import soon
from tests.apply.kinds.conftest import CarryOut
from tests.apply.kinds.endings import endings, lost, not_done
from tests.fake.cluster import FakeCluster
from tests.fake.faults import Altered, Fault

ORDERS_0 = TopicPartition("orders", 0)
MOVING = {"replicas": [2, 3, 1], "adding": [2], "removing": [1]}


def test_moves_that_nobody_needs() -> None:
    """No action is planned for a partition that is in place or being moved there, and no cancellation without a move."""
    assert reassign(ORDERS_0, {"replicas": [1, 2]}, [1, 2]) is None
    assert reassign(ORDERS_0, MOVING, [2, 3]) is None
    assert cancel(ORDERS_0, {"replicas": [1, 2]}) is None
    assert move_replica(Replica(*ORDERS_0, 1), ReplicaPlace(log_dir="/a", future_log_dir="/b"), "/b") is None


def test_moves() -> None:
    """Another order of replicas is a move, because the first replica leads; plans report moves under way."""
    reordered, elsewhere, stopped = (
        reassign(ORDERS_0, {"replicas": [1, 2]}, [2, 1]),
        reassign(ORDERS_0, MOVING, [3, 1]),
        cancel(ORDERS_0, MOVING),
    )
    assert reordered
    assert elsewhere
    assert stopped
    assert reordered.after == {"replicas": [2, 1]}
    assert elsewhere.before == MOVING
    assert stopped.after == {"replicas": [3, 1]}
    assert REASSIGN_PARTITION.is_done(elsewhere, {"replicas": [3, 1, 2], "adding": [1], "removing": [2]})
    assert not REASSIGN_PARTITION.is_done(elsewhere, MOVING)
    assert CANCEL_REASSIGNMENT.is_done(stopped, {"replicas": [3, 1]})
    assert not CANCEL_REASSIGNMENT.is_done(stopped, MOVING)


def test_what_is_under_way_is_in_the_state() -> None:
    """A move that only removes or only adds replicas is cancelled, too; a copy that is under way can be called off."""
    for adding, removing, stays in (([], [3], [1, 2, 3]), ([3], [], [1, 2])):
        placement = {"replicas": [1, 2, 3], "adding": adding, "removing": removing}
        stopped = cancel(ORDERS_0, placement)
        assert stopped
        assert (stopped.before, stopped.after) == (placement, {"replicas": stays})
        assert not CANCEL_REASSIGNMENT.is_done(stopped, placement)
    copied = ReplicaPlace(log_dir="/a", future_log_dir="/b")
    assert move_replica(Replica(*ORDERS_0, 1), copied, "/b") is None
    back = move_replica(Replica(*ORDERS_0, 1), copied, "/a")
    assert back
    assert (back.before, back.after) == ({"log_dir": "/a", "future_log_dir": "/b"}, {"log_dir": "/a"})


def test_a_copy_that_was_not_called_off() -> None:
    """A replica that is still copied to another directory is in its old one: that is no sign that the copy was called off."""
    copied = ReplicaPlace(log_dir="/a", future_log_dir="/b")
    back = move_replica(Replica(*ORDERS_0, 1), copied, "/a")
    assert back
    assert not MOVE_REPLICA.is_done(back, back.before)
    assert MOVE_REPLICA.is_done(back, {"log_dir": "/a"})


def test_a_move_that_was_completed_is_not_cancelled() -> None:
    """Without an answer only the replicas tell whether a move was cancelled, or was completed before that."""
    stopped = cancel(ORDERS_0, MOVING)
    assert stopped
    assert not CANCEL_REASSIGNMENT.is_done(stopped, {"replicas": [2, 3]})
    assert CANCEL_REASSIGNMENT.is_done(stopped, {"replicas": [3, 1]})


def test_placements(state: FakeCluster, cluster: Cluster) -> None:
    """The placement of a moving partition includes the brokers that are added and removed."""
    moving = OngoingPartitionReassignment(
        partition_index=0, replicas=(2, 3, 1), adding_replicas=(2,), removing_replicas=(1,)
    )
    state.reassignments = (OngoingTopicReassignment(name="orders", partitions=(moving,)),)
    absent = TopicPartition("absent", 0)
    known = placements(cluster, [ORDERS_0, TopicPartition("orders", 1), absent], soon())
    assert known[ORDERS_0] == MOVING
    assert known[TopicPartition("orders", 1)] == {"replicas": [2, 3, 1]}
    assert isinstance(known[absent], Failure)


def test_moves_that_are_refused_are_not_taken_for_none(state: FakeCluster, cluster: Cluster) -> None:
    """A controller that answers UNSUPPORTED_VERSION knows the list of moves; one that does not offer it has none."""
    state.faults.append(
        Fault(LIST_PARTITION_REASSIGNMENTS.key, Altered(lambda response: replace(response, error_code=35)))
    )
    refused = placements(cluster, [ORDERS_0], soon())[ORDERS_0]
    assert isinstance(refused, Failure)
    assert refused.code == 35


@pytest.mark.parametrize(
    ("replicas", "requests"),
    [
        ([3, 1], 2),  # back: 2 would be waited for
        ([2, 3, 1], 2),  # one more: 1 would be removed
        ([4, 2, 3, 1], 2),
        ([2, 1], 1),  # removes 3 instead, and adds 2 as before
        ([4, 3], 1),  # both lists are new
    ],
)
def test_a_move_that_kraft_would_mix(state: FakeCluster, cluster: Cluster, replicas: list[int], requests: int) -> None:
    """The move under way is called off before another one that adds or removes nothing new."""
    action = reassign(ORDERS_0, MOVING, replicas)
    assert action
    assert REASSIGN_PARTITION.send(cluster, [action], False, soon()) == {}
    assert state.count(ALTER_PARTITION_REASSIGNMENTS.key) == requests
    assert state.topics["orders"].partitions[0].replicas == tuple(replicas)


def test_what_was_not_called_off_is_not_moved(state: FakeCluster, cluster: Cluster) -> None:
    """Its failure is that of the move; a move that was completed meanwhile needs no cancellation."""
    action = reassign(ORDERS_0, MOVING, [3, 1])
    assert action
    for code, is_moved in ((NO_REASSIGNMENT_IN_PROGRESS, True), (CLUSTER_AUTHORIZATION_FAILED, False)):
        state.topics["orders"].partitions[0].replicas = (2, 3, 1)
        refused = Altered(partial(_with_code, code=code))
        state.faults.append(Fault(ALTER_PARTITION_REASSIGNMENTS.key, refused))
        failures = REASSIGN_PARTITION.send(cluster, [action], False, soon())
        assert [failure.code for failure in failures.values()] == ([] if is_moved else [code])
        assert (state.topics["orders"].partitions[0].replicas == (3, 1)) == is_moved


def _with_code(response: AlterPartitionReassignmentsResponse, code: int) -> AlterPartitionReassignmentsResponse:
    (topic,) = response.responses
    (partition,) = topic.partitions
    return replace(response, responses=(replace(topic, partitions=(replace(partition, error_code=code),)),))


def test_a_lost_answer_is_decided_by_what_is_there(state: FakeCluster, carry_out: CarryOut) -> None:
    """A move to another broker is sent once; a move to another directory is repeated, because its target is fixed."""
    key, partition = ALTER_PARTITION_REASSIGNMENTS.key, state.topics["orders"].partitions[0]
    state.faults += [not_done(key, lambda: setattr(partition, "replicas", (1, 2, 3))), lost(key)]
    action = reassign(ORDERS_0, {"replicas": [1, 2, 3]}, [2, 1, 3])
    assert endings(carry_out([action])) == [("unknown", "REQUEST_TIMED_OUT")]
    assert endings(carry_out([action])) == [("done", "CONNECTION_LOST")]
    state.faults.append(lost(ALTER_REPLICA_LOG_DIRS.key))
    replica = Replica(*ORDERS_0, 1)
    moved = move_replica(replica, ReplicaPlace(log_dir="/a", future_log_dir=None), "/b")
    assert endings(carry_out([moved])) == [("done", None)]
    assert state.log_dirs == {(1, "orders", 0): "/b"}
    assert moved
    assert MOVE_REPLICA.is_done(moved, {"log_dir": "/a", "future_log_dir": "/b"})
    assert not MOVE_REPLICA.is_done(moved, {"log_dir": "/a"})


@given(st.from_regex(r"[a-zA-Z0-9._-]{1,40}", fullmatch=True), st.integers(0, 1 << 31), st.integers(0, 1 << 31))
def test_names_of_replicas_are_read_back(topic: str, partition: int, broker_id: int) -> None:
    """The names of replicas are parsed for topics of any name."""
    replica = Replica(topic, partition, broker_id)
    assert replica_of(replica_resource(replica)) == replica
