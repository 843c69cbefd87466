"""Asks for the operations that we may do on the cluster, its topics and groups (KIP-430), without trying them.

Brokers answer with bits (protocol/acls.py), and NOT_ASKED where their version has none.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from kafka_lagoon.admin.acls import AclFilter, describe_acls
from kafka_lagoon.admin.cluster import describe_cluster
from kafka_lagoon.admin.groups import CLASSIC, CONSUMER, GroupListing, described_as
from kafka_lagoon.client.agreement import ask_two
from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.client.failures import Failure, Scope
from kafka_lagoon.client.routes import ByCoordinator
from kafka_lagoon.client.routing import ShardedRequest, gather
from kafka_lagoon.clock import Deadline
from kafka_lagoon.errors import BrokerError, UnsupportedVersion
from kafka_lagoon.frozen import frozen
from kafka_lagoon.protocol.acls import NOT_ASKED
from kafka_lagoon.protocol.error_codes import SECURITY_DISABLED
from kafka_lagoon.protocol.messages.consumer_group_describe import (
    CONSUMER_GROUP_DESCRIBE,
    ConsumerGroupDescribeRequest,
)
from kafka_lagoon.protocol.messages.describe_groups import DESCRIBE_GROUPS, DescribeGroupsRequest
from kafka_lagoon.protocol.messages.metadata import METADATA, MetadataRequest, MetadataRequestTopic
from kafka_lagoon.wire.schema import LATEST, Versions

_OF_GROUPS = Versions(3, LATEST)
_OF_TOPICS = Versions(8, LATEST)
_OF_CLUSTER = Versions(8, 10)  # after that in DescribeCluster (KIP-700)
_NOT_OPERATIONS = frozenset({"controller_id", "partitions"})  # fields that differ by broker, or while elections go on
_CHUNK = 100


@frozen
class TopicOperations:
    """Operations by topic, and the error codes of named topics that were not described."""

    operations: Mapping[str, int]
    refused: Mapping[str, int]


def has_authorizer(cluster: Cluster, deadline: Deadline) -> bool:
    """True if brokers check permissions; without an authorizer everybody may do everything."""
    answer = describe_acls(cluster, AclFilter(), deadline)
    return not (isinstance(answer, Failure) and answer.code == SECURITY_DISABLED)


def cluster_operations(cluster: Cluster, deadline: Deadline) -> int:
    """Operations on the cluster that we may do; NOT_ASKED before Kafka 2.3."""
    described = describe_cluster(cluster, deadline)
    if not isinstance(described, Failure):
        return described.cluster_authorized_operations
    request = MetadataRequest(topics=(), allow_auto_topic_creation=False, include_cluster_authorized_operations=True)
    try:
        return cluster.ask_any(METADATA, request, deadline, within=_OF_CLUSTER).cluster_authorized_operations
    except UnsupportedVersion:
        return NOT_ASKED


def topic_operations(cluster: Cluster, named: Sequence[str], deadline: Deadline) -> TopicOperations | None:
    """Operations that we may do on each listed or named topic; None before Kafka 2.3."""
    operations: dict[str, int] = {}
    refused: dict[str, int] = {}
    for topics in (None, tuple(MetadataRequestTopic(name=name) for name in named)):
        request = MetadataRequest(
            topics=topics, allow_auto_topic_creation=False, include_topic_authorized_operations=True
        )
        if topics == ():
            continue
        answer = ask_two(cluster, METADATA, request, Scope.list("topics"), deadline, _OF_TOPICS, _NOT_OPERATIONS)
        if isinstance(answer, Failure) and answer.is_too_old:
            return None
        if isinstance(answer, Failure):
            raise BrokerError(answer.code or -1, answer.name, answer.api, str(answer.scope), answer.message)
        for topic in answer.topics:
            if topic.name is None:
                continue
            if topic.error_code and topic.topic_authorized_operations == NOT_ASKED:
                refused[topic.name] = topic.error_code
            else:
                operations[topic.name] = topic.topic_authorized_operations
    return TopicOperations(operations=operations, refused=refused)


def group_operations(
    cluster: Cluster, groups: Mapping[str, GroupListing], deadline: Deadline
) -> tuple[Mapping[str, int], Mapping[str, Failure]]:
    """Operations that we may do on classic and consumer groups, and the failures of groups that were not described.

    Coordinators before Kafka 2.3 do not answer it: NOT_ASKED.
    """
    types = {group_id: described_as(listing) for group_id, listing in groups.items()}
    sharded: list[ShardedRequest[str, Any]] = [
        ShardedRequest(
            api=DESCRIBE_GROUPS,
            items=[group_id for group_id, kind in types.items() if kind == CLASSIC],
            build=lambda items: DescribeGroupsRequest(groups=tuple(items), include_authorized_operations=True),
            read=_operations,
            chunk=_CHUNK,
            within=_OF_GROUPS,
        ),
        ShardedRequest(
            api=CONSUMER_GROUP_DESCRIBE,
            items=[group_id for group_id, kind in types.items() if kind == CONSUMER],
            build=lambda items: ConsumerGroupDescribeRequest(
                group_ids=tuple(items), include_authorized_operations=True
            ),
            read=_operations,
            chunk=_CHUNK,
        ),
    ]
    gathered = gather(cluster, ByCoordinator(cluster), sharded, deadline)
    failures = {group_id: failure for some in gathered for group_id, failure in some.failures.items()}
    too_old = {group_id for group_id, failure in failures.items() if failure.is_too_old}
    return (
        {group_id: bits for some in gathered for group_id, bits in some.answers.items()}
        | dict.fromkeys(too_old, NOT_ASKED),
        {group_id: failure for group_id, failure in failures.items() if group_id not in too_old},
    )


def _operations(response: Any, _: Sequence[str]) -> list[tuple[str, int, int]]:
    return [(group.group_id, group.error_code, group.authorized_operations) for group in response.groups]
