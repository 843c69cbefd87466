"""Describes the KRaft metadata quorum (KIP-595): any broker passes the request on to the active controller."""

from collections.abc import Iterator

from kafka_lagoon.client.agreement import ask_two, asked_again, is_contradicted
from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.client.failures import Failure, Scope, failure_of, own_failure
from kafka_lagoon.client.metadata_checks import CONTRADICTION, NOT_RETURNED
from kafka_lagoon.clock import Deadline
from kafka_lagoon.protocol.error_codes import error_code
from kafka_lagoon.protocol.messages.describe_quorum import (
    DESCRIBE_QUORUM,
    METADATA_TOPIC,
    DescribeQuorumRequest,
    DescribeQuorumResponse,
    QuorumPartition,
    QuorumRequestPartition,
    QuorumRequestTopic,
)

# What moves between two requests, and replicas that come and go.
_MOVING = frozenset(
    {"high_watermark", "log_end_offset", "last_fetch_timestamp", "last_caught_up_timestamp", "observers"}
)


def describe_quorum(cluster: Cluster, deadline: Deadline) -> DescribeQuorumResponse | Failure:
    """The answer that two brokers give; each forwards the request to the active controller.

    A controller that is no longer the leader answers NOT_LEADER_OR_FOLLOWER, and is not the brokers' choice a moment later. All
    answers may differ if an election begins or ends between them.
    """
    log = QuorumRequestTopic(topic_name=METADATA_TOPIC, partitions=(QuorumRequestPartition(partition_index=0),))
    request = DescribeQuorumRequest(topics=(log,))
    return asked_again(
        cluster,
        lambda: ask_two(cluster, DESCRIBE_QUORUM, request, Scope.cluster(), deadline, own_fields=_MOVING),
        _may_pass,
        deadline,
    )


def _may_pass(answer: DescribeQuorumResponse | Failure) -> bool:
    """True if the metadata log has an error that is retriable, or if brokers contradict each other."""
    if isinstance(answer, Failure):
        return is_contradicted(answer)
    return any(error_code(partition.error_code).retriable for partition in quorum_partitions(answer))


def quorum_failures(response: DescribeQuorumResponse) -> Iterator[Failure]:
    """The error of the metadata log inside the answer, that the answer leaves it out, or what it has twice."""
    partitions = list(quorum_partitions(response))
    if not partitions:
        yield own_failure(DESCRIBE_QUORUM, Scope.cluster(), NOT_RETURNED, "the answer leaves out the metadata log")
    if len(partitions) > 1:
        yield own_failure(DESCRIBE_QUORUM, Scope.cluster(), CONTRADICTION, "the metadata log is described twice")
    if any(len({one.name for one in node.listeners}) < len(node.listeners) for node in response.nodes):
        yield own_failure(DESCRIBE_QUORUM, Scope.cluster(), CONTRADICTION, "a controller has a listener twice")
    for partition in partitions:
        replicas = [
            (one.replica_id, one.replica_directory_id) for one in (*partition.current_voters, *partition.observers)
        ]
        if len(set(replicas)) < len(replicas):
            yield own_failure(DESCRIBE_QUORUM, Scope.cluster(), CONTRADICTION, "a replica is listed twice")
        if partition.error_code:
            yield failure_of(DESCRIBE_QUORUM, Scope.cluster(), partition.error_code)


def quorum_partitions(response: DescribeQuorumResponse) -> Iterator[QuorumPartition]:
    """The partitions of the answer: one, the metadata log."""
    for topic in response.topics:
        if topic.topic_name == METADATA_TOPIC:
            yield from (partition for partition in topic.partitions if partition.partition_index == 0)
