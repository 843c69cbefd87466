"""ConsumerGroupHeartbeat, byte by byte."""

import pytest

from kafka_lagoon.errors import EncodeError
from kafka_lagoon.protocol.messages.consumer_group_heartbeat import (
    JOIN,
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    ConsumerHeartbeatAssignment,
    ConsumerHeartbeatTopicPartitions,
)
from kafka_lagoon.wire.reading import decode
from kafka_lagoon.wire.writing import encode

ID = bytes(range(16))


def test_unchanged_or_empty() -> None:
    """Null means unchanged, an empty list means none; a joining member owns none."""
    joining = ConsumerGroupHeartbeatRequest(
        group_id="g",
        member_id="m",
        member_epoch=JOIN,
        rebalance_timeout_ms=10_000,
        subscribed_topic_names=("a",),
        topic_partitions=(),
    )
    staying = ConsumerGroupHeartbeatRequest(group_id="g", member_id="m", member_epoch=3)
    assert encode(joining, 1, True) == bytes.fromhex("0267 026d 00000000 00 00 00002710 02 0261 00 00 01 00")
    assert encode(staying, 1, True) == bytes.fromhex("0267 026d 00000003 00 00 ffffffff 00 00 00 00 00")


def test_assignment() -> None:
    """A byte comes before the assignment: -1 for an unchanged one, 1 for a new one."""
    head = "00000000 0000 00 026d 00000003 00001388"
    unchanged = decode(ConsumerGroupHeartbeatResponse, 1, True, bytes.fromhex(f"{head} ff 00"))
    changed = decode(
        ConsumerGroupHeartbeatResponse, 1, True, bytes.fromhex(f"{head} 01 02 {ID.hex()} 02 00000007 00 00 00")
    )
    owned = ConsumerHeartbeatTopicPartitions(topic_id=ID, partitions=(7,))
    assert unchanged.assignment is None
    assert changed.assignment == ConsumerHeartbeatAssignment(topic_partitions=(owned,))


def test_expression() -> None:
    """A version without regular expressions refuses them, since the member would subscribe to nothing."""
    with pytest.raises(EncodeError):
        encode(ConsumerGroupHeartbeatRequest(subscribed_topic_regex="a.*"), 0, True)
