"""Makes rows of a group and its members from its description, with one function per type of group.

All types have the same columns; a column that a type does not have is null.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import cache

from kafka_lagoon.admin.groups import CLASSIC, CONSUMER, STREAMS, Description, GroupListing
from kafka_lagoon.errors import DecodeError
from kafka_lagoon.protocol.embedded import decode_assignment, decode_subscription
from kafka_lagoon.protocol.error_codes import GROUP_ID_NOT_FOUND, UNKNOWN_TOPIC_ID, error_code
from kafka_lagoon.protocol.messages.consumer_group_describe import (
    CLASSIC_MEMBER,
    CONSUMER_MEMBER,
    ConsumerGroupAssignment,
    DescribedConsumerGroup,
    DescribedConsumerMember,
)
from kafka_lagoon.protocol.messages.describe_groups import DescribedGroup, DescribedMember
from kafka_lagoon.protocol.messages.share_group_describe import (
    DescribedShareGroup,
    DescribedShareMember,
    ShareGroupAssignment,
)
from kafka_lagoon.protocol.messages.streams_group_describe import (
    DescribedStreamsGroup,
    DescribedStreamsMember,
    DescribedTaskIds,
    topics_read,
)
from kafka_lagoon.tables.cluster_rows import TopicPartitions
from kafka_lagoon.tables.group_rows import ConsumerGroupRow, GroupMemberRow, StreamsTasks
from kafka_lagoon.wire.primitives import uuid_text

NOT_DESCRIBED = "GROUP_TYPE_NOT_DESCRIBED"
UNREADABLE = "MEMBER_PROTOCOL_UNREADABLE"
UNASSIGNED, NO_TOPOLOGY = "ASSIGNMENT_NOT_RETURNED", "TOPOLOGY_NOT_RETURNED"
GONE = error_code(GROUP_ID_NOT_FOUND).name
_CONSUMER_PROTOCOL = "consumer"
_STABLE, _DEAD = "Stable", "Dead"
_MEMBER_TYPES = {CLASSIC_MEMBER: CLASSIC, CONSUMER_MEMBER: CONSUMER}
_NO_TASKS = dict.fromkeys(("topology_epoch", "process_id", "active_tasks", "standby_tasks", "warmup_tasks"))

GroupAndMembers = tuple[ConsumerGroupRow, list[GroupMemberRow]]


def undescribed_group(listing: GroupListing, reason: str | None, coordinator_id: int) -> ConsumerGroupRow:
    """The row of a group that was listed but not described."""
    return ConsumerGroupRow(
        group_id=listing.group.group_id,
        group_type=listing.group_type,
        protocol_type=listing.group.protocol_type,
        state=listing.group.group_state or None,
        protocol=None,
        coordinator_id=coordinator_id,
        members=None,
        group_epoch=None,
        assignment_epoch=None,
        problem=reason or NOT_DESCRIBED,
        topology_epoch=None,
    )


class ConsumerProtocol:
    """Decodes subscriptions and assignments of classic groups. Equal bytes, which many members have, are decoded once."""

    def __init__(self) -> None:
        self.subscription = cache(decode_subscription)
        self.assignment = cache(_decode_assignment)


def _decode_assignment(encoded: bytes) -> tuple[TopicPartitions, ...]:
    return tuple(
        TopicPartitions(topic=one.topic, topic_id=None, partitions=one.partitions)
        for one in decode_assignment(encoded).assigned_partitions
    )


def classic_group(
    listing: GroupListing, described: DescribedGroup, coordinator_id: int, protocol: ConsumerProtocol
) -> GroupAndMembers:
    """Rows of a classic group, whose protocol consumers and Connect share."""
    if described.group_state == _DEAD and listing.group.group_state != _DEAD:
        # The group was deleted meanwhile: before DescribeGroups v6 a group that does not exist has error 0 and state Dead.
        return undescribed_group(listing, GONE, coordinator_id), []
    members = [_classic_member(described, member, protocol) for member in described.members]
    problem = UNREADABLE if any(member.problem == UNREADABLE for member in members) else None
    row = ConsumerGroupRow(
        group_id=described.group_id,
        group_type=listing.group_type,
        protocol_type=described.protocol_type or listing.group.protocol_type,
        state=described.group_state,
        protocol=described.protocol_data or None,
        coordinator_id=coordinator_id,
        members=len(members),
        group_epoch=None,
        assignment_epoch=None,
        problem=problem,
        topology_epoch=None,
    )
    return row, members


def _classic_member(group: DescribedGroup, member: DescribedMember, protocol: ConsumerProtocol) -> GroupMemberRow:
    subscription, assignment, problem = None, None, None
    if group.protocol_type == _CONSUMER_PROTOCOL:
        # Subscription and assignment are decoded separately: assignors of other clients may write subscriptions that do not
        # match their version, and Kafka's tools read only assignments.
        try:
            subscription = protocol.subscription(member.member_metadata) if member.member_metadata else None
        except DecodeError:
            problem = UNREADABLE
        try:
            assignment = protocol.assignment(member.member_assignment) if member.member_assignment else None
        except DecodeError:
            problem = UNREADABLE
    if group.protocol_type == _CONSUMER_PROTOCOL and group.group_state == _STABLE and assignment is None:
        problem = problem or UNASSIGNED
    return GroupMemberRow(
        group_id=group.group_id,
        member_id=member.member_id,
        group_instance_id=member.group_instance_id,
        client_id=member.client_id,
        client_host=member.client_host,
        rack_id=(subscription.rack_id or None) if subscription else None,
        subscribed_topics=_in_order(subscription.topics) if subscription else None,
        assignment=assignment,
        target_assignment=None,
        member_epoch=None,
        problem=problem,
        subscribed_pattern=None,
        member_type=None,
        **_NO_TASKS,
    )


def _in_order(topics: Iterable[str]) -> tuple[str, ...]:
    """The topics in order of their names, each once: coordinators before 4.0 return a list as its client has sent it."""
    return tuple(sorted(set(topics)))


def consumer_group(
    listing: GroupListing, described: DescribedConsumerGroup, coordinator_id: int, names: Mapping[str, str]
) -> GroupAndMembers:
    """Rows of a consumer group (KIP-848), whose coordinator assigns partitions.

    `names` has topics by id, for brokers that omit names.
    """
    row = _newer_group(listing, described, coordinator_id, described.assignor_name or None)
    return row, [_consumer_member(described.group_id, member, names) for member in described.members]


def _consumer_member(group_id: str, member: DescribedConsumerMember, names: Mapping[str, str]) -> GroupMemberRow:
    assignment, target = _owned(member.assignment, names), _owned(member.target_assignment, names)
    return GroupMemberRow(
        group_id=group_id,
        member_id=member.member_id,
        group_instance_id=member.instance_id,
        client_id=member.client_id,
        client_host=member.client_host,
        rack_id=member.rack_id,
        subscribed_topics=_in_order(member.subscribed_topic_names) or None,
        assignment=assignment,
        target_assignment=target,
        member_epoch=member.member_epoch,
        problem=_unnamed(assignment + target),
        subscribed_pattern=member.subscribed_topic_regex or None,
        member_type=_MEMBER_TYPES.get(member.member_type),
        **_NO_TASKS,
    )


def names_are_missing(described: Description) -> bool:
    """True if an assignment of a consumer or share group has only the id of a topic."""
    if not isinstance(described, DescribedConsumerGroup | DescribedShareGroup):
        return False
    targets = (getattr(member, "target_assignment", member.assignment) for member in described.members)
    assignments = [*(member.assignment for member in described.members), *targets]
    return any(not topic.topic_name for one in assignments for topic in one.topic_partitions)


def _owned(
    assignment: ConsumerGroupAssignment | ShareGroupAssignment, names: Mapping[str, str]
) -> tuple[TopicPartitions, ...]:
    owned = []
    for topic in assignment.topic_partitions:
        topic_id = uuid_text(topic.topic_id)
        name = topic.topic_name or (names.get(topic_id) if topic_id else None)
        owned.append(TopicPartitions(topic=name, topic_id=topic_id, partitions=tuple(sorted(topic.partitions))))
    return tuple(owned)


def _unnamed(owned: Sequence[TopicPartitions]) -> str | None:
    """The problem of a member that is assigned a topic whose name no broker returns."""
    return error_code(UNKNOWN_TOPIC_ID).name if any(one.topic is None for one in owned) else None


def share_group(
    listing: GroupListing, described: DescribedShareGroup, coordinator_id: int, names: Mapping[str, str]
) -> GroupAndMembers:
    """Rows of a share group (KIP-932): several members may be assigned the same partition."""
    row = _newer_group(listing, described, coordinator_id, described.assignor_name or None)
    return row, [_share_member(described.group_id, member, names) for member in described.members]


def _share_member(group_id: str, member: DescribedShareMember, names: Mapping[str, str]) -> GroupMemberRow:
    assignment = _owned(member.assignment, names)
    return GroupMemberRow(
        group_id=group_id,
        member_id=member.member_id,
        group_instance_id=None,
        client_id=member.client_id,
        client_host=member.client_host,
        rack_id=member.rack_id,
        subscribed_topics=_in_order(member.subscribed_topic_names) or None,
        assignment=assignment,
        target_assignment=None,
        member_epoch=member.member_epoch,
        problem=_unnamed(assignment),
        subscribed_pattern=None,
        member_type=None,
        **_NO_TASKS,
    )


def streams_group(
    listing: GroupListing,
    described: DescribedStreamsGroup,
    coordinator_id: int,
    partitions: Mapping[str, Sequence[int]],
) -> GroupAndMembers:
    """Rows of a streams group (KIP-1071).

    Tasks are assigned, and a task reads the partition of its number of every source topic.
    """
    topology_epoch = described.topology.epoch if described.topology else None
    row = _newer_group(listing, described, coordinator_id, described.assignor_name or None, topology_epoch)
    subtopologies = described.topology.subtopologies if described.topology else None
    if subtopologies is None:
        return row, [_streams_member(described.group_id, member, None, {}) for member in described.members]
    sources = {part.subtopology_id: topics_read(part) for part in subtopologies}
    return row, [_streams_member(described.group_id, member, sources, partitions) for member in described.members]


def _streams_member(
    group_id: str,
    member: DescribedStreamsMember,
    sources: Mapping[str, Sequence[str]] | None,
    partitions: Mapping[str, Sequence[int]],
) -> GroupMemberRow:
    """The row of a member with the partitions of its tasks; the source topics come from the topology of each subtopology."""
    known = sources or {}
    return GroupMemberRow(
        group_id=group_id,
        member_id=member.member_id,
        group_instance_id=member.instance_id,
        client_id=member.client_id,
        client_host=member.client_host,
        rack_id=member.rack_id,
        subscribed_topics=_in_order(topic for some in known.values() for topic in some) or None,
        assignment=None if sources is None else _read_by(member.assignment.active_tasks, known, partitions),
        target_assignment=None
        if sources is None
        else _read_by(member.target_assignment.active_tasks, known, partitions),
        member_epoch=member.member_epoch,
        problem=NO_TOPOLOGY if sources is None else None,
        subscribed_pattern=None,
        member_type=CLASSIC if member.is_classic else STREAMS,
        topology_epoch=member.topology_epoch,
        process_id=member.process_id,
        active_tasks=_tasks(member.assignment.active_tasks),
        standby_tasks=_tasks(member.assignment.standby_tasks),
        warmup_tasks=_tasks(member.assignment.warmup_tasks),
    )


def _tasks(tasks: Sequence[DescribedTaskIds]) -> tuple[StreamsTasks, ...]:
    return tuple(
        StreamsTasks(subtopology_id=some.subtopology_id, partitions=tuple(sorted(some.partitions)))
        for some in sorted(tasks, key=lambda some: some.subtopology_id)
    )


def _read_by(
    tasks: Sequence[DescribedTaskIds], sources: Mapping[str, Sequence[str]], partitions: Mapping[str, Sequence[int]]
) -> tuple[TopicPartitions, ...]:
    """Partitions that active tasks read. The first tasks read a source topic with fewer partitions than there are tasks."""
    read: dict[str, list[int]] = {}
    for task in tasks:
        for topic in sources.get(task.subtopology_id, ()):
            existing = partitions.get(topic, task.partitions)
            read.setdefault(topic, []).extend(number for number in task.partitions if number in existing)
    return tuple(
        TopicPartitions(topic=topic, topic_id=None, partitions=tuple(sorted(some)))
        for topic, some in sorted(read.items())
    )


def _newer_group(
    listing: GroupListing,
    described: DescribedConsumerGroup | DescribedShareGroup | DescribedStreamsGroup,
    coordinator_id: int,
    protocol: str | None,
    topology_epoch: int | None = None,
) -> ConsumerGroupRow:
    return ConsumerGroupRow(
        group_id=described.group_id,
        group_type=listing.group_type,
        protocol_type=listing.group.protocol_type,
        state=described.group_state,
        protocol=protocol,
        coordinator_id=coordinator_id,
        members=len(described.members),
        group_epoch=described.group_epoch,
        assignment_epoch=described.assignment_epoch,
        problem=None,
        topology_epoch=topology_epoch,
    )
