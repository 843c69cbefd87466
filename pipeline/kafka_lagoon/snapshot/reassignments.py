"""Makes rows of partitions that are moved to other brokers (KIP-455)."""

from collections.abc import Iterator, Mapping

from kafka_lagoon.admin.permissions import Permission
from kafka_lagoon.admin.reassignments import list_reassignments
from kafka_lagoon.client.failures import Failure
from kafka_lagoon.protocol.acls import CLUSTER, DESCRIBE
from kafka_lagoon.protocol.messages.list_partition_reassignments import (
    LIST_PARTITION_REASSIGNMENTS,
    ListPartitionReassignmentsResponse,
)
from kafka_lagoon.row_classes import Int32, column, row
from kafka_lagoon.snapshot.state_rows import NO_TOPIC_IDS
from kafka_lagoon.snapshot.state_table import Collected, Collection, Phase, StateTable


@row
class ReassignmentRow:
    """Partitions that are being moved to other brokers, one row per partition and snapshot."""

    topic: str = column("Name of the topic.")
    topic_id: str | None = column(
        "Id of the topic (22 characters, base64url); null if the brokers give none.", null_if=NO_TOPIC_IDS
    )
    partition: Int32 = column("Partition number.")
    replicas: tuple[Int32, ...] = column("Brokers that have a replica now, those that are added or removed included.")
    adding_replicas: tuple[Int32, ...] = column("Those of them that are being added.")
    removing_replicas: tuple[Int32, ...] = column("Those of them that will be removed.")


def reassignment_rows(
    response: ListPartitionReassignmentsResponse, topic_ids: Mapping[str, str | None]
) -> Iterator[ReassignmentRow]:
    """One row per partition that is moved, ordered by topic and partition."""
    for topic in sorted(response.topics, key=lambda some: some.name):
        for partition in sorted(topic.partitions, key=lambda some: some.partition_index):
            yield ReassignmentRow(
                topic=topic.name,
                topic_id=topic_ids.get(topic.name),
                partition=partition.partition_index,
                replicas=partition.replicas,
                adding_replicas=partition.adding_replicas,
                removing_replicas=partition.removing_replicas,
            )


def _collect(collection: Collection) -> Collected:
    response = list_reassignments(collection.cluster, collection.deadline)
    if isinstance(response, Failure):
        return Collected([], [response])
    return Collected(list(reassignment_rows(response, collection.topology.topic_ids)))


REASSIGNMENTS = StateTable(
    name="reassignments",
    row=ReassignmentRow,
    key=("topic", "partition"),
    phase=Phase.DETAILS,
    collect=_collect,
    apis=(LIST_PARTITION_REASSIGNMENTS,),
    permissions=(Permission(DESCRIBE, CLUSTER, "the reassignments are refused"),),
    required=False,
    may_be_skipped=True,
    added_in="0.2.0",
)
