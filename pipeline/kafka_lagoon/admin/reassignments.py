"""Lists partitions that are being moved to other brokers, moves them, and cancels moves (KIP-455).

The controller answers; under KRaft any broker passes the request on. The list needs DESCRIBE on the cluster, the rest ALTER.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence

from kafka_lagoon.client.agreement import DIFFERENT, ask_cluster, asked_again, confirmed, is_contradicted
from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.client.failures import Failure, Scope, own_failure
from kafka_lagoon.client.metadata_checks import CONTRADICTION
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
    """All moves under way, as two brokers list them, or the failure.

    Without KRaft only the controller answers, and is believed. Moves that end between the answers make them differ, so they
    are requested again.
    """
    return asked_again(cluster, lambda: _listed(cluster, deadline), is_contradicted, deadline)


def _listed(cluster: Cluster, deadline: Deadline) -> ListPartitionReassignmentsResponse | Failure:
    api, request = (
        LIST_PARTITION_REASSIGNMENTS,
        ListPartitionReassignmentsRequest(timeout_ms=cluster.settings.request_timeout_ms),
    )

    def ask_another(other_than: Collection[str]) -> ListPartitionReassignmentsResponse | Failure:
        return ask_cluster(cluster, api, request, Scope.cluster(), deadline, other_than=other_than)

    sharded: ShardedRequest[str, ListPartitionReassignmentsResponse] = ShardedRequest(
        api=api,
        items=[_ALL],
        build=lambda _: request,
        read=lambda response, items: [(items[0], response.error_code, response)],
    )
    route = _ByControllerIfThereIsOne(cluster)
    gathered = gather(cluster, route, [sharded], deadline)[0]
    if (first := gathered.answers.get(_ALL)) is None:
        return gathered.failures[_ALL]
    node_id = route.node_of(_ALL)
    answered_by = cluster.brokers[node_id].address if node_id is not None else ""
    listed = confirmed(cluster, first, answered_by, ask_another, _moves)
    if listed is None:
        return own_failure(api, Scope.cluster(), CONTRADICTION, DIFFERENT)
    fault = _fault(listed)
    return own_failure(api, Scope.cluster(), CONTRADICTION, fault) if fault else listed


def _moves(response: ListPartitionReassignmentsResponse) -> list[tuple[object, ...]]:
    """The moves in one order. The order of replicas has a meaning: the first one is the preferred leader."""
    return sorted(
        (topic.name, one.partition_index, one.replicas, one.adding_replicas, one.removing_replicas)
        for topic in response.topics
        for one in topic.partitions
    )


def _fault(response: ListPartitionReassignmentsResponse) -> str | None:
    """The reason why no controller lists this: a partition that is moved has each replica once, and gains or loses some.

    It may gain and lose the same one: of a move that is altered while it adds a replica, KRaft keeps that replica as added.
    """
    seen: set[TopicPartition] = set()
    for topic in response.topics:
        for partition in topic.partitions:
            item = TopicPartition(topic.name, partition.partition_index)
            if item in seen:
                return f"{item} is listed twice"
            seen.add(item)
            replicas, added, removed = partition.replicas, partition.adding_replicas, partition.removing_replicas
            if not added and not removed:
                return f"{item} is moved, and gains and loses no replica"
            has_one_twice = any(len(set(some)) < len(some) for some in (replicas, added, removed))
            if has_one_twice or not {*added, *removed} <= set(replicas):
                return f"{item} is moved between replicas that it does not have once each"
    return None


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
