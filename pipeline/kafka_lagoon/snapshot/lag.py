"""Makes the rows of consumer lag: a pure function of groups, members, commits and end offsets.

Lag is the end offset that was read after the commit minus the commit, raw. It is null when either side is unknown, and
`problem` says why. Every partition that is committed, assigned or subscribed has exactly one row.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from kafka_lagoon.client.cluster import TopicPartition
from kafka_lagoon.snapshot.commits import NO_COMMIT
from kafka_lagoon.snapshot.offsets import NOT_RETURNED
from kafka_lagoon.snapshot.state_rows import (
    CommittedOffsetRow,
    ConsumerGroupRow,
    ConsumerLagRow,
    GroupMemberRow,
    PartitionOffsetsRow,
)
from kafka_lagoon.snapshot.topology import Topology

_NO_SUCH_PARTITION = "UNKNOWN_TOPIC_OR_PARTITION"
COMMITTED, LOG_START, UNKNOWN = "committed", "log_start", "unknown"
_NOBODY = (None, None, None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ends:
    """End offsets that were read before the commits (or why they are not known), and rows of those read after them."""

    before: Mapping[TopicPartition, int]
    before_problems: Mapping[TopicPartition, str]
    after: Mapping[TopicPartition, PartitionOffsetsRow]


@dataclass(slots=True, kw_only=True)
class _Log:
    """What all rows of one partition share. Fields with the name of a column are that column."""

    topic: str
    topic_id: str | None
    partition: int
    log_start_offset: int | None
    high_watermark: int | None
    last_stable_offset: int | None
    end_before: int | None
    changed: str | None
    problem: str | None


def lag_rows(
    groups: Sequence[ConsumerGroupRow],
    members: Sequence[GroupMemberRow],
    commits: Sequence[CommittedOffsetRow],
    unread: Mapping[str, str],
    ends: Ends,
    topology: Topology,
) -> Iterator[ConsumerLagRow]:
    """One row per group and partition; `unread` names why the commits of a whole group are missing."""
    committed = _by_group(commits)
    members_of: dict[str, list[GroupMemberRow]] = {}
    for member in members:
        members_of.setdefault(member.group_id, []).append(member)
    logs: dict[TopicPartition, _Log] = {}
    for group in groups:
        group_members = members_of.get(group.group_id, [])
        owners = _owners(group_members)
        group_commits = committed.get(group.group_id, {})
        subscribed = _subscribed(group_members, topology)
        group_problem = unread.get(group.group_id)
        for partition in sorted(group_commits.keys() | owners.keys() | subscribed):
            log = logs.get(partition)
            if log is None:
                log = logs[partition] = _log(partition, ends, topology)
            yield _row(group, log, group_commits.get(partition), owners.get(partition), group_problem)


def _by_group(commits: Sequence[CommittedOffsetRow]) -> dict[str, dict[TopicPartition, CommittedOffsetRow]]:
    by_group: dict[str, dict[TopicPartition, CommittedOffsetRow]] = {}
    for commit in commits:
        by_group.setdefault(commit.group_id, {})[TopicPartition(commit.topic, commit.partition)] = commit
    return by_group


def _owners(members: Sequence[GroupMemberRow]) -> dict[TopicPartition, GroupMemberRow]:
    return {
        TopicPartition(assigned.topic, partition): member
        for member in members
        for assigned in member.assignment or ()
        if assigned.topic is not None
        for partition in assigned.partitions
    }


def _subscribed(members: Sequence[GroupMemberRow], topology: Topology) -> set[TopicPartition]:
    topics = {topic for member in members for topic in member.subscribed_topics or ()}
    return {TopicPartition(topic, partition) for topic in topics for partition in topology.partitions.get(topic, ())}


def _log(partition: TopicPartition, ends: Ends, topology: Topology) -> _Log:
    end = ends.after.get(partition)
    return _Log(
        topic=partition.topic,
        topic_id=topology.topic_ids.get(partition.topic),
        partition=partition.partition,
        log_start_offset=end.log_start_offset if end else None,
        high_watermark=end.high_watermark if end else None,
        last_stable_offset=end.last_stable_offset if end else None,
        end_before=ends.before.get(partition),
        changed=topology.changed.get(partition.topic),
        problem=_side_problem(partition, end, ends, topology),
    )


def _side_problem(
    partition: TopicPartition, end: PartitionOffsetsRow | None, ends: Ends, topology: Topology
) -> str | None:
    """Why an offset that lag is made of is not known."""
    if end is None:
        return topology.hidden.get(partition.topic, _NO_SUCH_PARTITION)
    if end.problem and None in (end.log_start_offset, end.high_watermark, end.last_stable_offset):
        return end.problem
    return None if partition in ends.before else ends.before_problems.get(partition, NOT_RETURNED)


# Hot: every group meets every partition that it has committed, and 12,000 rows are a small cluster's (tests/bench). So the row
# is made by position, from values that have the names of its fields: tests/test_row_classes.py refuses any other order.
def _row(
    group: ConsumerGroupRow,
    log: _Log,
    commit: CommittedOffsetRow | None,
    owner: GroupMemberRow | None,
    unread: str | None,
) -> ConsumerLagRow:
    log_start_offset, high_watermark, last_stable_offset = (
        log.log_start_offset,
        log.high_watermark,
        log.last_stable_offset,
    )
    changed = log.changed
    committed_offset = commit.committed_offset if commit else None
    # A commit and an end offset of two incarnations of a topic have nothing to do with each other.
    if committed_offset is None or changed:
        lag = lag_lower_bound = lag_read_committed = records_lost = retention_margin = None
    else:
        lag = None if high_watermark is None else high_watermark - committed_offset
        lag_lower_bound = None if log.end_before is None else log.end_before - committed_offset
        lag_read_committed = None if last_stable_offset is None else last_stable_offset - committed_offset
        retention_margin = None if log_start_offset is None else committed_offset - log_start_offset
        records_lost = None if retention_margin is None else max(0, -retention_margin)
    problem = unread or (commit.problem if commit else None) or changed or log.problem
    if lag is None and problem is None and committed_offset is None:
        problem = NO_COMMIT
    lag_basis = COMMITTED if lag is not None else _basis(problem, log_start_offset, high_watermark)
    group_state, problem = group.state, problem or group.problem
    member_id, client_id, client_host = (owner.member_id, owner.client_id, owner.client_host) if owner else _NOBODY
    return ConsumerLagRow(
        group.group_id,
        group.group_type,
        group_state,
        log.topic,
        log.topic_id,
        log.partition,
        committed_offset,
        log_start_offset,
        high_watermark,
        last_stable_offset,
        lag,
        lag_lower_bound,
        lag_read_committed,
        lag_basis,
        records_lost,
        retention_margin,
        None,
        None,
        None,
        member_id,
        client_id,
        client_host,
        problem,
        None,
        None,
        None,
        None,
    )


def _basis(problem: str | None, log_start_offset: int | None, high_watermark: int | None) -> str:
    """What a lag that is not known could be taken from instead."""
    has_log = log_start_offset is not None and high_watermark is not None
    return LOG_START if problem == NO_COMMIT and has_log else UNKNOWN
