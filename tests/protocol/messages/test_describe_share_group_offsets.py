"""DescribeShareGroupOffsets, byte by byte."""

from kafka_lagoon.protocol.messages.describe_share_group_offsets import (
    NOT_STARTED,
    UNKNOWN_LAG,
    DescribeShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsRequestGroup,
    DescribeShareGroupOffsetsResponsePartition,
)
from kafka_lagoon.wire.reading import decode
from kafka_lagoon.wire.writing import encode


def test_all_topics_or_none() -> None:
    """Null is all topics, an empty list none."""
    every = DescribeShareGroupOffsetsRequestGroup(group_id="g", topics=None)
    none = DescribeShareGroupOffsetsRequestGroup(group_id="h", topics=())
    request = DescribeShareGroupOffsetsRequest(groups=(every, none))
    assert encode(request, 0, True) == bytes.fromhex("03 0267 00 00 0268 01 00 00")


def test_lag() -> None:
    """v1 has the lag (KIP-1226); in v0 it is -1 and not 0."""
    old = "00000001 ffffffffffffffff 00000000 0000 00 00"
    decoded = decode(DescribeShareGroupOffsetsResponsePartition, 0, True, bytes.fromhex(old))
    assert (decoded.start_offset, decoded.lag) == (NOT_STARTED, UNKNOWN_LAG)
    new = "00000001 0000000000000005 00000002 0000000000000003 0000 00 00"
    assert decode(DescribeShareGroupOffsetsResponsePartition, 1, True, bytes.fromhex(new)).lag == 3
