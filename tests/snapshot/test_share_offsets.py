"""Rows of the offsets of share groups, from messages made by hand."""

from kafka_lagoon.protocol.messages.describe_share_group_offsets import (
    DescribeShareGroupOffsetsResponseGroup,
    DescribeShareGroupOffsetsResponsePartition,
    DescribeShareGroupOffsetsResponseTopic,
)
from kafka_lagoon.snapshot.share_offsets import ShareOffsetRow, share_offset_rows

TOPIC_ID, TOPIC_ID_TEXT = b"\1" * 16, "AQEBAQEBAQEBAQEBAQEBAQ"


def partition(
    index: int, start_offset: int, lag: int = -1, error_code: int = 0
) -> DescribeShareGroupOffsetsResponsePartition:
    """Make the stored offset of a partition."""
    return DescribeShareGroupOffsetsResponsePartition(
        partition_index=index, start_offset=start_offset, leader_epoch=3, lag=lag, error_code=error_code
    )


def rows(
    *partitions: DescribeShareGroupOffsetsResponsePartition, name: str = "orders", names: dict[str, str] | None = None
) -> list[ShareOffsetRow]:
    """Return the rows of a group with one topic."""
    topic = DescribeShareGroupOffsetsResponseTopic(topic_name=name, topic_id=TOPIC_ID, partitions=partitions)
    group = DescribeShareGroupOffsetsResponseGroup(group_id="g", topics=(topic,), error_code=0)
    return list(share_offset_rows({"g": group}, names or {}))


def test_every_partition_is_a_row() -> None:
    """The lag is the coordinator's, and is not computed from offsets."""
    assert rows(partition(0, 5, lag=2)) == [
        ShareOffsetRow(
            group_id="g",
            topic="orders",
            topic_id=TOPIC_ID_TEXT,
            partition=0,
            start_offset=5,
            leader_epoch=3,
            lag=2,
            problem=None,
        )
    ]


def test_what_is_not_known_is_null() -> None:
    """A partition that was never read has no offset and no epoch; coordinators before KIP-1226 return no lag."""
    unread, refused = rows(partition(1, -1, error_code=29), partition(0, -1))
    assert (unread.start_offset, unread.leader_epoch, unread.lag) == (None, None, None)
    assert unread.problem == "SHARE_NOT_STARTED"
    assert (refused.partition, refused.problem) == (1, "TOPIC_AUTHORIZATION_FAILED")


def test_numbers_beside_an_error_are_not_known() -> None:
    """Brokers send start offset 0 if the leader is not available, not the offset that is stored."""
    (refused,) = rows(partition(0, 0, error_code=5))
    assert (refused.start_offset, refused.leader_epoch, refused.lag) == (None, None, None)
    assert refused.problem == "LEADER_NOT_AVAILABLE"


def test_start_offsets_that_an_administrator_set() -> None:
    """One past the end gives a negative lag, which is kept; one below 0 is unknown, with the lag that is counted from it."""
    past_end, negative = rows(partition(0, 1_000_000, lag=-999_875), partition(1, -5, lag=64))
    assert (past_end.start_offset, past_end.lag, past_end.problem) == (1_000_000, -999_875, None)
    assert (negative.start_offset, negative.leader_epoch, negative.lag) == (None, None, None)
    assert negative.problem == "SHARE_START_NEGATIVE"


def test_a_topic_without_a_name() -> None:
    """The name is taken from metadata if metadata has the id; otherwise the row has a problem."""
    [named] = rows(partition(0, 5), name="", names={TOPIC_ID_TEXT: "orders"})
    [unnamed] = rows(partition(0, 5), name="")
    assert (named.topic, named.problem) == ("orders", None)
    assert (unnamed.topic, unnamed.problem) == (None, "UNKNOWN_TOPIC_ID")
