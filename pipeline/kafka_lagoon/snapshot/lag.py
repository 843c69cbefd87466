"""Groups, commits and ends in, lag rows out: a pure function.

Guards one rule: lag is the end that was read after the commit minus the commit, raw. It is null when either side is
unknown, `problem` says why, and every partition that is committed, assigned or subscribed has exactly one row.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from kafka_lagoon.client.cluster import TopicPartition
from kafka_lagoon.snapshot.commits import NO_COMMIT
from kafka_lagoon.snapshot.offsets import NOT_TOLD
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Ends:
    """Ends of partitions read before the commits (offsets only, or why they are not known) and after them (rows)."""

    before: Mapping[TopicPartition, int]
    before_problems: Mapping[TopicPartition, str]
    after: Mapping[TopicPartition, PartitionOffsetsRow]


@dataclass(slots=True, kw_only=True)
class _Place:
    """What all rows of one partition share."""

    topic: str
    topic_id: str | None
    partition: int
    start: int | None
    high: int | None
    stable: int | None
    before: int | None
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
    places: dict[TopicPartition, _Place] = {}
    for group in groups:
        group_members = members_of.get(group.group_id, [])
        owners = _owners(group_members)
        its_commits = committed.get(group.group_id, {})
        subscribed = _subscribed(group_members, topology)
        group_problem = unread.get(group.group_id)
        for at in sorted(its_commits.keys() | owners.keys() | subscribed):
            place = places.get(at)
            if place is None:
                place = places[at] = _place(at, ends, topology)
            yield _row(group, place, its_commits.get(at), owners.get(at), group_problem)


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


def _place(at: TopicPartition, ends: Ends, topology: Topology) -> _Place:
    end = ends.after.get(at)
    return _Place(
        topic=at.topic,
        topic_id=topology.topic_ids.get(at.topic),
        partition=at.partition,
        start=end.log_start_offset if end else None,
        high=end.high_watermark if end else None,
        stable=end.last_stable_offset if end else None,
        before=ends.before.get(at),
        changed=topology.changed.get(at.topic),
        problem=_side_problem(at, end, ends, topology),
    )


def _side_problem(at: TopicPartition, end: PartitionOffsetsRow | None, ends: Ends, topology: Topology) -> str | None:
    """Why an offset that lag is made of is not known."""
    if end is None:
        return topology.hidden.get(at.topic, _NO_SUCH_PARTITION)
    if end.problem and None in (end.log_start_offset, end.high_watermark, end.last_stable_offset):
        return end.problem
    return None if at in ends.before else ends.before_problems.get(at, NOT_TOLD)


# Hot: every group meets every partition that it has committed, and 12,000 rows are a small cluster's (tests/bench).
def _row(
    group: ConsumerGroupRow,
    place: _Place,
    commit: CommittedOffsetRow | None,
    owner: GroupMemberRow | None,
    unread: str | None,
) -> ConsumerLagRow:
    start, high, stable, changed = place.start, place.high, place.stable, place.changed
    offset = commit.committed_offset if commit else None
    # A commit and an end of two incarnations of a topic have nothing to do with each other.
    if offset is None or changed:
        lag = lower_bound = read_committed = margin = None
    else:
        lag = None if high is None else high - offset
        lower_bound = None if place.before is None else place.before - offset
        read_committed = None if stable is None else stable - offset
        margin = None if start is None else offset - start
    problem = unread or (commit.problem if commit else None) or changed or place.problem
    if lag is None and problem is None and offset is None:
        problem = NO_COMMIT
    basis = COMMITTED if lag is not None else _basis(problem, start, high)
    return ConsumerLagRow(
        group.group_id,
        group.group_type,
        group.state,
        place.topic,
        place.topic_id,
        place.partition,
        offset,
        start,
        high,
        stable,
        lag,
        lower_bound,
        read_committed,
        basis,
        None if margin is None else max(0, -margin),
        margin,
        None,
        None,
        None,
        owner.member_id if owner else None,
        owner.client_id if owner else None,
        owner.client_host if owner else None,
        problem or group.problem,
    )


def _basis(problem: str | None, start: int | None, high: int | None) -> str:
    """What a lag that is not known could be taken from instead."""
    return LOG_START if problem == NO_COMMIT and start is not None and high is not None else UNKNOWN
