"""ListOffsets, byte by byte."""

import pytest

from kafka_lagoon.errors import EncodeError
from kafka_lagoon.protocol.messages.list_offsets import (
    CONSUMER_REPLICA_ID,
    EARLIEST_PENDING_UPLOAD,
    LATEST,
    READ_COMMITTED,
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)
from kafka_lagoon.wire.reading import decode
from kafka_lagoon.wire.writing import encode


def _asking(**partition: int) -> ListOffsetsRequest:
    item = ListOffsetsPartition(partition_index=1, **partition)
    return ListOffsetsRequest(replica_id=CONSUMER_REPLICA_ID, topics=(ListOffsetsTopic(name="a", partitions=(item,)),))


def test_oldest_request() -> None:
    """v0 has a maximum number of offsets, 1 by default; v1 returns one offset."""
    head = "ffffffff 00000001 0001 61 00000001 00000001 ffffffffffffffff"
    assert encode(_asking(timestamp=LATEST), 0, False) == bytes.fromhex(head + "00000001")
    assert encode(_asking(timestamp=LATEST), 1, False) == bytes.fromhex(head)
    with pytest.raises(EncodeError):
        encode(_asking(timestamp=LATEST, max_num_offsets=5), 1, False)


def test_oldest_response() -> None:
    """v0 returns a list of offsets; the missing timestamp and offset are -1, not 0."""
    spelled = "00000001 0001 61 00000001 00000001 0000 00000002 0000000000000009 0000000000000000"
    (item,) = decode(ListOffsetsResponse, 0, False, bytes.fromhex(spelled)).topics[0].partitions
    assert (item.old_style_offsets, item.offset, item.timestamp, item.leader_epoch) == ((9, 0), -1, -1, -1)


def test_newest_request() -> None:
    """A request can have isolation level, leader epoch, a special timestamp and a timeout."""
    request = _asking(timestamp=EARLIEST_PENDING_UPLOAD, current_leader_epoch=5)
    request = ListOffsetsRequest(replica_id=-1, isolation_level=READ_COMMITTED, topics=request.topics, timeout_ms=1000)
    expected = "ffffffff 01 02 0261 02 00000001 00000005 fffffffffffffffa 00 00 000003e8 00"
    assert encode(request, 11, True) == bytes.fromhex(expected)


def test_isolation_is_not_ignorable() -> None:
    """A version without isolation level refuses a request with read_committed."""
    with pytest.raises(EncodeError):
        encode(ListOffsetsRequest(isolation_level=READ_COMMITTED), 1, False)
