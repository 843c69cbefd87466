"""JoinGroup, byte by byte."""

import pytest

from kafka_lagoon.errors import EncodeError
from kafka_lagoon.protocol.messages.join_group import (
    CONSUMER_PROTOCOL,
    NO_GENERATION,
    NO_MEMBER_ID,
    JoinGroupRequest,
    JoinGroupRequestProtocol,
    JoinGroupResponse,
)
from kafka_lagoon.wire.reading import decode
from kafka_lagoon.wire.writing import encode

REQUEST = JoinGroupRequest(
    group_id="g",
    session_timeout_ms=10_000,
    member_id=NO_MEMBER_ID,
    protocol_type=CONSUMER_PROTOCOL,
    protocols=(JoinGroupRequestProtocol(name="range", metadata=b"\x07"),),
)


def test_oldest_requests() -> None:
    """v0 has one timeout, v1 has two; the second one is the session timeout unless it is given."""
    tail = "0000 0008 636f6e73756d6572 00000001 0005 72616e6765 00000001 07"
    assert encode(REQUEST, 0, False) == bytes.fromhex(f"0001 67 00002710 {tail}")
    assert encode(REQUEST, 1, False) == bytes.fromhex(f"0001 67 00002710 ffffffff {tail}")


def test_id_to_join_with() -> None:
    """The first response is error 79 with a member id; it has no generation, and from v7 on the protocol is null."""
    spelled = "00000000 004f ffffffff 00 00 01 026d 01 00"
    decoded = decode(JoinGroupResponse, 7, True, bytes.fromhex(spelled))
    assert (decoded.error_code, decoded.member_id, decoded.generation_id) == (79, "m", NO_GENERATION)
    assert (decoded.protocol_type, decoded.protocol_name, decoded.members) == (None, None, ())


def test_static_members() -> None:
    """A version without static members refuses them (KIP-345), since they would not be static."""
    with pytest.raises(EncodeError):
        encode(JoinGroupRequest(group_instance_id="i"), 4, False)
