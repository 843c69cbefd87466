"""Rows of reassignments, from a message made by hand."""

from kafka_lagoon.protocol.messages.list_partition_reassignments import (
    ListPartitionReassignmentsResponse,
    OngoingPartitionReassignment,
    OngoingTopicReassignment,
)
from kafka_lagoon.snapshot.reassignments import reassignment_rows
from kafka_lagoon.tables.cluster_rows import ReassignmentRow


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
