"""Rows of reassignments, from a message made by hand."""

from kafka_lagoon.protocol.messages.list_partition_reassignments import (
    ListPartitionReassignmentsResponse,
    OngoingPartitionReassignment,
    OngoingTopicReassignment,
)
from kafka_lagoon.snapshot.collect import collect
from kafka_lagoon.snapshot.reassignments import reassignment_rows
from kafka_lagoon.tables.cluster_rows import PartitionRow, ReassignmentRow
from tests.fake.cluster import FakeCluster
from tests.fake.direct import answered_directly


def moving(partition: int) -> OngoingPartitionReassignment:
    """Make a partition that moves from broker 1 to broker 3."""
    return OngoingPartitionReassignment(
        partition_index=partition, replicas=(3, 2, 1), adding_replicas=(3,), removing_replicas=(1,)
    )


def test_every_partition_that_is_moved_is_a_row() -> None:
    """Rows are ordered by topic and partition; a topic that was created after the metadata was read has no id."""
    topics = (
        OngoingTopicReassignment(name="b", partitions=(moving(2), moving(0))),
        OngoingTopicReassignment(name="a", partitions=(moving(1),)),
    )
    response = ListPartitionReassignmentsResponse(error_code=0, error_message=None, topics=topics)
    rows = list(reassignment_rows(response, {"b": "id"}))
    assert [(row.topic, row.topic_id, row.partition) for row in rows] == [
        ("a", None, 1),
        ("b", "id", 0),
        ("b", "id", 2),
    ]
    assert rows[0] == ReassignmentRow(
        topic="a", topic_id=None, partition=1, replicas=(3, 2, 1), adding_replicas=(3,), removing_replicas=(1,)
    )


def test_a_move_that_ends_while_configs_are_read() -> None:
    """The metadata has the replica that it adds, which is not in sync yet, so the list must have the move."""
    state = FakeCluster()
    log = state.add_topic("orders", 1).partitions[0]
    log.isr = (1, 2)
    topic = OngoingTopicReassignment(
        name="orders",
        partitions=(
            OngoingPartitionReassignment(
                partition_index=0, replicas=(1, 2, 3), adding_replicas=(3,), removing_replicas=()
            ),
        ),
    )
    state.reassignments = (topic,)

    def end(step: str, _: int) -> None:
        if step == "health":
            log.isr, state.reassignments = (1, 2, 3), ()

    with answered_directly(state) as (cluster, deadline):
        (row,) = collect(cluster, "test", 1_000, deadline, end).of(PartitionRow)
    assert (row.replicas, row.isr, row.is_under_replicated) == ((1, 2, 3), (1, 2), False)
