"""Lag rows of share groups, from messages and rows made by hand."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from kafka_lagoon.admin.share_groups import ShareOffsets
from kafka_lagoon.client.failures import Failure, Scope, failure_of
from kafka_lagoon.protocol.messages.describe_share_group_offsets import (
    DESCRIBE_SHARE_GROUP_OFFSETS,
    DescribeShareGroupOffsetsResponseGroup,
    DescribeShareGroupOffsetsResponseTopic,
)
from kafka_lagoon.protocol.messages.metadata import MetadataResponse
from kafka_lagoon.snapshot.share_lag import share_lag_rows, unnamed_topics
from kafka_lagoon.snapshot.topology import TOPIC_DELETED, Topology
from kafka_lagoon.tables.cluster_rows import PartitionOffsetsRow, TopicPartitions
from kafka_lagoon.tables.group_rows import ConsumerGroupRow, ConsumerLagRow, GroupMemberRow
from tests.delta.samples import row
from tests.snapshot.test_share_offsets import partition

NOT_AUTHORIZED = 30
GROUP = row(ConsumerGroupRow, group_id="g", group_type="share", state="Stable")
OFFSETS = [
    row(
        PartitionOffsetsRow,
        topic="orders",
        partition=index,
        log_start_offset=4,
        high_watermark=20,
        last_stable_offset=18,
    )
    for index in range(4)
]
TOPOLOGY = Topology(
    metadata=MetadataResponse(brokers=(), cluster_id=None, controller_id=1, topics=()),
    topic_ids={"orders": "id"},
    partitions={"orders": range(4)},
)


def member(member_id: str, *partitions: int, topics: tuple[str, ...] | None = None) -> GroupMemberRow:
    """Make a member with these assigned partitions."""
    assignment = (TopicPartitions(topic="orders", topic_id=None, partitions=partitions),)
    return row(
        GroupMemberRow,
        group_id="g",
        member_id=member_id,
        client_id=f"client-{member_id}",
        client_host=f"/{member_id}",
        subscribed_topics=topics,
        assignment=assignment,
    )


def shares(*partitions: object, failures: tuple[Failure, ...] = (), name: str = "orders") -> ShareOffsets:
    """Make the coordinator's offsets of a group in one topic."""
    topic = DescribeShareGroupOffsetsResponseTopic(topic_name=name, topic_id=bytes(16), partitions=partitions)
    group = DescribeShareGroupOffsetsResponseGroup(group_id="g", topics=(topic,), error_code=0)
    return ShareOffsets(answers={"g": group}, failures=failures)


def rows(
    offsets: ShareOffsets,
    *members: GroupMemberRow,
    topology: Topology = TOPOLOGY,
    logs: Sequence[PartitionOffsetsRow] = OFFSETS,
) -> dict[tuple[str, int], ConsumerLagRow]:
    """Return the rows by partition."""
    groups = [GROUP, row(ConsumerGroupRow, group_id="other", group_type="consumer")]
    made = share_lag_rows(groups, members, offsets, logs, topology)
    assert [(one.topic, one.partition) for one in made] == sorted((one.topic, one.partition) for one in made)
    return {(one.topic, one.partition): one for one in made}


def test_the_lag_is_the_coordinators() -> None:
    """It may be less than the end offset minus the start offset, because some records after the start are acknowledged."""
    lag_row = rows(shares(partition(1, 5, lag=7)), member("b", 1), member("a", 1))["orders", 1]
    assert (lag_row.lag, lag_row.lag_basis, lag_row.share_start_offset, lag_row.problem) == (7, "share", 5, None)
    assert (lag_row.committed_offset, lag_row.lag_lower_bound, lag_row.lag_read_committed) == (None, None, None)
    assert (lag_row.log_start_offset, lag_row.high_watermark, lag_row.last_stable_offset) == (4, 20, 18)
    assert (lag_row.retention_margin, lag_row.records_lost) == (1, 0)
    assert (lag_row.group_type, lag_row.group_state, lag_row.topic_id) == ("share", "Stable", "id")
    assert (lag_row.member_id, lag_row.client_id) == ("a", "client-a"), "the first of those that share the partition"


def test_records_before_the_log_start_may_have_been_done() -> None:
    """The start offset is below the log's, but the number of lost records is unknown."""
    lag_row = rows(shares(partition(0, 1, lag=7)))["orders", 0]
    assert (lag_row.retention_margin, lag_row.records_lost) == (-3, None)


def test_a_group_that_has_read_everything() -> None:
    """A lag of 0 is a lag."""
    lag_row = rows(shares(partition(0, 20, lag=0)))["orders", 0]
    assert (lag_row.lag, lag_row.lag_basis, lag_row.problem) == (0, "share", None)


def test_a_group_that_is_not_described() -> None:
    """Its lag is known, and its rows have the reason why its state is not."""
    problem = "GROUP_AUTHORIZATION_FAILED"
    (lag_row,) = share_lag_rows(
        [replace(GROUP, problem=problem)], [], shares(partition(0, 5, lag=7)), OFFSETS, TOPOLOGY
    )
    assert (lag_row.lag, lag_row.problem) == (7, problem)


def test_a_start_at_the_log_start_has_lost_nothing() -> None:
    """The first record that is not done is the first of the log."""
    lag_row = rows(shares(partition(0, 4, lag=7)))["orders", 0]
    assert (lag_row.retention_margin, lag_row.records_lost) == (0, 0)


def test_owners_of_a_partition() -> None:
    """The first by id, in whatever order they are described; a topic without a name and members of other groups have no row."""
    for several in (("a", "b"), ("b", "a")):
        members = [member(member_id, 1) for member_id in several]
        lag_row = rows(shares(), *members)["orders", 1]
        assert (lag_row.member_id, lag_row.client_host) == ("a", "/a")
    nameless = (TopicPartitions(topic=None, topic_id="x", partitions=(0,)),)
    others = [replace(member("c", 2), group_id="other"), replace(member("d", topics=("orders",)), group_id="other")]
    assert (
        rows(shares(), replace(member("a"), assignment=nameless), replace(member("b"), assignment=None), *others) == {}
    )


def test_a_log_that_is_not_known() -> None:
    """Its reason stands beside the coordinator's lag, but not where only an offset that says nothing of its bounds is unknown."""
    unknown = replace(OFFSETS[0], high_watermark=None, last_stable_offset=None, problem="LEADER_NOT_AVAILABLE")
    known = replace(OFFSETS[1], problem="OFFSET_NOT_RETURNED")
    made = rows(shares(partition(0, 5, lag=7), partition(1, 5, lag=8)), logs=[unknown, known, *OFFSETS[2:]])
    assert [(one.lag, one.problem) for one in made.values()] == [(7, "LEADER_NOT_AVAILABLE"), (8, None)]


@pytest.mark.parametrize(
    ("start_offset", "lag", "basis", "problem"),
    [
        (-1, -1, "log_start", "SHARE_NOT_STARTED"),
        (-1, 7, "log_start", "SHARE_NOT_STARTED"),
        (-5, 25, "unknown", "SHARE_START_NEGATIVE"),
        (5, -1, "unknown", "SHARE_LAG_NOT_RETURNED"),
    ],
)
def test_what_is_not_counted(start_offset: int, lag: int, basis: str, problem: str) -> None:
    """Without a start offset from 0 on no lag counts from it; brokers before KIP-1226 return no lag.

    A partition that nobody has read is like one without a commit: nothing about it is unknown.
    """
    lag_row = rows(shares(partition(0, start_offset, lag=lag)))["orders", 0]
    assert (lag_row.lag, lag_row.lag_basis, lag_row.problem) == (None, basis, problem)


def test_a_partition_that_is_not_started_and_not_known() -> None:
    """The fault of its log or topic is the reason, because it cannot be known then that there is nothing to read."""
    offsets = shares(partition(0, -1), name="gone")
    lag_row = rows(offsets)["gone", 0]
    assert (lag_row.lag_basis, lag_row.problem) == ("unknown", "UNKNOWN_TOPIC_OR_PARTITION")
    gone = replace(TOPOLOGY, changed={"orders": TOPIC_DELETED})
    lag_row = rows(shares(partition(0, -1)), topology=gone)["orders", 0]
    assert (lag_row.lag_basis, lag_row.problem) == ("unknown", TOPIC_DELETED)


def test_a_start_past_the_end() -> None:
    """The lag is negative, as with a commit past the end, and the margin is known."""
    lag_row = rows(shares(partition(0, 25, lag=-5)))["orders", 0]
    assert (lag_row.lag, lag_row.lag_basis, lag_row.share_start_offset, lag_row.problem) == (-5, "share", 25, None)
    assert (lag_row.retention_margin, lag_row.records_lost) == (21, 0)


def test_every_partition_of_a_member_is_a_row() -> None:
    """Assigned and subscribed partitions without a stored offset have rows, too."""
    made = rows(shares(partition(0, 5, lag=1)), member("a", 1, topics=("orders",)))
    assert {at: one.problem for at, one in made.items()} == {
        ("orders", 0): None,
        **{("orders", index): "SHARE_NOT_STARTED" for index in (1, 2, 3)},
    }


def test_a_group_that_is_refused() -> None:
    """The rows of its members' partitions have the reason."""
    failure = failure_of(DESCRIBE_SHARE_GROUP_OFFSETS, Scope.group("g"), NOT_AUTHORIZED)
    made = rows(ShareOffsets(answers={}, failures=(failure,)), member("a", 1))
    assert {at: one.problem for at, one in made.items()} == {("orders", 1): "GROUP_AUTHORIZATION_FAILED"}
    of_partition = failure_of(DESCRIBE_SHARE_GROUP_OFFSETS, Scope.group_partition("g", "orders", 1), NOT_AUTHORIZED)
    assert rows(shares(partition(0, 5, lag=7), failures=(of_partition,)))["orders", 0].problem is None


def test_a_partition_that_is_refused() -> None:
    """The row has the partition's own error as its reason."""
    made = rows(shares(partition(0, -1, error_code=29)))
    assert made["orders", 0].problem == "TOPIC_AUTHORIZATION_FAILED"
    refused = rows(shares(partition(0, 0, error_code=5)))["orders", 0]  # as brokers send it: 0 is not what is stored
    assert (refused.share_start_offset, refused.retention_margin, refused.records_lost) == (None, None, None)
    assert (refused.lag_basis, refused.problem) == ("unknown", "LEADER_NOT_AVAILABLE")


def test_a_topic_that_did_not_last() -> None:
    """There is no lag, because the group's offset and the end offsets belong to different logs."""
    gone = replace(TOPOLOGY, changed={"orders": TOPIC_DELETED})
    lag_row = rows(shares(partition(0, 5, lag=7)), topology=gone)["orders", 0]
    assert (lag_row.lag, lag_row.retention_margin, lag_row.problem) == (None, None, TOPIC_DELETED)
    assert lag_row.share_start_offset == 5


def test_a_topic_that_is_not_there() -> None:
    """The lag is known, but the offsets of the log are not."""
    lag_row = rows(shares(partition(0, 5, lag=7), name="gone"))["gone", 0]
    assert (lag_row.lag, lag_row.high_watermark, lag_row.problem) == (7, None, "UNKNOWN_TOPIC_OR_PARTITION")
    hidden = replace(TOPOLOGY, hidden={"gone": "TOPIC_AUTHORIZATION_FAILED"})
    lag_row = rows(shares(partition(0, 5, lag=7), name="gone"), topology=hidden)["gone", 0]
    assert lag_row.problem == "TOPIC_AUTHORIZATION_FAILED"


def test_a_topic_without_a_name_is_a_failure() -> None:
    """Every row needs the name of its topic."""
    offsets = shares(partition(0, 5, lag=7), name="")
    assert not rows(offsets)
    (failure,) = unnamed_topics(offsets, TOPOLOGY)
    assert (failure.name, failure.scope.group_id) == ("UNKNOWN_TOPIC_ID", "g")


def test_other_groups_have_no_such_rows() -> None:
    """Groups of other types have rows of consumer lag."""
    assert share_lag_rows([replace(GROUP, group_type="consumer")], [], shares(), OFFSETS, TOPOLOGY) == []
