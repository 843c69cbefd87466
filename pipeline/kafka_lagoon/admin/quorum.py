"""A cluster in, its KRaft controllers out: who leads, who votes, and how far everybody follows the metadata log.

Guards one rule: -1 in an answer, which is Kafka's "unknown", is null here.
"""

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
    QuorumReplica,
    QuorumRequestPartition,
    QuorumRequestTopic,
)
from kafka_lagoon.row_classes import ALWAYS, Int32, Int64, Timestamp, column, row
from kafka_lagoon.wire.primitives import uuid_text

VOTER, OBSERVER = "voter", "observer"


@row
class QuorumRow:
    """The metadata log, one row."""

    leader_id: Int32 | None = column("Active controller; null while there is none.", null_if=ALWAYS)
    leader_epoch: Int32 = column("Its term.")
    high_watermark: Int64 | None = column(
        "End of what a majority has; null while the leader does not know it.", null_if=ALWAYS
    )
    voters: tuple[Int32, ...] = column("Controllers that vote.")
    observers: tuple[Int32, ...] = column("Brokers, and controllers without a vote.")


@row
class QuorumReplicaRow:
    """Replicas of the metadata log, one row each."""

    replica_id: Int32 = column("node.id of the controller or broker.")
    role: str = column("leader, voter or observer.")
    directory_id: str | None = column("Id of its log directory (KIP-853); null if not told.", null_if=ALWAYS)
    log_end_offset: Int64 | None = column(
        "Where its copy ends; null while the leader does not know it.", null_if=ALWAYS
    )
    lag: Int64 | None = column("Offsets that it is behind the leader; null if either end is unknown.", null_if=ALWAYS)
    last_fetch_at_ms: Timestamp | None = column(
        "When it last fetched; null if the leader does not know it (before Kafka 3.3).", null_if=ALWAYS
    )
    last_caught_up_at_ms: Timestamp | None = column(
        "When it last had everything; null if the leader does not know it (before Kafka 3.3).", null_if=ALWAYS
    )
    listeners: tuple[str, ...] = column("Where the controller listens, as name://host:port; empty if not told.")


def describe_quorum(cluster: Cluster, deadline: Deadline) -> DescribeQuorumResponse | Failure:
    """The answer of any broker; it passes the question on to the active controller."""
    log = QuorumRequestTopic(topic_name=METADATA_TOPIC, partitions=(QuorumRequestPartition(partition_index=0),))
    return ask_cluster(cluster, DESCRIBE_QUORUM, DescribeQuorumRequest(topics=(log,)), Scope.cluster(), deadline)


def refused(told: DescribeQuorumResponse) -> Iterator[Failure]:
    """What the answer itself says went wrong."""
    for one in _partitions(told):
        if one.error_code:
            yield failure_of(DESCRIBE_QUORUM, Scope.cluster(), one.error_code)


def quorum_rows(told: DescribeQuorumResponse) -> Iterator[QuorumRow]:
    """One row for the metadata log."""
    for one in _partitions(told):
        if not one.error_code:
            yield QuorumRow(
                leader_id=_known(one.leader_id),
                leader_epoch=one.leader_epoch,
                high_watermark=_known(one.high_watermark),
                voters=tuple(voter.replica_id for voter in one.current_voters),
                observers=tuple(observer.replica_id for observer in one.observers),
            )


def quorum_replica_rows(told: DescribeQuorumResponse) -> Iterator[QuorumReplicaRow]:
    """One row per voter, then one per observer."""
    listeners = {
        node.node_id: tuple(f"{one.name}://{one.host}:{one.port}" for one in node.listeners) for node in told.nodes
    }
    for partition in _partitions(told):
        ends = {one.replica_id: _known(one.log_end_offset) for one in partition.current_voters}
        leader_end = ends.get(partition.leader_id)
        for role, replicas in ((VOTER, partition.current_voters), (OBSERVER, partition.observers)):
            for one in replicas:
                leads = one.replica_id == partition.leader_id
                yield _replica(one, "leader" if leads else role, leader_end, listeners.get(one.replica_id, ()))


def _replica(one: QuorumReplica, role: str, leader_end: int | None, listeners: tuple[str, ...]) -> QuorumReplicaRow:
    end = _known(one.log_end_offset)
    return QuorumReplicaRow(
        replica_id=one.replica_id,
        role=role,
        directory_id=uuid_text(one.replica_directory_id),
        log_end_offset=end,
        lag=None if end is None or leader_end is None else leader_end - end,
        last_fetch_at_ms=_known(one.last_fetch_timestamp),
        last_caught_up_at_ms=_known(one.last_caught_up_timestamp),
        listeners=listeners,
    )


def _partitions(told: DescribeQuorumResponse) -> Iterator[QuorumPartition]:
    for topic in told.topics:
        yield from topic.partitions


def _known(value: int) -> int | None:
    return value if value >= 0 else None
