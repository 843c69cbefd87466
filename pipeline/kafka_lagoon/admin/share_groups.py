"""Describes, alters and deletes the offsets of share groups (KIP-932).

They are altered by partition and deleted by topic. The group must have no members for either.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from kafka_lagoon.admin.group_offsets import EXPLANATIONS, ByGroup, GroupPartition, by_group
from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.client.failures import Failure, Scope, failure_of
from kafka_lagoon.client.routes import ByCoordinator
from kafka_lagoon.client.routing import Gathered, ShardedRequest, gather, merged
from kafka_lagoon.clock import Deadline
from kafka_lagoon.errors import Contradiction
from kafka_lagoon.frozen import frozen
from kafka_lagoon.protocol.messages.alter_share_group_offsets import (
    ALTER_SHARE_GROUP_OFFSETS,
    AlterShareGroupOffsetsRequest,
    AlterShareGroupOffsetsRequestPartition,
    AlterShareGroupOffsetsRequestTopic,
    AlterShareGroupOffsetsResponse,
)
from kafka_lagoon.protocol.messages.delete_share_group_offsets import (
    DELETE_SHARE_GROUP_OFFSETS,
    DeleteShareGroupOffsetsRequest,
    DeleteShareGroupOffsetsRequestTopic,
    DeleteShareGroupOffsetsResponse,
)
from kafka_lagoon.protocol.messages.describe_share_group_offsets import (
    DESCRIBE_SHARE_GROUP_OFFSETS,
    DescribeShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsRequestGroup,
    DescribeShareGroupOffsetsResponse,
    DescribeShareGroupOffsetsResponseGroup,
)


class GroupTopic(NamedTuple):
    """A topic of which a share group stores offsets."""

    group_id: str
    topic: str


@frozen
class ShareOffsets:
    """Answers by group, in the order of their ids; failures of groups and of single partitions."""

    answers: Mapping[str, DescribeShareGroupOffsetsResponseGroup]
    failures: Sequence[Failure]


def share_group_offsets(cluster: Cluster, group_ids: Sequence[str], deadline: Deadline) -> ShareOffsets:
    """Offsets of these share groups from their coordinators; the groups must have been listed before."""
    sharded = ShardedRequest(
        api=DESCRIBE_SHARE_GROUP_OFFSETS,
        items=group_ids,
        build=lambda items: DescribeShareGroupOffsetsRequest(
            groups=tuple(DescribeShareGroupOffsetsRequestGroup(group_id=group_id, topics=None) for group_id in items)
        ),
        read=_read,
    )
    gathered: Gathered[str, DescribeShareGroupOffsetsResponseGroup]
    gathered = gather(cluster, ByCoordinator(cluster), [sharded], deadline)[0]
    answers = dict(sorted(gathered.answers.items()))
    return ShareOffsets(answers=answers, failures=[*gathered.failures.values(), *_partition_failures(answers)])


def _read(
    response: DescribeShareGroupOffsetsResponse, _: Sequence[str]
) -> Iterator[tuple[str, int | Contradiction, DescribeShareGroupOffsetsResponseGroup]]:
    for group in response.groups:
        places = [(topic.topic_name, one.partition_index) for topic in group.topics for one in topic.partitions]
        is_plain = len(set(places)) == len(places) and all(partition >= 0 for _, partition in places)
        yield group.group_id, group.error_code if is_plain else Contradiction(), group


def _partition_failures(answers: Mapping[str, DescribeShareGroupOffsetsResponseGroup]) -> Iterator[Failure]:
    for group_id, group in answers.items():
        for topic in group.topics:
            for partition in topic.partitions:
                if partition.error_code:
                    scope = Scope.group_partition(group_id, topic.topic_name, partition.partition_index)
                    yield failure_of(DESCRIBE_SHARE_GROUP_OFFSETS, scope, partition.error_code)


def alter_share_offsets(
    cluster: Cluster, start_offsets: Mapping[GroupPartition, int], deadline: Deadline
) -> Gathered[GroupPartition, None]:
    """Set the start offsets of share groups; records that were acknowledged after them are delivered again."""
    several = [_alter_share_offsets(items, start_offsets) for items in by_group(start_offsets).values()]
    return merged(gather(cluster, ByGroup(cluster), several, deadline))


def _alter_share_offsets(
    items: Sequence[GroupPartition], start_offsets: Mapping[GroupPartition, int]
) -> ShardedRequest[GroupPartition, None]:
    def build(some: Sequence[GroupPartition]) -> AlterShareGroupOffsetsRequest:
        topics: dict[str, list[AlterShareGroupOffsetsRequestPartition]] = {}
        for item in some:
            wanted = AlterShareGroupOffsetsRequestPartition(
                partition_index=item.partition, start_offset=start_offsets[item]
            )
            topics.setdefault(item.topic, []).append(wanted)
        return AlterShareGroupOffsetsRequest(
            group_id=items[0].group_id,
            topics=tuple(
                AlterShareGroupOffsetsRequestTopic(topic_name=name, partitions=tuple(some))
                for name, some in topics.items()
            ),
        )

    return ShardedRequest(
        api=ALTER_SHARE_GROUP_OFFSETS,
        items=items,
        build=build,
        read=_read_alterations,
        once=True,
    )


def _read_alterations(
    response: AlterShareGroupOffsetsResponse, items: Sequence[GroupPartition]
) -> Iterator[tuple[GroupPartition, int, None, str | None]]:
    if code := response.error_code:
        yield from ((item, code, None, EXPLANATIONS.get(code) or response.error_message) for item in items)
    for topic in response.responses:
        for partition in topic.partitions:
            code, item = (
                partition.error_code,
                GroupPartition(items[0].group_id, topic.topic_name, partition.partition_index),
            )
            yield item, code, None, EXPLANATIONS.get(code) or partition.error_message or response.error_message


def delete_share_offsets(
    cluster: Cluster, topics: Sequence[GroupTopic], deadline: Deadline
) -> Gathered[GroupTopic, None]:
    """Delete the offsets of share groups in whole topics."""
    groups: dict[str, list[GroupTopic]] = {}
    for item in topics:
        groups.setdefault(item.group_id, []).append(item)
    several: list[ShardedRequest[GroupTopic, None]] = [
        ShardedRequest(
            api=DELETE_SHARE_GROUP_OFFSETS,
            items=items,
            build=_deletion,
            read=_read_deletions,
            once=True,
        )
        for items in groups.values()
    ]
    return merged(gather(cluster, ByGroup(cluster), several, deadline))


def _deletion(items: Sequence[GroupTopic]) -> DeleteShareGroupOffsetsRequest:
    topics = (DeleteShareGroupOffsetsRequestTopic(topic_name=item.topic) for item in items)
    return DeleteShareGroupOffsetsRequest(group_id=items[0].group_id, topics=tuple(topics))


def _read_deletions(
    response: DeleteShareGroupOffsetsResponse, items: Sequence[GroupTopic]
) -> Iterator[tuple[GroupTopic, int, None, str | None]]:
    if code := response.error_code:
        yield from ((item, code, None, EXPLANATIONS.get(code) or response.error_message) for item in items)
    for topic in response.responses:
        message = EXPLANATIONS.get(topic.error_code) or topic.error_message or response.error_message
        yield GroupTopic(items[0].group_id, topic.topic_name), topic.error_code, None, message
