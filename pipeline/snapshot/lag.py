"""Groups, commits and ends in, lag rows out: a pure function.

Guards one rule: lag is the end that was read after the commit minus the commit, raw. It is null when either side is
unknown, `problem` says why, and every partition that is committed, assigned or subscribed has exactly one row.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from pipeline.client.cluster import TopicPartition
from pipeline.snapshot.commits import NO_COMMIT
from pipeline.snapshot.rows import (
    CommittedOffsetRow,
    ConsumerGroupRow,
    ConsumerLagRow,
    GroupMemberRow,
    PartitionOffsetsRow,
)
from pipeline.snapshot.topology import Topology

_NO_SUCH_PARTITION = "UNKNOWN_TOPIC_OR_PARTITION"
COMMITTED, LOG_START, UNKNOWN = "committed", "log_start", "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ends:
    """Ends of partitions read before the commits (offsets only) and after them (rows)."""

    before: Mapping[TopicPartition, int]
    after: Mapping[TopicPartition, PartitionOffsetsRow]


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
    for group in groups:
        group_members = members_of.get(group.group_id, [])
        owners = _owners(group_members)
        its_commits = committed.get(group.group_id, {})
        subscribed = _subscribed(group_members, topology)
        for at in sorted(its_commits.keys() | owners.keys() | subscribed):
            yield _row(group, at, its_commits.get(at), owners.get(at), unread.get(group.group_id), ends, topology)


def _by_group(commits: Sequence[CommittedOffsetRow]) -> dict[str, dict[TopicPartition, CommittedOffsetRow]]:
    found: dict[str, dict[TopicPartition, CommittedOffsetRow]] = {}
    for commit in commits:
        found.setdefault(commit.group_id, {})[TopicPartition(commit.topic, commit.partition)] = commit
    return found


def _owners(members: Sequence[GroupMemberRow]) -> dict[TopicPartition, GroupMemberRow]:
    return {
        TopicPartition(one.topic, partition): member
        for member in members
        for one in member.assignment or ()
        if one.topic is not None
        for partition in one.partitions
    }


def _subscribed(members: Sequence[GroupMemberRow], topology: Topology) -> set[TopicPartition]:
    topics = {topic for member in members for topic in member.subscribed_topics or ()}
    return {TopicPartition(topic, partition) for topic in topics for partition in topology.partitions.get(topic, ())}


def _row(
    group: ConsumerGroupRow,
    at: TopicPartition,
    commit: CommittedOffsetRow | None,
    owner: GroupMemberRow | None,
    unread: str | None,
    ends: Ends,
    topology: Topology,
) -> ConsumerLagRow:
    end = ends.after.get(at)
    changed = topology.changed.get(at.topic)
    offset = commit.committed_offset if commit else None
    start, high, stable = (
        (end.log_start_offset, end.high_watermark, end.last_stable_offset) if end else (None, None, None)
    )
    # A commit and an end of two incarnations of a topic have nothing to do with each other.
    base = None if changed else offset
    lag = _minus(high, base)
    margin = _minus(base, start)
    problem = unread or (commit.problem if commit else None) or changed or _end_problem(end)
    if lag is None and problem is None and offset is None:
        problem = NO_COMMIT
    return ConsumerLagRow(
        group.group_id,
        group.group_type,
        group.state,
        at.topic,
        topology.topic_ids.get(at.topic),
        at.partition,
        offset,
        start,
        high,
        stable,
        lag,
        _minus(ends.before.get(at), base),
        _minus(stable, base),
        _basis(lag, problem, start, high),
        None if margin is None else max(0, -margin),
        margin,
        None,
        None,
        None,
        owner.member_id if owner else None,
        owner.client_id if owner else None,
        owner.client_host if owner else None,
        problem,
    )


def _minus(end: int | None, start: int | None) -> int | None:
    return None if end is None or start is None else end - start


def _end_problem(end: PartitionOffsetsRow | None) -> str | None:
    return end.problem if end else _NO_SUCH_PARTITION


def _basis(lag: int | None, problem: str | None, start: int | None, high: int | None) -> str:
    if lag is not None:
        return COMMITTED
    return LOG_START if problem == NO_COMMIT and start is not None and high is not None else UNKNOWN
