"""Share groups in, how far each has come in every partition out (KIP-932).

Guards one rule: a share group stores no offset that it will read next. What is before its start offset is done with; what
is behind may be, record by record, so the lag is what the coordinator counts, and null where it does not (before KIP-1226).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.client.failures import Failure, Scope, failure_of
from kafka_lagoon.client.routes import ByCoordinator
from kafka_lagoon.client.routing import Gathered, ShardedRequest, gather
from kafka_lagoon.clock import Deadline
from kafka_lagoon.protocol.error_codes import UNKNOWN_TOPIC_ID, error_code
from kafka_lagoon.protocol.messages.describe_share_group_offsets import (
    DESCRIBE_SHARE_GROUP_OFFSETS,
    DescribeShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsRequestGroup,
    DescribeShareGroupOffsetsResponse,
)
from kafka_lagoon.row_classes import ALWAYS, Int32, Int64, column, row
from kafka_lagoon.wire.primitives import uuid_text


@row
class ShareOffsetRow:
    """How far share groups have come, one row per group and partition."""

    group_id: str = column("group.id of the group.")
    topic: str | None = column("Name of the topic; null if only its id is known.")
    topic_id: str | None = column("Id of the topic (22 characters, base64url).", null_if=ALWAYS)
    partition: Int32 = column("Partition number.")
    start_offset: Int64 | None = column(
        "First offset that is not done with; null if nothing was read yet, or problem is set.", null_if=ALWAYS
    )
    leader_epoch: Int32 | None = column("Leader epoch when that was stored; null if it was not told.", null_if=ALWAYS)
    lag: Int64 | None = column(
        "Records not done with yet, as the coordinator counts them; null if it does not.", null_if=ALWAYS
    )
    problem: str | None = column("Kafka's name of the partition's error; null if there is none.")


@dataclass(frozen=True, slots=True, kw_only=True)
class ShareOffsets:
    """Rows of all share groups, and what could not be read."""

    rows: Sequence[ShareOffsetRow]
    failures: Sequence[Failure]


def share_offsets(
    cluster: Cluster, group_ids: Sequence[str], deadline: Deadline, names: Mapping[str, str]
) -> ShareOffsets:
    """How far these share groups have come; they must have been listed before.

    `names` of topics by id, for brokers that leave them out.
    """
    sharded = ShardedRequest(
        api=DESCRIBE_SHARE_GROUP_OFFSETS,
        items=group_ids,
        build=lambda items: DescribeShareGroupOffsetsRequest(
            groups=tuple(DescribeShareGroupOffsetsRequestGroup(group_id=one, topics=None) for one in items)
        ),
        read=_read,
    )
    found: Gathered[str, Any] = gather(cluster, ByCoordinator(cluster), [sharded], deadline)[0]
    rows = [row for group_id, group in sorted(found.answers.items()) for row in _rows(group_id, group, names)]
    refused = [
        failure_of(
            DESCRIBE_SHARE_GROUP_OFFSETS,
            Scope.group_partition(group_id, topic.topic_name, one.partition_index),
            one.error_code,
        )
        for group_id, group in found.answers.items()
        for topic in group.topics
        for one in topic.partitions
        if one.error_code
    ]
    return ShareOffsets(rows=rows, failures=[*found.failures.values(), *refused])


def _read(response: DescribeShareGroupOffsetsResponse, _: Sequence[str]) -> Iterator[tuple[str, int, Any]]:
    for group in response.groups:
        yield group.group_id, group.error_code, group


def _rows(group_id: str, group: Any, names: Mapping[str, str]) -> Iterator[ShareOffsetRow]:
    for topic in sorted(group.topics, key=lambda some: some.topic_name):
        topic_id = uuid_text(topic.topic_id)
        name = topic.topic_name or (names.get(topic_id) if topic_id else None)
        unnamed = None if name else UNKNOWN_TOPIC_ID
        for one in sorted(topic.partitions, key=lambda some: some.partition_index):
            yield ShareOffsetRow(
                group_id=group_id,
                topic=name,
                topic_id=topic_id,
                partition=one.partition_index,
                start_offset=one.start_offset if one.start_offset >= 0 else None,
                leader_epoch=one.leader_epoch if one.leader_epoch >= 0 and one.start_offset >= 0 else None,
                lag=one.lag if one.lag >= 0 else None,
                problem=error_code(code).name if (code := one.error_code or unnamed) else None,
            )
