"""ShareFetch, byte by byte."""

import pytest

from kafka_lagoon.errors import EncodeError
from kafka_lagoon.protocol.messages.share_fetch import (
    ACCEPT,
    RECORD_LIMIT,
    AcquiredRecords,
    ShareFetchAcknowledgementBatch,
    ShareFetchPartition,
    ShareFetchPartitionData,
    ShareFetchRequest,
    ShareFetchTopic,
)
from kafka_lagoon.wire.reading import decode
from kafka_lagoon.wire.writing import encode

ID = bytes(range(16))
ACCEPTED = ShareFetchAcknowledgementBatch(first_offset=5, last_offset=7, acknowledge_types=(ACCEPT,))
PARTITION = ShareFetchPartition(partition_index=1, acknowledgement_batches=(ACCEPTED,))
REQUEST = ShareFetchRequest(
    group_id="g",
    member_id="m",
    share_session_epoch=2,
    max_wait_ms=500,
    min_bytes=1,
    max_records=100,
    batch_size=50,
    share_acquire_mode=RECORD_LIMIT,
    topics=(ShareFetchTopic(topic_id=ID, partitions=(PARTITION,)),),
)


def test_way_to_acquire() -> None:
    """The acquire mode is sent from v2 on, and dropped before (KIP-1206); max_bytes has no limit by default."""
    head = "0267 026d 00000002 000001f4 00000001 7fffffff 00000064 00000032"
    accepted = "02 0000000000000005 0000000000000007 02 01 00"
    tail = f"02 {ID.hex()} 02 00000001 {accepted} 00 00 01 00"
    assert encode(REQUEST, 1, True) == bytes.fromhex(f"{head} {tail}")
    assert encode(REQUEST, 2, True) == bytes.fromhex(f"{head} 01 00 {tail}")


def test_renewal_is_not_ignorable() -> None:
    """A version without renewals refuses them (KIP-1222), since the locks would time out."""
    with pytest.raises(EncodeError):
        encode(ShareFetchRequest(is_renew_ack=True), 1, True)


def test_acquired_records() -> None:
    """The current leader is a plain struct, without a tag; acquired records are ranges of offsets, both ends included."""
    acquired = "02 0000000000000005 0000000000000007 0001 00"
    spelled = f"00000001 0000 00 0000 00 00000000 00000000 00 04 78797a {acquired} 00"
    decoded = decode(ShareFetchPartitionData, 1, True, bytes.fromhex(spelled))
    assert bytes(decoded.records) == b"xyz"
    assert decoded.acquired_records == (AcquiredRecords(first_offset=5, last_offset=7, delivery_count=1),)
