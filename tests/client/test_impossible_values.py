"""Numbers that Kafka never sends: nothing of a response that has one is believed."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.client.impossible_values import impossible_value
from kafka_lagoon.clock import Deadline
from kafka_lagoon.protocol.acls import NOT_ASKED
from kafka_lagoon.protocol.messages.consumer_group_describe import (
    ConsumerGroupDescribeResponse,
    DescribedConsumerGroup,
    DescribedConsumerMember,
)
from kafka_lagoon.protocol.messages.consumer_group_heartbeat import LEAVE_FOR_NOW, ConsumerGroupHeartbeatResponse
from kafka_lagoon.protocol.messages.describe_cluster import DescribeClusterResponse
from kafka_lagoon.protocol.messages.fetch import (
    EpochEndOffset,
    FetchableTopicResponse,
    FetchResponse,
    PartitionData,
)
from kafka_lagoon.protocol.messages.list_offsets import (
    ListOffsetsResponse,
    ListOffsetsResponsePartition,
    ListOffsetsResponseTopic,
)
from kafka_lagoon.protocol.messages.metadata import METADATA, MetadataPartition, MetadataResponse, MetadataTopic
from kafka_lagoon.wire.columns import by_column
from tests.clock import CLOCK
from tests.fake.cluster import FakeCluster
from tests.fake.faults import Altered, Fault


def metadata(**fields: Any) -> MetadataResponse:
    """Make metadata of a topic with two partitions, the last of which has these fields."""
    partitions = MetadataPartition(partition_index=0), MetadataPartition(**{"partition_index": 1, **fields})
    return MetadataResponse(
        topics=(MetadataTopic(name="t", partitions=()), MetadataTopic(name="u", partitions=partitions))
    )


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({}, None),
        ({"leader_id": -1, "leader_epoch": -1, "error_code": -1}, None),
        ({"leader_id": -2}, "leader_id"),
        ({"partition_index": -7_777}, "partition_index"),
        ({"isr_nodes": (1, -2, 3)}, "isr_nodes"),
    ],
)
def test_in_lists_of_messages(fields: dict[str, Any], field: str | None) -> None:
    """Kafka's -1 is possible, and a number below it is not, in whichever struct or list it is."""
    impossible = impossible_value(metadata(**fields))
    assert (impossible and impossible.field) == field
    if impossible:
        assert str(impossible) == f"{field} of MetadataPartition is {impossible.value}, which Kafka never sends"


@pytest.mark.parametrize("offset", [0, -1, -2])
def test_in_columns(offset: int) -> None:
    """The same holds for lists that are kept by column."""
    answers = [ListOffsetsResponsePartition(partition_index=number, offset=offset) for number in range(3)]
    topics = by_column([ListOffsetsResponseTopic(name="t", partitions=answers)], ListOffsetsResponseTopic)
    assert bool(impossible_value(ListOffsetsResponse(topics=topics))) == (offset < -1)


@pytest.mark.parametrize("end_offset", [0, -1, -2])
def test_in_a_message_of_a_message(end_offset: int) -> None:
    """The end at which a leader's log diverges is no list, and is looked at too."""
    partition = PartitionData(
        partition_index=0,
        error_code=0,
        high_watermark=5,
        records=None,
        diverging_epoch=EpochEndOffset(epoch=0, end_offset=end_offset),
    )
    topic = FetchableTopicResponse(topic="t", partitions=(partition,))
    assert bool(impossible_value(FetchResponse(responses=(topic,)))) == (end_offset < -1)


@pytest.mark.parametrize(("epoch", "lowest"), [(-1, None), (-2, None), (-3, -3)])
def test_a_field_with_another_least_number(epoch: int, lowest: int | None) -> None:
    """A static member that left for now has the epoch -2."""
    members = (DescribedConsumerMember(member_id="m"), DescribedConsumerMember(member_id="n", member_epoch=epoch))
    response = ConsumerGroupDescribeResponse(groups=(DescribedConsumerGroup(group_id="g", members=members),))
    impossible = impossible_value(response)
    assert (impossible and impossible.value) == lowest


def test_fields_that_may_be_negative() -> None:
    """Bits of operations that were not requested, and times that producers chose, are no fault."""
    assert impossible_value(DescribeClusterResponse(cluster_authorized_operations=NOT_ASKED)) is None
    answers = (ListOffsetsResponsePartition(partition_index=0, timestamp=-5),)
    assert (
        impossible_value(ListOffsetsResponse(topics=(ListOffsetsResponseTopic(name="t", partitions=answers),))) is None
    )


def test_another_broker_is_asked(state: FakeCluster, connect: Callable[[], Cluster]) -> None:
    """A request that any broker can answer goes to the next one, and nothing is learned of the impossible answer."""
    cluster = connect()

    def impossible(response: MetadataResponse) -> MetadataResponse:
        return replace(
            response,
            topics=tuple(
                replace(topic, partitions=(MetadataPartition(partition_index=-2),)) for topic in response.topics
            ),
        )

    state.faults.append(Fault(METADATA.key, Altered(impossible), node_id=1))
    (topic,) = cluster.refresh({"orders"}, Deadline.after(CLOCK, 5_000)).topics
    assert len(topic.partitions) == len(state.topics["orders"].partitions)
    assert cluster.answered_by == cluster.brokers[2].address


def test_a_static_member_that_leaves_for_now() -> None:
    """Its epoch is -2 also in the answer to its last heartbeat."""
    fields: dict[str, Any] = {"throttle_time_ms": 0, "error_code": 0, "member_id": "m", "heartbeat_interval_ms": 0}
    assert impossible_value(ConsumerGroupHeartbeatResponse(member_epoch=LEAVE_FOR_NOW, **fields)) is None
    assert impossible_value(ConsumerGroupHeartbeatResponse(member_epoch=LEAVE_FOR_NOW - 1, **fields))
