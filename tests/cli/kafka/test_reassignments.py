"""Partitions that are being moved, as fake brokers list them."""

from kafka_lagoon.protocol.messages.list_partition_reassignments import (
    OngoingPartitionReassignment,
    OngoingTopicReassignment,
)
from tests.cli.kafka.conftest import Ask
from tests.fake.cluster import FakeCluster


def test_moves_are_listed(state: FakeCluster, ask: Ask) -> None:
    """Rows have added and removed brokers, and for scripts the topic id; an empty list is no failure."""
    assert ask("reassignments").code == 0
    moving = OngoingPartitionReassignment(
        partition_index=4, replicas=(1, 2, 3), adding_replicas=(3,), removing_replicas=(1,)
    )
    state.reassignments = (OngoingTopicReassignment(name="orders", partitions=(moving,)),)
    shown = ask("reassignments", "--json")
    assert shown.code == 0
    (row,) = shown.rows("reassignment")
    assert (row["topic"], row["partition"], row["adding_replicas"], row["removing_replicas"]) == ("orders", 4, [3], [1])
    assert row["topic_id"]


def test_a_topic_that_brokers_do_not_describe(state: FakeCluster, ask: Ask) -> None:
    """Its id is unknown, and the failure says why."""
    moving = OngoingPartitionReassignment(
        partition_index=0, replicas=(1, 2), adding_replicas=(2,), removing_replicas=()
    )
    state.reassignments = (OngoingTopicReassignment(name="gone", partitions=(moving,)),)
    shown = ask("reassignments", "--json")
    (row,) = shown.rows("reassignment")
    assert (shown.code, row["topic_id"]) == (3, None)
    assert "gone: Metadata: UNKNOWN_TOPIC_OR_PARTITION" in shown.err


def test_a_controller_that_is_not_there(state: FakeCluster, ask: Ask) -> None:
    """It is a failure, because an empty list would mean that nothing moves."""
    state.controller_id = -1
    shown = ask("reassignments")
    assert (shown.code, "NOT_CONTROLLER" in shown.err) == (3, True)
