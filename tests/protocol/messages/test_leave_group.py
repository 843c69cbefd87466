"""LeaveGroup, byte by byte."""

import pytest

from kafka_lagoon.errors import EncodeError
from kafka_lagoon.protocol.messages.leave_group import ANY_MEMBER_ID, LeaveGroupRequest, LeavingMember
from kafka_lagoon.wire.writing import encode

REQUEST = LeaveGroupRequest(group_id="g", member_id="m")
MANY = LeaveGroupRequest(group_id="g", members=(LeavingMember(member_id="m"), LeavingMember(member_id="n")))
STATIC = LeaveGroupRequest(
    group_id="g", members=(LeavingMember(member_id=ANY_MEMBER_ID, group_instance_id="i", reason="r"),)
)


def test_one_member_or_many() -> None:
    """One member up to v2, many from v3 on, and neither in place of the other (KIP-345)."""
    assert encode(REQUEST, 2, False) == bytes.fromhex("0001 67 0001 6d")
    assert encode(MANY, 3, False) == bytes.fromhex("0001 67 00000002 0001 6d ffff 0001 6e ffff")
    for request, version in ((REQUEST, 3), (MANY, 2)):
        with pytest.raises(EncodeError):
            encode(request, version, False)


def test_static_member() -> None:
    """A static member is identified by its instance id alone; the reason is sent from v5 on, and dropped before (KIP-800)."""
    assert encode(STATIC, 4, True) == bytes.fromhex("0267 02 01 0269 00 00")
    assert encode(STATIC, 5, True) == bytes.fromhex("0267 02 01 0269 0272 00 00")
