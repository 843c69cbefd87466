"""Rows of groups, from listings and descriptions made by hand."""

from kafka_lagoon.admin.groups import GroupDescriptions, GroupListing
from kafka_lagoon.client.failures import Scope, own_failure
from kafka_lagoon.protocol.messages.consumer_group_describe import (
    ConsumerGroupAssignment,
    ConsumerGroupTopicPartitions,
    DescribedConsumerGroup,
    DescribedConsumerMember,
)
from kafka_lagoon.protocol.messages.describe_groups import DESCRIBE_GROUPS, DescribedGroup
from kafka_lagoon.protocol.messages.list_groups import ListedGroup
from kafka_lagoon.protocol.messages.metadata import MetadataResponse, MetadataTopic
from kafka_lagoon.snapshot.groups import group_rows, needs_topology
from kafka_lagoon.snapshot.topology import topology_of

TOPIC_ID = b"\1" * 16


def listing(group_id: str, group_type: str = "classic") -> GroupListing:
    """Make a listed group of broker 1."""
    return GroupListing(
        ListedGroup(group_id=group_id, protocol_type="consumer", group_state="Stable", group_type=group_type), 1
    )


def described(
    descriptions: dict[str, object] | None = None, failures: dict[str, str] | None = None, **coordinator_ids: int
) -> GroupDescriptions:
    """Make the descriptions of groups."""
    return GroupDescriptions(
        descriptions=descriptions or {},
        failures={
            group_id: own_failure(DESCRIBE_GROUPS, Scope.group(group_id), name)
            for group_id, name in (failures or {}).items()
        },
        coordinator_ids=coordinator_ids,
        migrated={},
    )


def classic(group_id: str) -> DescribedGroup:
    """Make a classic group without members."""
    return DescribedGroup(
        error_code=0, group_id=group_id, group_state="Empty", protocol_type="consumer", protocol_data="", members=()
    )


def consumer(topic_name: str, in_target: str | None = None) -> DescribedConsumerGroup:
    """Make a KIP-848 group with a member that owns a partition of a topic; `in_target`: its name in the target assignment."""
    assignment, target = (
        ConsumerGroupAssignment(
            topic_partitions=(ConsumerGroupTopicPartitions(topic_id=TOPIC_ID, topic_name=name, partitions=(0,)),)
        )
        for name in (topic_name, topic_name if in_target is None else in_target)
    )
    member = DescribedConsumerMember(
        member_id="m",
        member_epoch=1,
        client_id="c",
        client_host="/1",
        subscribed_topic_names=("orders",),
        assignment=assignment,
        target_assignment=target,
    )
    return DescribedConsumerGroup(
        error_code=0,
        group_id="g",
        group_state="Stable",
        group_epoch=2,
        assignment_epoch=2,
        assignor_name="uniform",
        members=(member,),
    )


def test_every_listed_group_keeps_its_row() -> None:
    """Groups have rows with or without a description, ordered by id; a reason is in the row, a deleted group is no failure."""
    groups = {name: listing(name) for name in ("gone", "b", "a", "refused", "old")}
    descriptions = described(
        {"a": classic("a"), "b": classic("b")},
        {"gone": "GROUP_ID_NOT_FOUND", "refused": "GROUP_AUTHORIZATION_FAILED", "old": "UNSUPPORTED_VERSION"},
        a=3,
    )
    rows = group_rows(groups, descriptions, None)
    assert [(row.group_id, row.problem) for row in rows.groups] == [
        ("a", None),
        ("b", None),
        ("gone", "GROUP_ID_NOT_FOUND"),
        ("old", "GROUP_TYPE_NOT_DESCRIBED"),
        ("refused", "GROUP_AUTHORIZATION_FAILED"),
    ]
    assert {failure.name for failure in rows.failures} == {"GROUP_AUTHORIZATION_FAILED", "UNSUPPORTED_VERSION"}


def test_a_group_of_a_type_of_a_later_release_keeps_its_row() -> None:
    """Nobody was asked to describe it, so there is neither a description nor a failure."""
    rows = group_rows({"new": listing("new", "future")}, described(), None)
    assert [(row.group_id, row.group_type, row.problem) for row in rows.groups] == [
        ("new", "future", "GROUP_TYPE_NOT_DESCRIBED")
    ]
    assert (rows.members, rows.failures) == ([], [])


def test_the_coordinator_is_who_answered_else_who_listed() -> None:
    """A group that moved in between has its new coordinator."""
    rows = group_rows(
        {"a": listing("a"), "b": listing("b")}, described({"a": classic("a"), "b": classic("b")}, a=3), None
    )
    assert [(row.group_id, row.coordinator_id) for row in rows.groups] == [("a", 3), ("b", 1)]


def test_names_of_topics_come_from_the_topology_where_they_are_missing() -> None:
    """Metadata is read only if a group needs it."""
    groups = {"g": listing("g", "consumer")}
    unnamed, named = described({"g": consumer("")}), described({"g": consumer("orders")})
    assert needs_topology(groups, unnamed)
    assert not needs_topology(groups, named)
    both = {"c": listing("c"), **groups}
    assert needs_topology(both, described({"c": classic("c"), "g": consumer("")}))
    topic = MetadataTopic(error_code=0, name="orders", topic_id=TOPIC_ID, partitions=())
    topology = topology_of(MetadataResponse(brokers=(), cluster_id="c", controller_id=1, topics=(topic,)))
    [with_names], [without] = (group_rows(groups, unnamed, some).members for some in (topology, None))
    assert (with_names.assignment[0].topic, with_names.problem) == ("orders", None)
    assert (without.assignment[0].topic, without.problem) == (None, "UNKNOWN_TOPIC_ID")


def test_a_name_may_be_missing_in_the_target_alone() -> None:
    """During a rebalance a member gets a topic that it does not own yet."""
    groups, unnamed = {"g": listing("g", "consumer")}, described({"g": consumer("orders", in_target="")})
    assert needs_topology(groups, unnamed)
    [member] = group_rows(groups, unnamed, None).members
    assert [some[0].topic for some in (member.assignment, member.target_assignment)] == ["orders", None]
    assert member.problem == "UNKNOWN_TOPIC_ID"


def test_streams_groups_need_the_topology() -> None:
    """The number of partitions that their tasks read is only in metadata."""
    groups = {"s": listing("s", "streams")}
    assert needs_topology(groups, described({"s": object()}))
