"""StreamsGroupHeartbeat, byte by byte."""

from kafka_lagoon.protocol.messages.streams_group_heartbeat import (
    LEAVE,
    MISSING_SOURCE_TOPICS,
    StreamsEndpoint,
    StreamsGroupHeartbeatRequest,
    StreamsStatus,
    StreamsTopology,
)
from kafka_lagoon.wire.reading import decode
from kafka_lagoon.wire.writing import encode


def test_unchanged() -> None:
    """Fields that have not changed are null: a byte of -1 for structs, 0 for everything else."""
    request = StreamsGroupHeartbeatRequest(group_id="g", member_id="m", member_epoch=LEAVE)
    expected = "0267 026d ffffffff 00000000 00 00 ffffffff ff 00 00 00 00 ff 00 00 00 00 00"
    assert encode(request, 0, True) == bytes.fromhex(expected)


def test_topology_and_endpoint() -> None:
    """A byte of 1 comes before a struct that is present; ports are unsigned."""
    request = StreamsGroupHeartbeatRequest(
        group_id="g",
        member_id="m",
        topology=StreamsTopology(epoch=2),
        user_endpoint=StreamsEndpoint(host="h", port=65_186),
    )
    expected = "0267 026d 00000000 00000000 00 00 ffffffff 01 00000002 01 00 00 00 00 00 01 0268 fea2 00 00 00 00 00 00"
    assert encode(request, 0, True) == bytes.fromhex(expected)


def test_status() -> None:
    """A status has a code and a text."""
    decoded = decode(StreamsStatus, 0, True, bytes.fromhex("01 0261 00"))
    assert decoded == StreamsStatus(status_code=MISSING_SOURCE_TOPICS, status_detail="a")
