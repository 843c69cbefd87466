"""SyncGroup, byte by byte."""

from kafka_lagoon.protocol.messages.sync_group import SyncGroupRequest
from kafka_lagoon.wire.writing import encode


def test_protocol_to_check() -> None:
    """The protocol is sent from v5 on, and dropped before (KIP-559); a follower sends no assignments."""
    request = SyncGroupRequest(
        group_id="g", generation_id=3, member_id="m", protocol_type="consumer", protocol_name="range"
    )
    protocol = "09 636f6e73756d6572 06 72616e6765"
    assert encode(request, 4, True) == bytes.fromhex("0267 00000003 026d 00 01 00")
    assert encode(request, 5, True) == bytes.fromhex(f"0267 00000003 026d 00 {protocol} 01 00")
