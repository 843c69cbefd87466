"""Offsets of share groups of fake coordinators."""

import pytest

from kafka_lagoon.admin.group_offsets import GroupPartition
from kafka_lagoon.admin.groups import list_groups
from kafka_lagoon.admin.share_groups import (
    GroupTopic,
    alter_share_offsets,
    delete_share_offsets,
    share_group_offsets,
)
from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.protocol.messages import describe_share_group_offsets as messages
from tests.admin.conftest import soon
from tests.fake.cluster import FakeCluster, FakeGroup, FakeMember

TOPIC_FORBIDDEN = 29


def topic(*error_codes: int) -> messages.DescribeShareGroupOffsetsResponseTopic:
    """A topic with one partition per error code."""
    partitions = tuple(
        messages.DescribeShareGroupOffsetsResponsePartition(
            partition_index=index, start_offset=5, leader_epoch=0, lag=1, error_code=code
        )
        for index, code in enumerate(error_codes)
    )
    return messages.DescribeShareGroupOffsetsResponseTopic(
        topic_name="orders", topic_id=b"\1" * 16, partitions=partitions
    )


def test_each_coordinator_answers_for_its_groups(state: FakeCluster, cluster: Cluster) -> None:
    """Results are ordered by group; refused partitions and missing groups are failures beside them."""
    state.groups = {
        "b": FakeGroup(coordinator_id=1, group_type="share", share_topics=(topic(0, TOPIC_FORBIDDEN),)),
        "a": FakeGroup(coordinator_id=3, group_type="share", share_topics=(topic(0),)),
        "gone": FakeGroup(coordinator_id=2, group_type="share"),
    }
    listed = list_groups(cluster, soon())
    del state.groups["gone"]
    offsets = share_group_offsets(cluster, list(listed.groups), soon())
    assert {group_id: group.topics for group_id, group in offsets.answers.items()} == {
        "a": (topic(0),),
        "b": (topic(0, TOPIC_FORBIDDEN),),
    }
    assert list(offsets.answers) == ["a", "b"]
    assert [(str(failure.scope), failure.name) for failure in offsets.failures] == [
        ("group gone", "GROUP_ID_NOT_FOUND"),
        ("group b, orders-1", "TOPIC_AUTHORIZATION_FAILED"),
    ]


@pytest.mark.usefixtures("altering_apis")
def test_alter_share_offsets_and_delete_share_offsets(state: FakeCluster, cluster: Cluster) -> None:
    """Start offsets are altered by partition and deleted by topic; failures have the broker's message or our own."""
    state.groups = {
        "queue": FakeGroup(coordinator_id=1, group_type="share"),
        "busy": FakeGroup(coordinator_id=2, group_type="share", members=[FakeMember("m")]),
    }
    offsets = {GroupPartition(*one): 5 for one in (("queue", "orders", 0), ("queue", "gone", 0), ("busy", "orders", 1))}
    altered = alter_share_offsets(cluster, offsets, soon())
    assert set(altered.answers) == {("queue", "orders", 0)}
    assert {str(one.scope): one.message for one in altered.failures.values()} == {
        "group queue, gone-0": "no such topic",
        "group busy, orders-1": "the group has members: stop them first",
    }
    topics = [GroupTopic(*one) for one in (("queue", "orders"), ("queue", "gone"), ("busy", "orders"))]
    deleted = delete_share_offsets(cluster, topics, soon())
    assert set(deleted.answers) == {("queue", "orders")}
    assert {one.name for one in deleted.failures.values()} == {"UNKNOWN_TOPIC_OR_PARTITION", "NON_EMPTY_GROUP"}
