"""Makes rows of the KRaft metadata quorum: the leader, the voters, and the position of each replica.

-1 in an answer, Kafka's "unknown", becomes null.
"""

from collections.abc import Iterator

from kafka_lagoon.admin.permissions import Permission
from kafka_lagoon.admin.quorum import quorum_partitions
from kafka_lagoon.protocol.acls import CLUSTER, DESCRIBE
from kafka_lagoon.protocol.messages.describe_quorum import (
    DESCRIBE_QUORUM,
    DescribeQuorumResponse,
    QuorumPartition,
    QuorumReplica,
)
from kafka_lagoon.snapshot.collection import Collected, Collection, Collector, Phase
from kafka_lagoon.tables import state_tables
from kafka_lagoon.tables.cluster_rows import QuorumStateRow
from kafka_lagoon.tables.row_classes import ALWAYS, Int32, Int64, Timestamp, column, known, row
from kafka_lagoon.wire.primitives import uuid_text

_WITH_LISTENERS = 2  # version of DescribeQuorum
LEADER, VOTER, OBSERVER = "leader", "voter", "observer"


@row
class QuorumRow:
    """The metadata log, one row."""

    leader_id: Int32 | None = column("node.id of the active controller; null while there is none.", null_if=ALWAYS)
    leader_epoch: Int32 = column("Its epoch.")
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
    directory_id: str | None = column("Id of its log directory (KIP-853); null if not returned.", null_if=ALWAYS)
    log_end_offset: Int64 | None = column(
        "End offset of the replica; null while the leader does not know it.", null_if=ALWAYS
    )
    lag: Int64 | None = column("Offsets that it is behind the leader; null if either end is unknown.", null_if=ALWAYS)
    last_fetch_at_ms: Timestamp | None = column(
        "When it last fetched; null if the leader does not know it (before Kafka 3.3).", null_if=ALWAYS
    )
    last_caught_up_at_ms: Timestamp | None = column(
        "When it last had everything; null if the leader does not know it (before Kafka 3.3).", null_if=ALWAYS
    )
    listeners: tuple[str, ...] = column("Where the controller listens, as name://host:port; empty if not returned.")


def quorum_rows(response: DescribeQuorumResponse) -> Iterator[QuorumRow]:
    """One row for the metadata log."""
    for partition in quorum_partitions(response):
        if not partition.error_code:
            yield QuorumRow(
                leader_id=known(partition.leader_id),
                leader_epoch=partition.leader_epoch,
                high_watermark=known(partition.high_watermark),
                voters=tuple(sorted(voter.replica_id for voter in partition.current_voters)),
                observers=tuple(sorted(observer.replica_id for observer in partition.observers)),
            )


def quorum_replica_rows(response: DescribeQuorumResponse) -> Iterator[QuorumReplicaRow]:
    """One row per voter, then one per observer."""
    listeners = {
        node.node_id: tuple(f"{listener.name}://{listener.host}:{listener.port}" for listener in node.listeners)
        for node in response.nodes
    }
    for partition in quorum_partitions(response):
        leader_end = _leader_end(partition)
        for role, replicas in ((VOTER, partition.current_voters), (OBSERVER, partition.observers)):
            for replica in replicas:
                actual = LEADER if replica.replica_id == partition.leader_id else role
                yield _replica_row(replica, actual, leader_end, listeners.get(replica.replica_id, ()))


def quorum_state_rows(response: DescribeQuorumResponse, *, has_listeners: bool) -> Iterator[QuorumStateRow]:
    """One row per voter, then one per observer; none where the controller refused."""
    for log in quorum_rows(response):
        for replica in quorum_replica_rows(response):
            yield QuorumStateRow(
                replica_id=replica.replica_id,
                role=replica.role,
                leader_id=log.leader_id,
                leader_epoch=log.leader_epoch,
                high_watermark=log.high_watermark,
                directory_id=replica.directory_id,
                log_end_offset=replica.log_end_offset,
                lag=replica.lag,
                last_fetch_at_ms=replica.last_fetch_at_ms,
                last_caught_up_at_ms=replica.last_caught_up_at_ms,
                listeners=replica.listeners if has_listeners else None,
            )


def _leader_end(partition: QuorumPartition) -> int | None:
    """The leader's end offset. A leader that gives up its vote is an observer until most other voters have that record."""
    replicas = (*partition.observers, *partition.current_voters)
    ends = {replica.replica_id: known(replica.log_end_offset) for replica in replicas}
    return ends.get(partition.leader_id)


def _replica_row(
    replica: QuorumReplica, role: str, leader_end: int | None, listeners: tuple[str, ...]
) -> QuorumReplicaRow:
    end = known(replica.log_end_offset)
    return QuorumReplicaRow(
        replica_id=replica.replica_id,
        role=role,
        directory_id=uuid_text(replica.replica_directory_id),
        log_end_offset=end,
        lag=None if end is None or leader_end is None else leader_end - end,
        last_fetch_at_ms=known(replica.last_fetch_timestamp),
        last_caught_up_at_ms=known(replica.last_caught_up_timestamp),
        listeners=listeners,
    )


def _collect(collection: Collection) -> Collected:
    """Use the answer that named the controller; no request is sent, and its failure is reported with the brokers."""
    response = collection.identity.quorum
    if response is None:
        return Collected([])
    stats = collection.cluster.request_stats.by_api
    sent = [asked.api_version or 0 for (api, _), asked in stats.items() if api == DESCRIBE_QUORUM.name]
    return Collected(list(quorum_state_rows(response, has_listeners=min(sent, default=0) >= _WITH_LISTENERS)))


QUORUM = Collector(
    table=state_tables.QUORUM,
    phase=Phase.DETAILS,
    collect=_collect,
    apis=(DESCRIBE_QUORUM,),
    permissions=(Permission(DESCRIBE, CLUSTER, "the quorum is refused"),),
    required=False,
    may_be_skipped=True,
)
