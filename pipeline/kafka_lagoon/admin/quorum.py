"""Describes the KRaft metadata quorum (DescribeQuorum, KIP-595)."""

from collections.abc import Iterator

from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.client.failures import Failure, Scope, failure_of
from kafka_lagoon.client.routing import ask_cluster
from kafka_lagoon.clock import Deadline
from kafka_lagoon.protocol.messages.describe_quorum import (
    DESCRIBE_QUORUM,
    METADATA_TOPIC,
    DescribeQuorumRequest,
    DescribeQuorumResponse,
    QuorumPartition,
    QuorumRequestPartition,
    QuorumRequestTopic,
)


def describe_quorum(cluster: Cluster, deadline: Deadline) -> DescribeQuorumResponse | Failure:
    """The answer of any broker, which forwards the request to the active controller."""
    log = QuorumRequestTopic(topic_name=METADATA_TOPIC, partitions=(QuorumRequestPartition(partition_index=0),))
    return ask_cluster(cluster, DESCRIBE_QUORUM, DescribeQuorumRequest(topics=(log,)), Scope.cluster(), deadline)


def quorum_failures(response: DescribeQuorumResponse) -> Iterator[Failure]:
    """Errors of partitions inside the answer."""
    for partition in quorum_partitions(response):
        if partition.error_code:
            yield failure_of(DESCRIBE_QUORUM, Scope.cluster(), partition.error_code)


def quorum_partitions(response: DescribeQuorumResponse) -> Iterator[QuorumPartition]:
    """The partitions of the answer: one, the metadata log."""
    for topic in response.topics:
        yield from topic.partitions
