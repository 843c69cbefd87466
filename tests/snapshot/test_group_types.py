"""Rows of share and streams groups, from descriptions as messages."""

from dataclasses import replace

import pytest

from kafka_lagoon.admin.groups import GroupListing
from kafka_lagoon.protocol.messages import consumer_group_describe as consumers
from kafka_lagoon.protocol.messages import describe_groups as classic
from kafka_lagoon.protocol.messages import share_group_describe as share
from kafka_lagoon.protocol.messages import streams_group_describe as streams
from kafka_lagoon.protocol.messages.list_groups import ListedGroup
from kafka_lagoon.snapshot.group_types import (
    ConsumerProtocol,
    classic_group,
    consumer_group,
    share_group,
    streams_group,
    undescribed_group,
)
from kafka_lagoon.tables.cluster_rows import TopicPartitions
from kafka_lagoon.tables.group_rows import StreamsTasks
from kafka_lagoon.wire.primitives import uuid_text

TOPIC_ID = (1).to_bytes(16, "big")


def listed(group_type: str) -> GroupListing:
    return GroupListing(
        ListedGroup(group_id="g", protocol_type=group_type, group_state="Stable", group_type=group_type), 1
    )


def test_a_classic_group_that_was_deleted_after_it_was_listed() -> None:
    """Before version 6 of DescribeGroups it has state Dead and no error: it was not described, and is not a group without members."""
    dead = classic.DescribedGroup(error_code=0, group_id="g", group_state="Dead", members=())
    group, members = classic_group(listed("classic"), dead, 1, ConsumerProtocol())
    assert (group.state, group.members, group.problem, members) == ("Stable", None, "GROUP_ID_NOT_FOUND", [])


def test_members_of_a_share_group_may_have_the_same_partitions() -> None:
    """Each member has its own row with all of its partitions."""
    owned = share.ShareGroupTopicPartitions(topic_id=TOPIC_ID, topic_name="t", partitions=(1, 0))
    members = tuple(
        share.DescribedShareMember(
            member_id=member_id,
            member_epoch=2,
            client_id="c",
            client_host="/127.0.0.1",
            subscribed_topic_names=("t", "s", "t"),
            assignment=share.ShareGroupAssignment(topic_partitions=(owned,)),
        )
        for member_id in ("a", "b")
    )
    described = share.DescribedShareGroup(
        error_code=0,
        group_id="g",
        group_state="Stable",
        group_epoch=3,
        assignment_epoch=2,
        assignor_name="simple",
        members=members,
    )
    group, rows = share_group(listed("share"), described, 7, {})
    assert (group.group_type, group.state, group.protocol, group.members) == ("share", "Stable", "simple", 2)
    assert (group.group_epoch, group.assignment_epoch, group.coordinator_id, group.problem) == (3, 2, 7, None)
    assert [one.member_id for one in rows] == ["a", "b"]
    assert rows[0].assignment == rows[1].assignment
    assert [one.partitions for one in rows[0].assignment or ()] == [(0, 1)]
    assert rows[0].target_assignment is None
    assert rows[0].subscribed_topics == ("s", "t")


def test_a_share_group_with_topic_ids_only() -> None:
    """Names are taken from metadata; a member with an unknown topic id has a problem."""
    owned = [
        share.ShareGroupTopicPartitions(topic_id=topic_id, topic_name="", partitions=(0,))
        for topic_id in (TOPIC_ID, b"gone".zfill(16))
    ]
    member = share.DescribedShareMember(
        member_id="m",
        member_epoch=2,
        client_id="c",
        client_host="/127.0.0.1",
        subscribed_topic_names=("t",),
        assignment=share.ShareGroupAssignment(topic_partitions=tuple(owned)),
    )
    described = share.DescribedShareGroup(
        error_code=0,
        group_id="g",
        group_state="Stable",
        group_epoch=3,
        assignment_epoch=2,
        assignor_name="simple",
        members=(member,),
    )
    _, (row,) = share_group(listed("share"), described, 7, {uuid_text(TOPIC_ID) or "": "t"})
    assert [one.topic for one in row.assignment or ()] == ["t", None]
    assert row.problem == "UNKNOWN_TOPIC_ID"


def _streams(topology: streams.DescribedTopology | None) -> streams.DescribedStreamsGroup:
    active = (
        streams.DescribedTaskIds(subtopology_id="1", partitions=(1,)),
        streams.DescribedTaskIds(subtopology_id="0", partitions=(2, 0)),
    )
    tasks = streams.DescribedTaskAssignment(active_tasks=active, standby_tasks=active, warmup_tasks=active[:1])
    member = streams.DescribedStreamsMember(
        member_id="m",
        member_epoch=4,
        instance_id="i",
        client_id="c",
        client_host="/127.0.0.1",
        topology_epoch=0,
        process_id="p",
        client_tags=(),
        task_offsets=(),
        task_end_offsets=(),
        assignment=tasks,
        target_assignment=replace(tasks, active_tasks=active[:1]),
        is_classic=False,
    )
    return streams.DescribedStreamsGroup(
        error_code=0,
        group_id="g",
        group_state="Stable",
        group_epoch=5,
        assignment_epoch=4,
        topology=topology,
        members=(member,),
        assignor_name="sticky",
    )


def test_tasks_of_a_streams_group_read_partitions_of_their_sources() -> None:
    """A task reads the partition with its number from every source topic that has it, repartition topics included."""
    between = streams.DescribedStreamsTopic(name="between", partitions=2, replication_factor=1, topic_configs=())
    subtopologies = (
        streams.DescribedSubtopology(
            subtopology_id="0",
            source_topics=("wide", "narrow"),
            repartition_sink_topics=("between",),
            state_changelog_topics=(),
            repartition_source_topics=(),
        ),
        streams.DescribedSubtopology(
            subtopology_id="1",
            source_topics=(),
            repartition_sink_topics=(),
            state_changelog_topics=(),
            repartition_source_topics=(between,),
        ),
    )
    topology = streams.DescribedTopology(epoch=0, subtopologies=subtopologies)
    known = {"wide": (0, 1, 2), "narrow": (0,)}
    group, (row,) = streams_group(listed("streams"), _streams(topology), 7, known)
    assert (group.group_type, group.members, group.protocol, group.problem) == ("streams", 1, "sticky", None)
    assert (group.topology_epoch, row.topology_epoch, row.process_id, row.member_type) == (0, 0, "p", "streams")
    assert row.active_tasks == row.standby_tasks
    assert row.active_tasks == (
        StreamsTasks(subtopology_id="0", partitions=(0, 2)),
        StreamsTasks(subtopology_id="1", partitions=(1,)),
    )
    assert row.warmup_tasks == (StreamsTasks(subtopology_id="1", partitions=(1,)),)
    assert row.subscribed_topics == ("between", "narrow", "wide")
    assert row.assignment == (
        TopicPartitions(topic="between", topic_id=None, partitions=(1,)),
        TopicPartitions(topic="narrow", topic_id=None, partitions=(0,)),
        TopicPartitions(topic="wide", topic_id=None, partitions=(0, 2)),
    )
    assert row.target_assignment == row.assignment[:1], "the tasks that it will have"


def test_a_streams_group_without_a_topology_keeps_its_members() -> None:
    """The members have rows; the partitions of their tasks are unknown."""
    group, (row,) = streams_group(listed("streams"), _streams(None), 7, {})
    assert (group.members, row.subscribed_topics, row.assignment) == (1, None, None)
    assert row.problem == "TOPOLOGY_NOT_RETURNED"
    assert (group.topology_epoch, row.topology_epoch) == (None, 0)
    assert row.active_tasks, "the tasks are known, what they read is not"
    described = _streams(None)
    described = replace(described, members=(replace(described.members[0], is_classic=True),))
    _, (row,) = streams_group(listed("streams"), described, 7, {})
    assert row.member_type == "classic"


@pytest.mark.parametrize(
    ("number", "member_type", "names", "topics"),
    [(0, "classic", (), None), (1, "consumer", ("t", "s", "t"), ("s", "t")), (-1, None, (), None)],
)
def test_the_protocol_of_a_member_of_a_consumer_group(
    number: int, member_type: str | None, names: tuple[str, ...], topics: tuple[str, ...] | None
) -> None:
    """During a migration some members use the classic protocol; a pattern is stored unchanged, topics in order and once."""
    assignment = consumers.ConsumerGroupAssignment(topic_partitions=())
    member = consumers.DescribedConsumerMember(
        member_id="m",
        member_epoch=3,
        instance_id="i",
        client_id="c",
        client_host="/h",
        subscribed_topic_names=names,
        subscribed_topic_regex="orders.*",
        assignment=assignment,
        target_assignment=assignment,
        member_type=number,
    )
    described = consumers.DescribedConsumerGroup(
        error_code=0,
        group_id="g",
        group_state="Stable",
        group_epoch=3,
        assignment_epoch=3,
        assignor_name="uniform",
        members=(member,),
    )
    _, (row,) = consumer_group(listed("consumer"), described, 7, {})
    assert (row.member_type, row.subscribed_pattern, row.subscribed_topics) == (member_type, "orders.*", topics)
    assert row.group_instance_id == "i"
    assert (row.active_tasks, row.standby_tasks, row.warmup_tasks, row.process_id) == (None, None, None, None)


@pytest.mark.parametrize(
    ("encoded", "of_member", "of_group"),
    [(b"", "ASSIGNMENT_NOT_RETURNED", None), (b"\0", "MEMBER_PROTOCOL_UNREADABLE", "MEMBER_PROTOCOL_UNREADABLE")],
)
def test_a_stable_group_without_an_assignment_says_so(encoded: bytes, of_member: str, of_group: str | None) -> None:
    """A member of a stable group has an assignment, even if that is empty: missing or odd bytes are not an empty assignment."""
    member = classic.DescribedMember(
        member_id="m", client_id="c", client_host="/127.0.0.1", member_metadata=b"", member_assignment=encoded
    )
    described = classic.DescribedGroup(
        error_code=0,
        group_id="g",
        group_state="Stable",
        protocol_type="consumer",
        protocol_data="range",
        members=(member,),
    )
    group, (row,) = classic_group(listed("classic"), described, 7, ConsumerProtocol())
    assert (row.assignment, row.problem, group.problem) == (None, of_member, of_group)


def test_a_classic_group_that_rebalances_or_has_ended() -> None:
    """Members have no assignment during a rebalance, which is no problem; a group that was listed as Dead is described."""
    member = classic.DescribedMember(
        member_id="m", client_id="c", client_host="/127.0.0.1", member_metadata=b"", member_assignment=b""
    )
    described = classic.DescribedGroup(
        error_code=0, group_id="g", group_state="PreparingRebalance", protocol_type="consumer", members=(member,)
    )
    group, (row,) = classic_group(listed("classic"), described, 7, ConsumerProtocol())
    assert (group.state, group.protocol, group.members, group.problem) == ("PreparingRebalance", None, 1, None)
    assert (row.assignment, row.problem) == (None, None)
    connect = replace(described, protocol_type="connect", members=(replace(member, member_metadata=b"\0"),))
    group, (row,) = classic_group(listed("classic"), connect, 7, ConsumerProtocol())
    assert (row.subscribed_topics, row.problem, group.problem) == (None, None, None), "bytes of another protocol"
    ended = GroupListing(
        ListedGroup(group_id="g", protocol_type="consumer", group_state="Dead", group_type="classic"), 1
    )
    dead = classic.DescribedGroup(error_code=0, group_id="g", group_state="Dead", members=())
    group, members = classic_group(ended, dead, 7, ConsumerProtocol())
    assert (group.state, group.protocol_type, group.members, group.problem, members) == (
        "Dead",
        "consumer",
        0,
        None,
        [],
    )


def test_a_group_of_unknown_state() -> None:
    """Brokers before version 4 of ListGroups return none."""
    unknown = GroupListing(ListedGroup(group_id="g", protocol_type="consumer"), 1)
    group = undescribed_group(unknown, None, 7)
    assert (group.state, group.group_type, group.members, group.problem) == (
        None,
        None,
        None,
        "GROUP_TYPE_NOT_DESCRIBED",
    )
