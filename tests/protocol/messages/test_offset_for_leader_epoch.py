"""OffsetForLeaderEpoch, byte by byte."""

from kafka_lagoon.protocol.messages.offset_for_leader_epoch import (
    CONSUMER_REPLICA_ID,
    UNKNOWN_EPOCH,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)
from kafka_lagoon.wire.reading import decode
from kafka_lagoon.wire.writing import encode


def _asking() -> OffsetForLeaderEpochRequest:
    item = OffsetForLeaderPartition(partition=1, current_leader_epoch=5, leader_epoch=4)
    return OffsetForLeaderEpochRequest(
        replica_id=CONSUMER_REPLICA_ID, topics=(OffsetForLeaderTopic(topic="a", partitions=(item,)),)
    )


def test_requests() -> None:
    """The oldest version has the requested epoch; later ones add the leader's epoch and the replica id."""
    assert encode(_asking(), 0, False) == bytes.fromhex("00000001 0001 61 00000001 00000001 00000004")
    assert encode(_asking(), 2, False) == bytes.fromhex("00000001 0001 61 00000001 00000001 00000005 00000004")
    assert encode(_asking(), 4, True) == bytes.fromhex("ffffffff 02 0261 02 00000001 00000005 00000004 00 00 00")


def test_the_default_is_no_consumer() -> None:
    """Kafka's default replica id is a debugger's, which may read beyond the high watermark."""
    assert OffsetForLeaderEpochRequest(topics=()).replica_id == -2


def test_oldest_response() -> None:
    """v0 lacks the epoch that the end offset belongs to."""
    spelled = "00000001 0001 61 00000001 0000 00000001 0000000000000009"
    (item,) = decode(OffsetForLeaderEpochResponse, 0, False, bytes.fromhex(spelled)).topics[0].partitions
    assert (item.leader_epoch, item.end_offset) == (UNKNOWN_EPOCH, 9)
