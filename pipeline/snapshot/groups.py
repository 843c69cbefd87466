"""Brokers in, groups and their members out.

Guards one rule: every group is described by the API of its type. A classic description of a KIP-848 group says "Dead"
with error 0, so the type that ListGroups gives decides, and a group that cannot be described keeps its row.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from pipeline.client.cluster import Cluster
from pipeline.client.deadline import Deadline
from pipeline.client.routing import ByBroker, ByCoordinator, Failure, Gathered, Question, gather
from pipeline.errors import DecodeError
from pipeline.protocol.embedded import Assignment, Subscription, decode_assignment, decode_subscription
from pipeline.protocol.messages.consumer_group_describe import (
    CONSUMER_GROUP_DESCRIBE,
    ConsumerGroupAssignment,
    ConsumerGroupDescribeRequest,
    ConsumerGroupDescribeResponse,
    DescribedConsumerGroup,
    DescribedConsumerMember,
)
from pipeline.protocol.messages.describe_groups import (
    DESCRIBE_GROUPS,
    DescribedGroup,
    DescribedMember,
    DescribeGroupsRequest,
    DescribeGroupsResponse,
)
from pipeline.protocol.messages.find_coordinator import GROUP
from pipeline.protocol.messages.list_groups import LIST_GROUPS, ListedGroup, ListGroupsRequest, ListGroupsResponse
from pipeline.snapshot.rows import ConsumerGroupRow, GroupMemberRow, TopicPartitions
from pipeline.wire.primitives import uuid_text

CLASSIC, CONSUMER, SHARE = "classic", "consumer", "share"
NOT_DESCRIBED = "GROUP_TYPE_NOT_DESCRIBED"
UNREADABLE = "MEMBER_PROTOCOL_UNREADABLE"
_CONSUMER_PROTOCOL = "consumer"
_DEAD = "Dead"
_GONE = "GROUP_ID_NOT_FOUND"
_CHUNK = 500  # groups in one request: a description may hold thousands of members


@dataclass(frozen=True, slots=True)
class Listed:
    """A group as a broker listed it, and that broker: the group's coordinator."""

    group: ListedGroup
    node_id: int

    @property
    def group_type(self) -> str | None:
        """Lower-case type, None where brokers do not tell it (before ListGroups v5)."""
        return self.group.group_type.lower() or None


@dataclass(frozen=True, slots=True, kw_only=True)
class Groups:
    """Rows of all groups and members, and the failures met on the way."""

    groups: Sequence[ConsumerGroupRow]
    members: Sequence[GroupMemberRow]
    failures: Sequence[Failure]


def list_groups(cluster: Cluster, deadline: Deadline) -> tuple[dict[str, Listed], Gathered[int, ListGroupsResponse]]:
    """Every group that any broker coordinates, and the brokers' answers.

    A broker that fails has its groups taken over by others, so after a failure the others are asked once more.
    """
    found = _list_once(cluster, deadline)
    listed = dict(_merged(found))
    if found.failures:
        again = _list_once(cluster, deadline)
        listed = {**dict(_merged(again)), **listed}
    cluster.coordinators.update({(GROUP, group_id): one.node_id for group_id, one in listed.items()})
    return listed, found


def _list_once(cluster: Cluster, deadline: Deadline) -> Gathered[int, ListGroupsResponse]:
    question = Question(
        api=LIST_GROUPS,
        items=sorted(cluster.brokers),
        build=lambda _: ListGroupsRequest(),
        read=lambda response, items: [(items[0], response.error_code, response)],
        chunk=1,
    )
    return gather(cluster, ByBroker(cluster), [question], deadline)[0]


def _merged(found: Gathered[int, ListGroupsResponse]) -> Iterator[tuple[str, Listed]]:
    """A group that moved while we asked is listed twice; the later broker stays, and routing corrects it if need be."""
    for node_id, response in sorted(found.answers.items()):
        for group in response.groups:
            yield group.group_id, Listed(group, node_id)


def describe_groups(cluster: Cluster, listed: Mapping[str, Listed], deadline: Deadline) -> Groups:
    """Rows of the listed groups and of their members."""
    consumer = [group_id for group_id, one in listed.items() if one.group_type == CONSUMER]
    classic = [group_id for group_id, one in listed.items() if one.group_type in (CLASSIC, None)]
    questions = [
        Question(
            api=DESCRIBE_GROUPS,
            items=classic,
            build=lambda items: DescribeGroupsRequest(groups=tuple(items)),
            read=_read_groups,
            chunk=_CHUNK,
        ),
        Question(
            api=CONSUMER_GROUP_DESCRIBE,
            items=consumer,
            build=lambda items: ConsumerGroupDescribeRequest(
                group_ids=tuple(items), include_authorized_operations=False
            ),
            read=_read_groups,
            chunk=_CHUNK,
        ),
    ]
    found = gather(cluster, ByCoordinator(cluster), questions, deadline)
    return _rows(cluster, listed, *found)


def _read_groups(
    response: DescribeGroupsResponse | ConsumerGroupDescribeResponse, _: Sequence[str]
) -> Iterator[tuple[str, int, DescribedGroup | DescribedConsumerGroup]]:
    for group in response.groups:
        yield group.group_id, group.error_code, group


def _rows(
    cluster: Cluster,
    listed: Mapping[str, Listed],
    classic: Gathered[str, DescribedGroup],
    consumer: Gathered[str, DescribedConsumerGroup],
) -> Groups:
    groups: list[ConsumerGroupRow] = []
    members: list[GroupMemberRow] = []
    failures = {**classic.failures, **consumer.failures}
    for group_id, one in sorted(listed.items()):
        coordinator_id = cluster.coordinators.get((GROUP, group_id), one.node_id)
        if group_id in classic.answers:
            row, some = _classic(one, classic.answers[group_id], coordinator_id)
        elif group_id in consumer.answers:
            row, some = _consumer(one, consumer.answers[group_id], coordinator_id)
        else:
            row, some = _undescribed(one, failures.get(group_id), coordinator_id), []
        groups.append(row)
        members += some
    return Groups(groups=groups, members=members, failures=[f for f in failures.values() if f.name != _GONE])


def _undescribed(one: Listed, failure: Failure | None, coordinator_id: int) -> ConsumerGroupRow:
    return ConsumerGroupRow(
        group_id=one.group.group_id,
        group_type=one.group_type,
        protocol_type=one.group.protocol_type,
        state=one.group.group_state or None,
        protocol=None,
        coordinator_id=coordinator_id,
        members=None,
        group_epoch=None,
        assignment_epoch=None,
        problem=failure.name if failure else NOT_DESCRIBED,
    )


def _classic(
    one: Listed, described: DescribedGroup, coordinator_id: int
) -> tuple[ConsumerGroupRow, list[GroupMemberRow]]:
    members, problem = [], None
    for member in described.members:
        try:
            subscription, assignment = _told(described, member)
        except DecodeError:
            subscription, assignment, problem = None, None, UNREADABLE
        members.append(_classic_member(described, member, subscription, assignment))
    if described.group_state == _DEAD and one.group.group_state != _DEAD:
        problem = _GONE  # before DescribeGroups v6 a group that is not there has error 0 and this state
    row = ConsumerGroupRow(
        group_id=described.group_id,
        group_type=one.group_type,
        protocol_type=described.protocol_type or one.group.protocol_type,
        state=described.group_state,
        protocol=described.protocol_data or None,
        coordinator_id=coordinator_id,
        members=len(members),
        group_epoch=None,
        assignment_epoch=None,
        problem=problem,
    )
    return row, members


def _classic_member(
    group: DescribedGroup, member: DescribedMember, subscription: Subscription | None, assignment: Assignment | None
) -> GroupMemberRow:
    return GroupMemberRow(
        group_id=group.group_id,
        member_id=member.member_id,
        group_instance_id=member.group_instance_id,
        client_id=member.client_id,
        client_host=member.client_host,
        rack_id=(subscription.rack_id or None) if subscription else None,
        subscribed_topics=subscription.topics if subscription else None,
        assignment=tuple(
            TopicPartitions(topic=one.topic, topic_id=None, partitions=one.partitions)
            for one in assignment.assigned_partitions
        )
        if assignment
        else None,
        target_assignment=None,
        member_epoch=None,
    )


def _told(group: DescribedGroup, member: DescribedMember) -> tuple[Subscription | None, Assignment | None]:
    """A member's subscription and assignment, which the coordinator keeps as bytes of the consumer protocol."""
    if group.protocol_type != _CONSUMER_PROTOCOL:
        return None, None
    subscription = decode_subscription(member.member_metadata) if member.member_metadata else None
    assignment = decode_assignment(member.member_assignment) if member.member_assignment else None
    return subscription, assignment


def _consumer(
    one: Listed, described: DescribedConsumerGroup, coordinator_id: int
) -> tuple[ConsumerGroupRow, list[GroupMemberRow]]:
    row = ConsumerGroupRow(
        group_id=described.group_id,
        group_type=one.group_type,
        protocol_type=one.group.protocol_type,
        state=described.group_state,
        protocol=described.assignor_name or None,
        coordinator_id=coordinator_id,
        members=len(described.members),
        group_epoch=described.group_epoch,
        assignment_epoch=described.assignment_epoch,
        problem=None,
    )
    return row, [_consumer_member(described.group_id, member) for member in described.members]


def _consumer_member(group_id: str, member: DescribedConsumerMember) -> GroupMemberRow:
    return GroupMemberRow(
        group_id=group_id,
        member_id=member.member_id,
        group_instance_id=member.instance_id,
        client_id=member.client_id,
        client_host=member.client_host,
        rack_id=member.rack_id,
        subscribed_topics=member.subscribed_topic_names or None,
        assignment=_owned(member.assignment),
        target_assignment=_owned(member.target_assignment),
        member_epoch=member.member_epoch,
    )


def _owned(assignment: ConsumerGroupAssignment) -> tuple[TopicPartitions, ...]:
    return tuple(
        TopicPartitions(topic=one.topic_name, topic_id=uuid_text(one.topic_id), partitions=one.partitions)
        for one in assignment.topic_partitions
    )
