"""Fetch, byte by byte."""

import pytest

from kafka_lagoon.errors import EncodeError
from kafka_lagoon.protocol.messages.fetch import (
    BY_ID,
    BY_NAME,
    FETCH,
    READ_COMMITTED,
    AbortedTransaction,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
)
from kafka_lagoon.wire.reading import decode
from kafka_lagoon.wire.writing import encode

ID = bytes(range(16))


def _asking(**partition: int) -> FetchRequest:
    item = FetchPartition(partition=1, fetch_offset=7, partition_max_bytes=100, **partition)
    topic = FetchTopic(topic="a", topic_id=ID, partitions=(item,))
    return FetchRequest(max_wait_ms=5, min_bytes=1, max_bytes=100, isolation_level=READ_COMMITTED, topics=(topic,))


def test_oldest_request() -> None:
    """A v0 request is a consumer's, with names, without a limit for the whole response and without isolation level."""
    head = "ffffffff 00000005 00000001"
    topic = "00000001 0001 61 00000001 00000001 0000000000000007 00000064"
    assert encode(_asking(), 0, False) == bytes.fromhex(head + topic)


def test_names_then_ids() -> None:
    """v12 carries the name alone, v13 the id alone; the two ranges are all versions."""
    partition = "02 00000001 ffffffff 0000000000000007 ffffffff ffffffffffffffff 00000064 00 00"
    tail = "01 01 00"
    head = "ffffffff 00000005 00000001 00000064 01 00000000 ffffffff 02"
    assert encode(_asking(), 12, True) == bytes.fromhex(head + "0261" + partition + tail)
    assert encode(_asking(), 13, True) == bytes.fromhex(head + ID.hex() + partition + tail)
    assert [*BY_NAME, *BY_ID] == list(FETCH.versions)


def test_consumers_are_no_replicas() -> None:
    """From v15 on a consumer sends nothing about itself: the tag with a replica's state is left out."""
    spelled = encode(_asking(), 15, True)
    assert spelled.startswith(bytes.fromhex("00000005 00000001"))
    assert spelled.endswith(bytes.fromhex("01 01 00"))


def test_what_older_versions_cannot_say() -> None:
    """Versions without the leader's epoch drop it; versions without the epoch of the last record refuse it."""
    assert encode(_asking(current_leader_epoch=3), 8, False) == encode(_asking(), 8, False)
    with pytest.raises(EncodeError):
        encode(_asking(last_fetched_epoch=3), 11, False)


def test_throttled_away() -> None:
    """A throttled response has no topics, no error, and a throttle time."""
    decoded = decode(FetchResponse, 13, True, bytes.fromhex("00001389 0000 00000000 01 00"))
    assert (decoded.throttle_time_ms, decoded.responses) == (5001, ())


def test_diverging_epoch_and_leader() -> None:
    """The point of divergence and the current leader are tagged fields of the partition; if absent they are -1."""
    head = "00000000 0000 00000000 02" + ID.hex() + "02"
    fixed = "00000001 0000 000000000000000a 000000000000000a 0000000000000000 00 ffffffff 00"
    plain = decode(FetchResponse, 13, True, bytes.fromhex(head + fixed + "00 00 00")).responses[0].partitions[0]
    assert (plain.diverging_epoch.end_offset, plain.current_leader.leader_id, plain.records) == (-1, -1, None)
    assert plain.aborted_transactions is None
    tags = "02 00 0d 00000000 0000000000000005 00 01 09 00000003 00000008 00"
    partition = decode(FetchResponse, 13, True, bytes.fromhex(head + fixed + tags + "00 00")).responses[0].partitions[0]
    assert (partition.diverging_epoch.epoch, partition.diverging_epoch.end_offset) == (0, 5)
    assert (partition.current_leader.leader_id, partition.current_leader.leader_epoch) == (3, 8)


def test_records_stay_in_the_frame() -> None:
    """Record data is a view of the frame, not a copy; the list of aborted transactions is unchanged."""
    head = "00000000 00000001 0001 61 00000001"
    partition = "00000001 0000 000000000000000a 000000000000000a 00000002"
    aborted = "0000000000000009 0000000000000004 0000000000000007 0000000000000001"
    frame = bytes.fromhex(head + partition + aborted + "00000003 aabbcc")
    (item,) = decode(FetchResponse, 4, False, frame).responses[0].partitions
    assert isinstance(item.records, memoryview)
    assert (bytes(item.records), item.records.obj) == (b"\xaa\xbb\xcc", frame)
    assert item.aborted_transactions == (
        AbortedTransaction(producer_id=9, first_offset=4),
        AbortedTransaction(producer_id=7, first_offset=1),
    )
