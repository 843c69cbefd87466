"""Lists, describes and deletes groups of every type (ListGroups, DeleteGroups, and the API that describes each type).

The type that ListGroups returns decides which API describes a group: DescribeGroups answers for a live KIP-848 group that it
is "Dead", with error 0.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from operator import attrgetter
from typing import Any

from kafka_lagoon.admin.coordinator_lists import GROUPS, list_of_coordinators
from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.client.failures import Failure
from kafka_lagoon.client.routes import ByBroker, ByCoordinator
from kafka_lagoon.client.routing import Gathered, ShardedRequest, gather
from kafka_lagoon.clock import Deadline
from kafka_lagoon.errors import Contradiction
from kafka_lagoon.frozen import frozen
from kafka_lagoon.protocol.error_codes import GROUP_ID_NOT_FOUND, NON_EMPTY_GROUP
from kafka_lagoon.protocol.messages.consumer_group_describe import (
    CONSUMER_GROUP_DESCRIBE,
    ConsumerGroupDescribeRequest,
    DescribedConsumerGroup,
)
from kafka_lagoon.protocol.messages.delete_groups import DELETE_GROUPS, DeleteGroupsRequest, DeleteGroupsResponse
from kafka_lagoon.protocol.messages.describe_groups import DESCRIBE_GROUPS, DescribedGroup, DescribeGroupsRequest
from kafka_lagoon.protocol.messages.list_groups import LIST_GROUPS, ListedGroup, ListGroupsRequest, ListGroupsResponse
from kafka_lagoon.protocol.messages.share_group_describe import (
    SHARE_GROUP_DESCRIBE,
    DescribedShareGroup,
    ShareGroupDescribeRequest,
)
from kafka_lagoon.protocol.messages.streams_group_describe import (
    STREAMS_GROUP_DESCRIBE,
    DescribedStreamsGroup,
    StreamsGroupDescribeRequest,
    topics_read,
)
from kafka_lagoon.wire.schema import Api

CLASSIC, CONSUMER, SHARE, STREAMS = "classic", "consumer", "share", "streams"
TYPES = (CLASSIC, CONSUMER, SHARE, STREAMS)
STATES = (  # of groups of all types
    "Empty",
    "Stable",
    "PreparingRebalance",
    "CompletingRebalance",
    "Assigning",
    "Reconciling",
    "NotReady",
    "Dead",
)
# The types that a group may change to: when its members upgrade their protocol (KIP-848), or when a member of the other type
# joins it while it is empty.
_MIGRATED = {CLASSIC: (CONSUMER, STREAMS), CONSUMER: (CLASSIC,), STREAMS: (CLASSIC,)}
_DEAD, _STABLE = "Dead", "Stable"
_TASKS = ("active_tasks", "standby_tasks", "warmup_tasks")  # of a member of a streams group
_CHUNK = 500  # groups in one request: a description may hold thousands of members

Description = DescribedGroup | DescribedConsumerGroup | DescribedShareGroup | DescribedStreamsGroup


@frozen(kw_only=False)
class GroupListing:
    """A group as a broker listed it, and that broker: the group's coordinator."""

    group: ListedGroup
    node_id: int

    @property
    def group_type(self) -> str | None:
        """Lower-case type, None where brokers do not list it (before ListGroups v5)."""
        return self.group.group_type.lower() or None


@frozen
class GroupListings:
    """Groups by id, and failures: of brokers that did not list theirs, and of partitions whose groups no broker lists."""

    groups: Mapping[str, GroupListing]
    failures: Sequence[Failure]


@frozen
class GroupDescriptions:
    """Descriptions and failures by group id; a group whose type no API of ours describes is in neither.

    `coordinator_ids` are the last known coordinators of all groups; `migrated` are the listings of groups that changed their
    type after they were listed.
    """

    descriptions: Mapping[str, Description]
    failures: Mapping[str, Failure]
    coordinator_ids: Mapping[str, int]
    migrated: Mapping[str, GroupListing]


def list_groups(cluster: Cluster, deadline: Deadline) -> GroupListings:
    """Every group that any broker coordinates; the coordinators are remembered.

    Other brokers take over the groups of a broker that fails, so after a failure all brokers are asked once more, as they are
    after a coordinator has moved. No broker lists the groups of a partition of __consumer_offsets without a leader: such a
    partition makes a failure of the list.
    """
    once = partial(_list_once, cluster, deadline)
    lists, short = list_of_coordinators(cluster, LIST_GROUPS, GROUPS, deadline, once)
    failures = {node_id: failure for gathered in lists for node_id, failure in gathered.failures.items()}
    if failures and len(lists) == 1:
        lists = [*lists, once()]
    groups = {group_id: listing for gathered in lists for group_id, listing in _listings(gathered)}
    cluster.learn_coordinators({group_id: listing.node_id for group_id, listing in groups.items()})
    return GroupListings(groups=groups, failures=[*failures.values(), *filter(None, [short])])


def _list_once(cluster: Cluster, deadline: Deadline) -> Gathered[int, ListGroupsResponse]:
    sharded = ShardedRequest(
        api=LIST_GROUPS,
        items=cluster.coordinators(),
        build=lambda _: ListGroupsRequest(),
        read=lambda response, items: [(items[0], response.error_code, response)],
        chunk=1,
        required=True,
    )
    return gather(cluster, ByBroker(cluster), [sharded], deadline)[0]


def _listings(gathered: Gathered[int, ListGroupsResponse]) -> Iterator[tuple[str, GroupListing]]:
    """A group that moved meanwhile is listed twice; the broker with the highest id counts, and routing corrects it."""
    for node_id, response in sorted(gathered.answers.items()):
        for group in response.groups:
            yield group.group_id, GroupListing(group, node_id)


def delete_groups(cluster: Cluster, group_ids: Sequence[str], deadline: Deadline) -> Gathered[str, None]:
    """Delete groups of any type with what they committed; their coordinators refuse those that have members."""
    sharded: ShardedRequest[str, None] = ShardedRequest(
        api=DELETE_GROUPS,
        items=group_ids,
        build=lambda items: DeleteGroupsRequest(groups_names=tuple(items)),
        read=_read_deletions,
        chunk=_CHUNK,
        once=True,
    )
    return gather(cluster, ByCoordinator(cluster), [sharded], deadline)[0]


def _read_deletions(response: DeleteGroupsResponse, _: Sequence[str]) -> Iterator[tuple[str, int, None, str | None]]:
    for result in response.results:
        has_members = result.error_code == NON_EMPTY_GROUP
        message = "the group has members: stop them first" if has_members else result.error_message
        yield result.group_id, result.error_code, None, message


def described_as(listing: GroupListing) -> str:
    """The type that decides how a group is described: brokers that list no types have classic groups only."""
    return listing.group_type or CLASSIC


def describe_groups(cluster: Cluster, groups: Mapping[str, GroupListing], deadline: Deadline) -> GroupDescriptions:
    """Descriptions of listed groups from their coordinators, each by the API of its type.

    A group that does not exist under its type is requested again under the types that it may have changed to since.
    """
    descriptions, failures = _describe(
        cluster, {one: described_as(listing) for one, listing in groups.items()}, deadline
    )
    gone = _gone(groups, descriptions, failures)
    alive: dict[str, Description] = {}
    migrated: dict[str, GroupListing] = {}
    for group_type in TYPES:
        wanted = {group_id: group_type for group_id, types in gone.items() if group_type in types}
        again, _ = _describe(cluster, wanted, deadline) if wanted else ({}, {})
        described = {group_id: answer for group_id, answer in again.items() if not _is_dead(answer)}
        alive |= described
        migrated |= {group_id: _migrated(groups[group_id], group_type) for group_id in described}
    coordinator_ids = {group_id: cluster.coordinator_of(group_id) for group_id in groups}
    return GroupDescriptions(
        descriptions={**descriptions, **alive},
        failures={group_id: failure for group_id, failure in failures.items() if group_id not in alive},
        coordinator_ids={group_id: node_id for group_id, node_id in coordinator_ids.items() if node_id is not None},
        migrated=migrated,
    )


def _describe(
    cluster: Cluster, types: Mapping[str, str], deadline: Deadline
) -> tuple[dict[str, Description], dict[str, Failure]]:
    items: dict[str, list[str]] = {group_type: [] for group_type in _APIS}
    for group_id, group_type in types.items():
        if group_type in items:
            items[group_type].append(group_id)
    sharded = [
        ShardedRequest(
            api=api,
            items=items[group_type],
            build=build,
            read=_read_groups,
            chunk=_CHUNK,
            required=group_type == CLASSIC,
        )
        for group_type, (api, build) in _APIS.items()
    ]
    gathered = gather(cluster, ByCoordinator(cluster), sharded, deadline)
    return (
        {group_id: answer for some in gathered for group_id, answer in some.answers.items()},
        {group_id: failure for some in gathered for group_id, failure in some.failures.items()},
    )


def _gone(
    groups: Mapping[str, GroupListing], descriptions: Mapping[str, Description], failures: Mapping[str, Failure]
) -> dict[str, Sequence[str]]:
    """Groups that do not exist under their type, with the types that they may have now."""
    absent = {group_id for group_id, failure in failures.items() if failure.code == GROUP_ID_NOT_FOUND}
    absent |= {
        group_id
        for group_id, answer in descriptions.items()
        if _is_dead(answer) and groups[group_id].group.group_state != _DEAD
    }
    types = {group_id: described_as(groups[group_id]) for group_id in absent}
    return {group_id: _MIGRATED[one] for group_id, one in types.items() if one in _MIGRATED}


def _is_dead(answer: Description) -> bool:
    return answer.group_state == _DEAD


def _migrated(listing: GroupListing, group_type: str) -> GroupListing:
    return GroupListing(replace(listing.group, group_type=group_type), listing.node_id)


def _read_groups(response: Any, _: Sequence[str]) -> Iterator[tuple[str, int | Contradiction, Any]]:
    for group in response.groups:
        are_distinct = len({member.member_id for member in group.members}) == len(group.members)
        are_distinct = are_distinct and all(map(_owns_each_once, group.members))
        code = group.error_code if are_distinct else Contradiction()
        if isinstance(group, DescribedStreamsGroup) and not group.error_code:
            code = _topology_fault(group) or code
        yield group.group_id, code, group


def _owns_each_once(member: Any) -> bool:
    """True if no assignment of a member has a topic, a subtopology, or a partition of them twice; classic groups have none."""
    assignments = [getattr(member, name, None) for name in ("assignment", "target_assignment")]
    lists = [(getattr(one, "topic_partitions", None), attrgetter("topic_id")) for one in assignments]
    lists += [(getattr(one, name, None), attrgetter("subtopology_id")) for one in assignments for name in _TASKS]
    return not any(_has_twice(owned, key) for owned, key in lists if owned)


def _has_twice(owned: Sequence[Any], key: Callable[[Any], object]) -> bool:
    return len({key(one) for one in owned}) < len(owned) or any(
        len(set(one.partitions)) < len(one.partitions) for one in owned
    )


def _topology_fault(group: DescribedStreamsGroup) -> Contradiction | None:
    """A topology that has something twice, or that lacks subtopologies whose tasks the members of a stable group have."""
    parts = (group.topology.subtopologies if group.topology else None) or ()
    known = {part.subtopology_id for part in parts}
    if len(known) < len(parts) or any(len(set(topics)) < len(topics) for topics in map(topics_read, parts)):
        return Contradiction()
    tasks = (task for member in group.members for name in _TASKS for task in getattr(member.assignment, name))
    if group.group_state == _STABLE and not known.issuperset(task.subtopology_id for task in tasks):
        return Contradiction("members have tasks of subtopologies that the topology does not have")
    return None


_APIS: Mapping[str, tuple[Api[Any, Any], Callable[[Sequence[str]], object]]] = {
    CLASSIC: (DESCRIBE_GROUPS, lambda items: DescribeGroupsRequest(groups=tuple(items))),
    CONSUMER: (
        CONSUMER_GROUP_DESCRIBE,
        lambda items: ConsumerGroupDescribeRequest(group_ids=tuple(items), include_authorized_operations=False),
    ),
    SHARE: (
        SHARE_GROUP_DESCRIBE,
        lambda items: ShareGroupDescribeRequest(group_ids=tuple(items), include_authorized_operations=False),
    ),
    STREAMS: (
        STREAMS_GROUP_DESCRIBE,
        lambda items: StreamsGroupDescribeRequest(
            group_ids=tuple(items), include_authorized_operations=False, include_topology_description=False
        ),
    ),
}
