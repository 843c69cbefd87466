"""Makes rows of partitions that are moved to other brokers (KIP-455)."""

from collections.abc import Iterator, Mapping, Sequence

from kafka_lagoon.admin.permissions import Permission
from kafka_lagoon.client.failures import Failure
from kafka_lagoon.protocol.acls import CLUSTER, DESCRIBE
from kafka_lagoon.protocol.messages.list_partition_reassignments import (
    LIST_PARTITION_REASSIGNMENTS,
    ListPartitionReassignmentsResponse,
)
from kafka_lagoon.snapshot.collection import Collected, Collection, Collector, Phase
from kafka_lagoon.tables import state_tables
from kafka_lagoon.tables.cluster_rows import ReassignmentRow
from kafka_lagoon.topic_partition import TopicPartition


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


def added_replicas(response: ListPartitionReassignmentsResponse | Failure) -> dict[TopicPartition, Sequence[int]]:
    """The brokers to which each partition that is moved gets a replica; empty after a failure."""
    if isinstance(response, Failure):
        return {}
    return {
        TopicPartition(topic.name, partition.partition_index): partition.adding_replicas
        for topic in response.topics
        for partition in topic.partitions
    }


def _collect(collection: Collection) -> Collected:
    if isinstance(collection.reassignments, Failure):
        return Collected([], [collection.reassignments])
    return Collected(list(reassignment_rows(collection.reassignments, collection.topology.lasting_ids())))


REASSIGNMENTS = Collector(
    table=state_tables.REASSIGNMENTS,
    phase=Phase.DETAILS,
    collect=_collect,
    apis=(LIST_PARTITION_REASSIGNMENTS,),
    permissions=(Permission(DESCRIBE, CLUSTER, "the reassignments are refused"),),
    required=False,
    may_be_skipped=True,
)
