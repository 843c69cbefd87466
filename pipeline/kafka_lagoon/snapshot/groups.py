"""Brokers in, groups and their members out.

Guards one rule: every group is described by the API of its type. A classic description of a KIP-848 group says "Dead"
with error 0, so the type that ListGroups gives decides, and a group that cannot be described keeps its row.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.client.failures import UNSUPPORTED, Failure
from kafka_lagoon.client.routes import ByBroker, ByCoordinator
from kafka_lagoon.client.routing import Gathered, ShardedRequest, gather
from kafka_lagoon.clock import Deadline
from kafka_lagoon.protocol.messages.consumer_group_describe import CONSUMER_GROUP_DESCRIBE, ConsumerGroupDescribeRequest
from kafka_lagoon.protocol.messages.describe_groups import DESCRIBE_GROUPS, DescribeGroupsRequest
from kafka_lagoon.protocol.messages.list_groups import LIST_GROUPS, ListGroupsRequest, ListGroupsResponse
from kafka_lagoon.protocol.messages.share_group_describe import SHARE_GROUP_DESCRIBE, ShareGroupDescribeRequest
from kafka_lagoon.protocol.messages.streams_group_describe import STREAMS_GROUP_DESCRIBE, StreamsGroupDescribeRequest
from kafka_lagoon.snapshot.group_types import (
    CLASSIC,
    CONSUMER,
    GONE,
    SHARE,
    STREAMS,
    Described,
    Listed,
    classic_group,
    consumer_group,
    names_are_missing,
    share_group,
    streams_group,
    undescribed_group,
)
from kafka_lagoon.snapshot.state_rows import ConsumerGroupRow, GroupMemberRow
from kafka_lagoon.snapshot.topology import Topology
from kafka_lagoon.wire.schema import Api

_CHUNK = 500  # groups in one request: a description may hold thousands of members


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
    cluster.learn_coordinators({group_id: one.node_id for group_id, one in listed.items()})
    return listed, found


def _list_once(cluster: Cluster, deadline: Deadline) -> Gathered[int, ListGroupsResponse]:
    sharded = ShardedRequest(
        api=LIST_GROUPS,
        items=sorted(cluster.brokers),
        build=lambda _: ListGroupsRequest(),
        read=lambda response, items: [(items[0], response.error_code, response)],
        chunk=1,
    )
    return gather(cluster, ByBroker(cluster), [sharded], deadline)[0]


def _merged(found: Gathered[int, ListGroupsResponse]) -> Iterator[tuple[str, Listed]]:
    """A group that moved while we asked is listed twice; the later broker stays, and routing corrects it if need be."""
    for node_id, response in sorted(found.answers.items()):
        for group in response.groups:
            yield group.group_id, Listed(group, node_id)


def describe_groups(
    cluster: Cluster, listed: Mapping[str, Listed], deadline: Deadline, topology: Callable[[], Topology]
) -> Groups:
    """Rows of the listed groups and of their members.

    `topology` is called where descriptions need it: for the partitions of topics that tasks of streams groups read, and
    for the names of topics of which a broker tells the id only.
    """
    sharded_requests = [
        ShardedRequest(
            api=api,
            items=[group_id for group_id, one in listed.items() if _type_of(one) == group_type],
            build=build,
            read=_read_groups,
            chunk=_CHUNK,
        )
        for group_type, (api, build) in _BY_TYPE.items()
    ]
    found = gather(cluster, ByCoordinator(cluster), sharded_requests, deadline)
    return _rows(cluster, listed, found, topology)


def _type_of(one: Listed) -> str:
    """The type that decides how a group is described: brokers that tell none have classic groups only."""
    return one.group_type or CLASSIC


def _rows(
    cluster: Cluster,
    listed: Mapping[str, Listed],
    found: Sequence[Gathered[str, Any]],
    topology: Callable[[], Topology],
) -> Groups:
    answers = {group_id: answer for one in found for group_id, answer in one.answers.items()}
    types = {group_id: _type_of(listed[group_id]) for group_id in answers}
    assigned_by_id = (answers[group_id] for group_id, one in types.items() if one in (CONSUMER, SHARE))
    names = topology().names() if any(map(names_are_missing, assigned_by_id)) else {}
    described: dict[str, Callable[[Listed, Any, int], Described]] = {
        CLASSIC: classic_group,
        CONSUMER: partial(consumer_group, names=names),
        SHARE: partial(share_group, names=names),
        STREAMS: partial(streams_group, partitions=topology().partitions if STREAMS in types.values() else {}),
    }
    failures = {group_id: failure for one in found for group_id, failure in one.failures.items()}
    groups: list[ConsumerGroupRow] = []
    members: list[GroupMemberRow] = []
    for group_id, one in sorted(listed.items()):
        coordinator_id = cluster.coordinator_of(group_id)
        coordinator_id = one.node_id if coordinator_id is None else coordinator_id
        if group_id in answers:
            row, some = described[types[group_id]](one, answers[group_id], coordinator_id)
        else:
            row, some = undescribed_group(one, _reason(failures.get(group_id)), coordinator_id), []
        groups.append(row)
        members += some
    return Groups(groups=groups, members=members, failures=[f for f in failures.values() if f.name != GONE])


def _reason(failure: Failure | None) -> str | None:
    """Why a group was not described; None where its type cannot be described here at all."""
    return None if failure is None or failure.name == UNSUPPORTED else failure.name


def _read_groups(response: Any, _: Sequence[str]) -> Iterator[tuple[str, int, Any]]:
    for group in response.groups:
        yield group.group_id, group.error_code, group


_BY_TYPE: Mapping[str, tuple[Api[Any, Any], Callable[[Sequence[str]], object]]] = {
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
        lambda items: StreamsGroupDescribeRequest(group_ids=tuple(items), include_authorized_operations=False),
    ),
}
