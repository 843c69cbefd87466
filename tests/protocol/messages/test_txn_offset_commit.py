"""TxnOffsetCommit, byte by byte."""

import pytest

from kafka_lagoon.errors import EncodeError
from kafka_lagoon.protocol.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from kafka_lagoon.wire.writing import encode

PARTITION = TxnOffsetCommitRequestPartition(partition_index=1, committed_offset=5, committed_metadata=None)
REQUEST = TxnOffsetCommitRequest(
    transactional_id="t",
    group_id="g",
    producer_id=9,
    producer_epoch=2,
    topics=(TxnOffsetCommitRequestTopic(name="a", partitions=(PARTITION,)),),
)


def test_membership() -> None:
    """From v3 on the member is sent, so that the group can fence it (KIP-447); without a member it is -1 and empty."""
    producer = "0000000000000009 0002"
    old = f"0001 74 0001 67 {producer} 00000001 0001 61 00000001 00000001 0000000000000005 ffffffff ffff"
    new = f"0274 0267 {producer} ffffffff 01 00 02 0261 02 00000001 0000000000000005 ffffffff 00 00 00 00"
    assert encode(REQUEST, 2, False) == bytes.fromhex(old)
    assert encode(REQUEST, 3, True) == bytes.fromhex(new)


def test_membership_is_not_ignorable() -> None:
    """A version without the member refuses it, since the commit would not be fenced."""
    for request in (TxnOffsetCommitRequest(generation_id_or_member_epoch=1), TxnOffsetCommitRequest(member_id="m")):
        with pytest.raises(EncodeError):
            encode(request, 2, False)
