"""Alters and deletes committed offsets of groups (OffsetCommit, OffsetDelete), as an administrator, not as a member.

The group must have no members: brokers refuse commits of others then, because the next commit of a running consumer would undo
them. Offsets are committed by topic id where the broker takes it (OffsetCommit v10), so that a topic that was re-created
meanwhile gets no offset of the former topic.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.client.failures import Failure, Scope
from kafka_lagoon.client.routes import ByCoordinator
from kafka_lagoon.client.routing import Gathered, ShardedRequest, gather, merged
from kafka_lagoon.clock import Deadline
from kafka_lagoon.errors import PipelineError
from kafka_lagoon.frozen import frozen
from kafka_lagoon.protocol.error_codes import (
    GROUP_SUBSCRIBED_TO_TOPIC,
    ILLEGAL_GENERATION,
    NON_EMPTY_GROUP,
    REBALANCE_IN_PROGRESS,
    STALE_MEMBER_EPOCH,
    UNKNOWN_MEMBER_ID,
)
from kafka_lagoon.protocol.messages.offset_commit import (
    BY_ID,
    BY_NAME,
    OFFSET_COMMIT,
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
)
from kafka_lagoon.protocol.messages.offset_delete import (
    OFFSET_DELETE,
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
    OffsetDeleteResponse,
)
from kafka_lagoon.topic_partition import TopicPartition
from kafka_lagoon.wire.primitives import NO_ID, uuid_bytes
from kafka_lagoon.wire.schema import Versions

UNKNOWN_EPOCH = -1
_OLDEST = 2  # before, offsets are stored in ZooKeeper (v0) or expire by their own time (v1)
_HAS_MEMBERS = "the group has members, which would commit their own offsets again: stop them first"
# Of error codes, for an administrator, who is no member of the group.
EXPLANATIONS = {
    UNKNOWN_MEMBER_ID: _HAS_MEMBERS,
    ILLEGAL_GENERATION: _HAS_MEMBERS,
    REBALANCE_IN_PROGRESS: _HAS_MEMBERS,
    STALE_MEMBER_EPOCH: _HAS_MEMBERS,
    NON_EMPTY_GROUP: "the group has members: stop them first",
    GROUP_SUBSCRIBED_TO_TOPIC: "members of the group are subscribed to the topic: stop them first",
}


class GroupPartition(NamedTuple):
    """A partition of which a group stores an offset."""

    group_id: str
    topic: str
    partition: int

    @property
    def topic_partition(self) -> TopicPartition:
        """The partition without the group."""
        return TopicPartition(self.topic, self.partition)


@frozen(kw_only=False)
class Commit:
    """An offset to commit: the next one to read, the epoch of the record before it, and a text of the committer."""

    offset: int
    leader_epoch: int = UNKNOWN_EPOCH
    metadata: str = ""


class ByGroup(ByCoordinator):
    """Routes to the coordinators of the items' groups; an item has `group_id`."""

    def node_of(self, item: Any) -> int | None:
        """The last known coordinator of its group."""
        return super().node_of(item.group_id)

    def scope_of(self, item: Any) -> Scope:
        """The partition, or the topic, of the group."""
        if isinstance(item, GroupPartition):
            return Scope.group_partition(item.group_id, item.topic, item.partition)
        return Scope.group(item.group_id)

    def refresh(self, items: Sequence[Any], deadline: Deadline) -> Mapping[Any, Failure]:
        """Look up the coordinators of their groups."""
        refused = super().refresh(sorted({item.group_id for item in items}), deadline)
        return {
            item: replace(refused[item.group_id], scope=self.scope_of(item))
            for item in items
            if item.group_id in refused
        }


def alter_offsets(
    cluster: Cluster, commits: Mapping[GroupPartition, Commit], deadline: Deadline
) -> Gathered[GroupPartition, None]:
    """Commit these offsets. A group that does not exist is created by that."""
    topic_ids = _topic_ids(cluster, {item.topic for item in commits}, deadline)
    groups = by_group(commits)
    refused = _without_coordinator(cluster, list(groups), deadline)
    several = [
        _alter_offsets(items, commits, topic_ids) for group_id, items in groups.items() if group_id not in refused
    ]
    gathered = merged(gather(cluster, ByGroup(cluster), several, deadline))
    failures = {
        item: replace(failure, scope=Scope.group_partition(*item))
        for group_id, failure in refused.items()
        for item in groups[group_id]
    }
    return Gathered(gathered.answers, gathered.sources, {**failures, **gathered.failures})


def _without_coordinator(cluster: Cluster, group_ids: Sequence[str], deadline: Deadline) -> Mapping[str, Failure]:
    """Groups whose coordinator no broker names, for example without permission, and why."""
    try:
        return ByCoordinator(cluster).find_unknown(group_ids, deadline)
    except PipelineError:
        return {}  # the commits will fail with the reason


def _alter_offsets(
    items: Sequence[GroupPartition], commits: Mapping[GroupPartition, Commit], topic_ids: Mapping[str, bytes]
) -> ShardedRequest[GroupPartition, None]:
    group_id, names = items[0].group_id, {topic_id: name for name, topic_id in topic_ids.items()}

    def build(some: Sequence[GroupPartition]) -> OffsetCommitRequest:
        topics: dict[str, list[OffsetCommitRequestPartition]] = {}
        for item in some:
            topics.setdefault(item.topic, []).append(_partition(item, commits[item]))
        wanted = (
            OffsetCommitRequestTopic(name=name, topic_id=topic_ids.get(name, NO_ID), partitions=tuple(partitions))
            for name, partitions in topics.items()
        )
        return OffsetCommitRequest(group_id=group_id, topics=tuple(wanted))

    def read(
        response: OffsetCommitResponse, _: Sequence[GroupPartition]
    ) -> Iterator[tuple[GroupPartition, int, None, str | None]]:
        for topic in response.topics:
            name = topic.name or names.get(topic.topic_id, "")
            for partition in topic.partitions:
                code, item = partition.error_code, GroupPartition(group_id, name, partition.partition_index)
                yield item, code, None, EXPLANATIONS.get(code)

    newest = BY_ID if all(item.topic in topic_ids for item in items) else BY_NAME
    # Once: a consumer that started after a lost answer may have committed meanwhile, and would be set back.
    return ShardedRequest(
        api=OFFSET_COMMIT,
        items=items,
        build=build,
        read=read,
        within=Versions(_OLDEST, newest.highest),
        once=True,
    )


def _partition(item: GroupPartition, commit: Commit) -> OffsetCommitRequestPartition:
    return OffsetCommitRequestPartition(
        partition_index=item.partition,
        committed_offset=commit.offset,
        committed_leader_epoch=commit.leader_epoch,
        committed_metadata=commit.metadata,
    )


def _topic_ids(cluster: Cluster, topics: set[str], deadline: Deadline) -> dict[str, bytes]:
    """The ids of the topics that have one; if no broker answers, the commits will fail with the reason."""
    try:
        cluster.refresh(topics, deadline)
    except PipelineError:
        return {}
    topic_ids = {topic: cluster.topics.id_of(topic) for topic in topics}
    return {topic: uuid_bytes(topic_id) for topic, topic_id in topic_ids.items() if topic_id is not None}


def delete_offsets(
    cluster: Cluster, partitions: Sequence[GroupPartition], deadline: Deadline
) -> Gathered[GroupPartition, None]:
    """Delete the committed offsets of groups for these partitions; a partition without a commit is a success."""
    several = [_delete_offsets(items) for items in by_group(partitions).values()]
    return merged(gather(cluster, ByGroup(cluster), several, deadline))


def _delete_offsets(items: Sequence[GroupPartition]) -> ShardedRequest[GroupPartition, None]:
    group_id = items[0].group_id

    def build(some: Sequence[GroupPartition]) -> OffsetDeleteRequest:
        topics: dict[str, list[OffsetDeleteRequestPartition]] = {}
        for item in some:
            topics.setdefault(item.topic, []).append(OffsetDeleteRequestPartition(partition_index=item.partition))
        wanted = (OffsetDeleteRequestTopic(name=name, partitions=tuple(each)) for name, each in topics.items())
        return OffsetDeleteRequest(group_id=group_id, topics=tuple(wanted))

    def read(
        response: OffsetDeleteResponse, some: Sequence[GroupPartition]
    ) -> Iterator[tuple[GroupPartition, int, None, str | None]]:
        if code := response.error_code:
            yield from ((item, code, None, EXPLANATIONS.get(code)) for item in some)
        for topic in response.topics:
            for partition in topic.partitions:
                code, item = partition.error_code, GroupPartition(group_id, topic.name, partition.partition_index)
                yield item, code, None, EXPLANATIONS.get(code)

    return ShardedRequest(
        api=OFFSET_DELETE,
        items=items,
        build=build,
        read=read,
        once=True,  # as commits
    )


def by_group(items: Iterable[GroupPartition]) -> Mapping[str, Sequence[GroupPartition]]:
    """The items by their groups: a request is about one group."""
    groups: dict[str, list[GroupPartition]] = {}
    for item in items:
        groups.setdefault(item.group_id, []).append(item)
    return groups
