"""Lists partitions that are being moved to other brokers, moves them, and cancels moves (KIP-455).

The controller answers; under KRaft any broker passes the request on. The list needs DESCRIBE on the cluster, the rest ALTER.
"""

from collections.abc import Iterator, Mapping, Sequence

from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.client.failures import Failure, Scope
from kafka_lagoon.client.routes import ByController
from kafka_lagoon.client.routing import ShardedRequest, gather
from kafka_lagoon.clock import Deadline
from kafka_lagoon.protocol.messages.alter_partition_reassignments import (
    ALTER_PARTITION_REASSIGNMENTS,
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
    ReassignablePartition,
    ReassignableTopic,
)
from kafka_lagoon.protocol.messages.list_partition_reassignments import (
    LIST_PARTITION_REASSIGNMENTS,
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
)
from kafka_lagoon.topic_partition import TopicPartition

_ALL = "all reassignments"
_CHUNK = 5_000  # each partition is a record of the metadata log, of which the controller takes 10,000 at once


class _ByControllerIfThereIsOne(ByController):
    """Routes to the controller without waiting for its election: a snapshot goes on without the reassignments."""

    unroutable_rounds = 3


def list_reassignments(cluster: Cluster, deadline: Deadline) -> ListPartitionReassignmentsResponse | Failure:
    """All moves under way, or the failure."""
    sharded: ShardedRequest[str, ListPartitionReassignmentsResponse] = ShardedRequest(
        api=LIST_PARTITION_REASSIGNMENTS,
        items=[_ALL],
        build=lambda _: ListPartitionReassignmentsRequest(timeout_ms=cluster.settings.request_timeout_ms),
        read=lambda response, items: [(items[0], response.error_code, response)],
    )
    gathered = gather(cluster, _ByControllerIfThereIsOne(cluster), [sharded], deadline)[0]
    return gathered.answers.get(_ALL) or gathered.failures[_ALL]


def alter_reassignments(
    cluster: Cluster, targets: Mapping[TopicPartition, Sequence[int] | None], deadline: Deadline
) -> Mapping[TopicPartition, Failure]:
    """Begin to move partitions to these brokers (None: cancel the move), and return the failures.

    A move is complete once all new replicas are in sync, which may take hours.
    """

    def build(items: Sequence[TopicPartition]) -> AlterPartitionReassignmentsRequest:
        topics: dict[str, list[ReassignablePartition]] = {}
        for item in items:
            target = targets[item]
            replicas = None if target is None else tuple(target)
            wanted = ReassignablePartition(partition_index=item.partition, replicas=replicas)
            topics.setdefault(item.topic, []).append(wanted)
        return AlterPartitionReassignmentsRequest(
            timeout_ms=cluster.settings.request_timeout_ms,
            topics=tuple(ReassignableTopic(name=name, partitions=tuple(some)) for name, some in topics.items()),
        )

    sharded: ShardedRequest[TopicPartition, None] = ShardedRequest(
        api=ALTER_PARTITION_REASSIGNMENTS,
        items=list(targets),
        build=build,
        read=_read_altered,
        chunk=_CHUNK,
        once=True,
    )
    route = ByController(cluster, lambda item: Scope.of_partition(item.topic, item.partition))
    return gather(cluster, route, [sharded], deadline)[0].failures


def _read_altered(
    response: AlterPartitionReassignmentsResponse, items: Sequence[TopicPartition]
) -> Iterator[tuple[TopicPartition, int, None, str | None]]:
    if response.error_code:
        yield from ((item, response.error_code, None, response.error_message) for item in items)
    for topic in response.responses:
        for result in topic.partitions:
            item = TopicPartition(topic.name, result.partition_index)
            yield item, result.error_code, None, result.error_message
