"""Describes the offsets of share groups (DescribeShareGroupOffsets, KIP-932)."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.client.failures import Failure, Scope, failure_of
from kafka_lagoon.client.routes import ByCoordinator
from kafka_lagoon.client.routing import Gathered, ShardedRequest, gather
from kafka_lagoon.clock import Deadline
from kafka_lagoon.protocol.messages.describe_share_group_offsets import (
    DESCRIBE_SHARE_GROUP_OFFSETS,
    DescribeShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsRequestGroup,
    DescribeShareGroupOffsetsResponse,
    DescribeShareGroupOffsetsResponseGroup,
)


@dataclass(frozen=True, slots=True, kw_only=True)
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
) -> Iterator[tuple[str, int, DescribeShareGroupOffsetsResponseGroup]]:
    for group in response.groups:
        yield group.group_id, group.error_code, group


def _partition_failures(answers: Mapping[str, DescribeShareGroupOffsetsResponseGroup]) -> Iterator[Failure]:
    for group_id, group in answers.items():
        for topic in group.topics:
            for partition in topic.partitions:
                if partition.error_code:
                    scope = Scope.group_partition(group_id, topic.topic_name, partition.partition_index)
                    yield failure_of(DESCRIBE_SHARE_GROUP_OFFSETS, scope, partition.error_code)
