"""Answers about the offsets of share groups, from their coordinators."""

from typing import Any

from kafka_lagoon.protocol.messages import describe_share_group_offsets as messages
from tests.fake.cluster import FakeCluster

NOT_COORDINATOR, GROUP_MISSING = 16, 69


def _offsets(state: FakeCluster, node: int, _version: int, request: Any) -> Any:
    groups = tuple(_group(state, node, group.group_id) for group in request.groups)
    return messages.DescribeShareGroupOffsetsResponse(groups=groups)


def _group(state: FakeCluster, node: int, group_id: str) -> Any:
    group = state.groups.get(group_id)
    code = GROUP_MISSING if group is None else 0 if group.coordinator_id == node else NOT_COORDINATOR
    topics = group.share_topics if group and not code else ()
    return messages.DescribeShareGroupOffsetsResponseGroup(group_id=group_id, topics=topics, error_code=code)


ANSWERS = ((messages.DESCRIBE_SHARE_GROUP_OFFSETS, _offsets),)
