"""Makes the rows of consumer lag of share groups (KIP-932), which commit no offsets.

Their lag is counted by the coordinator (KIP-1226): the end of the log minus the start offset, without records in between that
are done. It is not computed from our end offsets, which were read at another time.
"""

from collections.abc import Iterator, Mapping, Sequence

from kafka_lagoon.admin.groups import SHARE
from kafka_lagoon.admin.share_groups import ShareOffsets
from kafka_lagoon.client.failures import Failure, Scope, errors_by_group, own_failure
from kafka_lagoon.protocol.error_codes import UNKNOWN_TOPIC_ID, UNKNOWN_TOPIC_OR_PARTITION, error_code
from kafka_lagoon.protocol.messages.describe_share_group_offsets import DESCRIBE_SHARE_GROUP_OFFSETS
from kafka_lagoon.snapshot.lag import LOG_START, UNKNOWN
from kafka_lagoon.snapshot.share_offsets import NOT_STARTED, ShareOffsetRow, share_offset_rows
from kafka_lagoon.snapshot.topology import Topology
from kafka_lagoon.tables.cluster_rows import PartitionOffsetsRow
from kafka_lagoon.tables.group_rows import ConsumerGroupRow, ConsumerLagRow, GroupMemberRow
from kafka_lagoon.tables.row_columns import column_of
from kafka_lagoon.topic_partition import TopicPartition

SHARE_BASIS = "share"
LAG_NOT_RETURNED = "SHARE_LAG_NOT_RETURNED"
_NO_SUCH_PARTITION = error_code(UNKNOWN_TOPIC_OR_PARTITION).name

Stored = Mapping[tuple[str, TopicPartition], ShareOffsetRow]
Owners = Mapping[tuple[str, TopicPartition], GroupMemberRow]
Logs = Mapping[TopicPartition, PartitionOffsetsRow]


def share_lag_rows(
    groups: Sequence[ConsumerGroupRow],
    members: Sequence[GroupMemberRow],
    shares: ShareOffsets,
    offsets: Sequence[PartitionOffsetsRow],
    topology: Topology,
) -> list[ConsumerLagRow]:
    """One row per share group and partition that has a stored offset, is assigned or is subscribed to; ordered."""
    sharing = {group.group_id: group for group in groups if group.group_type == SHARE}
    if not sharing:
        return []
    rows = share_offset_rows(shares.answers, topology.names())
    stored = {(row.group_id, TopicPartition(row.topic, row.partition)): row for row in rows if row.topic is not None}
    members = [member for member in members if member.group_id in sharing]
    owners = _owners(members)
    wanted = sorted(stored.keys() | owners.keys() | _subscribed(members, topology))
    logs = _logs(offsets, {partition for _, partition in wanted})
    refused = errors_by_group(shares.failures)
    return [
        _row(sharing[group_id], at, stored.get((group_id, at)), owners.get((group_id, at)), logs, topology, refused)
        for group_id, at in wanted
    ]


def unnamed_topics(shares: ShareOffsets, topology: Topology) -> list[Failure]:
    """A failure for each group with offsets of topics whose names no broker returns: those have no row."""
    rows = share_offset_rows(shares.answers, topology.names())
    groups = sorted({row.group_id for row in rows if row.topic is None})
    name = error_code(UNKNOWN_TOPIC_ID).name
    return [own_failure(DESCRIBE_SHARE_GROUP_OFFSETS, Scope.group(group_id), name) for group_id in groups]


def _owners(members: Sequence[GroupMemberRow]) -> Owners:
    """The owner of each partition: the first by id of the members that share it."""
    return {
        (member.group_id, TopicPartition(topic.topic, partition)): member
        for member in sorted(members, key=lambda some: some.member_id, reverse=True)
        for topic in member.assignment or ()
        if topic.topic is not None
        for partition in topic.partitions
    }


def _subscribed(members: Sequence[GroupMemberRow], topology: Topology) -> set[tuple[str, TopicPartition]]:
    return {
        (member.group_id, TopicPartition(topic, partition))
        for member in members
        for topic in member.subscribed_topics or ()
        for partition in topology.partitions.get(topic, ())
    }


def _logs(offsets: Sequence[PartitionOffsetsRow], wanted: set[TopicPartition]) -> Logs:
    everywhere: Iterator[tuple[str, int]] = zip(
        column_of(offsets, "topic"), column_of(offsets, "partition"), strict=True
    )
    return {
        TopicPartition(*partition): offsets[index] for index, partition in enumerate(everywhere) if partition in wanted
    }


def _row(
    group: ConsumerGroupRow,
    partition: TopicPartition,
    stored: ShareOffsetRow | None,
    owner: GroupMemberRow | None,
    logs: Logs,
    topology: Topology,
    refused: Mapping[str, str],
) -> ConsumerLagRow:
    log, changed = logs.get(partition), topology.changed.get(partition.topic)
    start_offset = stored.start_offset if stored else None
    # An offset stored for an earlier incarnation of the topic says nothing about its log.
    lag = stored.lag if stored and not changed else None
    of_offset = stored.problem if stored else NOT_STARTED
    is_started = of_offset != NOT_STARTED
    problem = refused.get(group.group_id) or (of_offset if is_started else None) or changed
    problem = problem or (LAG_NOT_RETURNED if is_started and lag is None else None)
    problem = problem or _log_problem(partition, log, topology)
    # Any other reason goes first, as with NO_COMMIT.
    problem = problem or (group.problem if is_started else NOT_STARTED)
    log_start_offset = log.log_start_offset if log else None
    margin = None if start_offset is None or log_start_offset is None or changed else start_offset - log_start_offset
    return ConsumerLagRow(
        group_id=group.group_id,
        group_type=group.group_type,
        group_state=group.state,
        topic=partition.topic,
        topic_id=topology.topic_ids.get(partition.topic),
        partition=partition.partition,
        committed_offset=None,
        log_start_offset=log_start_offset,
        high_watermark=log.high_watermark if log else None,
        last_stable_offset=log.last_stable_offset if log else None,
        lag=lag,
        lag_lower_bound=None,
        lag_read_committed=None,
        lag_basis=share_lag_basis(lag, problem),
        records_lost=0 if margin is not None and margin >= 0 else None,
        retention_margin=margin,
        time_lag_ms=None,
        time_lag_method=None,
        first_unread_timestamp_ms=None,
        member_id=owner.member_id if owner else None,
        client_id=owner.client_id if owner else None,
        client_host=owner.client_host if owner else None,
        problem=problem,
        time_lag_problem=None,
        first_unread_offset=None,
        first_unread_timestamp_type=None,
        share_start_offset=start_offset,
    )


def share_lag_basis(lag: int | None, problem: str | None) -> str:
    """Value of column lag_basis: for a partition that a share group has not read from yet, as without a commit."""
    if lag is not None:
        return SHARE_BASIS
    return LOG_START if problem == NOT_STARTED else UNKNOWN


def _log_problem(partition: TopicPartition, log: PartitionOffsetsRow | None, topology: Topology) -> str | None:
    if log is None:
        return topology.hidden.get(partition.topic, _NO_SUCH_PARTITION)
    is_whole = None not in (log.log_start_offset, log.high_watermark, log.last_stable_offset)
    return None if is_whole else log.problem
