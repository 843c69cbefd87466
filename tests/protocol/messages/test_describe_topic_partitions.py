"""DescribeTopicPartitions, byte by byte."""

from kafka_lagoon.protocol.messages.describe_topic_partitions import (
    Cursor,
    DescribeTopicPartitionsPartition,
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsResponse,
)
from kafka_lagoon.wire.reading import decode
from kafka_lagoon.wire.writing import encode


def test_cursor() -> None:
    """A byte comes before the cursor: -1 for the first page, 1 before the position to continue at."""
    assert encode(DescribeTopicPartitionsRequest(), 0, True).hex() == "01 000007d0 ff 00".replace(" ", "")
    request = DescribeTopicPartitionsRequest(cursor=Cursor(topic_name="a", partition_index=5))
    assert encode(request, 0, True) == bytes.fromhex("01 000007d0 01 0261 00000005 00 00")


def test_last_page() -> None:
    """The last page has no cursor."""
    assert decode(DescribeTopicPartitionsResponse, 0, True, bytes.fromhex("00000000 01 ff 00")).next_cursor is None


def test_unknown_eligible_leaders() -> None:
    """Missing eligible leaders are null, which differs from an empty list."""
    assert DescribeTopicPartitionsPartition().eligible_leader_replicas is None
