"""Produce, byte by byte."""

import pytest

from kafka_lagoon.errors import EncodeError
from kafka_lagoon.protocol.messages.produce import (
    ALL_ACKS,
    BY_ID,
    BY_NAME,
    NO_LOG_APPEND_TIME,
    NO_OFFSET,
    PRODUCE,
    PartitionProduceData,
    ProduceLeaderIdAndEpoch,
    ProduceNodeEndpoint,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from kafka_lagoon.wire.reading import decode
from kafka_lagoon.wire.writing import encode

ID = bytes(range(16))
PARTITION = PartitionProduceData(index=1, records=memoryview(b"xyz"))
TOPIC = TopicProduceData(name="a", topic_id=ID, partition_data=(PARTITION,))
REQUEST = ProduceRequest(acks=ALL_ACKS, timeout_ms=100, topic_data=(TOPIC,))


def test_oldest_requests() -> None:
    """The transactional id is the first field from v3 on; older versions refuse it (KIP-98)."""
    body = bytes.fromhex("ffff 00000064 00000001 0001 61 00000001 00000001 00000003 78797a")
    assert encode(REQUEST, 2, False) == body
    assert encode(REQUEST, 3, False) == b"\xff\xff" + body
    with pytest.raises(EncodeError):
        encode(ProduceRequest(transactional_id="t"), 2, False)


def test_names_then_ids() -> None:
    """v12 carries the name alone, v13 the id alone; the two ranges are all versions."""
    head, tail = "00 ffff 00000064 02", "02 00000001 04 78797a 00 00 00"
    assert encode(REQUEST, BY_NAME.highest, True) == bytes.fromhex(f"{head} 0261 {tail}")
    assert encode(REQUEST, BY_ID.lowest, True) == bytes.fromhex(f"{head} {ID.hex()} {tail}")
    assert [*BY_NAME, *BY_ID] == list(PRODUCE.versions)


def test_oldest_response() -> None:
    """v0 has the base offset; the log append time and the log start offset are -1, not 0."""
    spelled = "00000001 0001 61 00000001 00000001 0000 0000000000000005"
    (item,) = decode(ProduceResponse, 0, False, bytes.fromhex(spelled)).responses[0].partition_responses
    assert (item.base_offset, item.log_append_time_ms, item.log_start_offset) == (5, NO_LOG_APPEND_TIME, NO_OFFSET)


def test_new_leader() -> None:
    """A broker that is no longer leader returns the new leader and its address in tagged fields (KIP-951)."""
    absent = "ffffffffffffffff"
    partition = f"00000001 0006 {absent} {absent} {absent} 01 00 01 00 09 00000002 00000007 00"
    endpoints = "01 00 0d 02 00000002 0268 00002384 00 00"
    decoded = decode(ProduceResponse, 10, True, bytes.fromhex(f"02 0261 02 {partition} 00 00000000 {endpoints}"))
    (item,) = decoded.responses[0].partition_responses
    assert item.current_leader == ProduceLeaderIdAndEpoch(leader_id=2, leader_epoch=7)
    assert decoded.node_endpoints == (ProduceNodeEndpoint(node_id=2, host="h", port=9092),)
