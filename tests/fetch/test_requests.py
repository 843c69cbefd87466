"""Requests for a place, and what answers say of it."""

from dataclasses import replace

from kafka_lagoon.fetch.requests import Place, partition_data, ways
from kafka_lagoon.fetch.split import Split
from kafka_lagoon.protocol.messages.fetch import FETCH, FetchableTopicResponse, FetchResponse, PartitionData
from kafka_lagoon.wire.primitives import uuid_bytes
from kafka_lagoon.wire.writing import encode

ID = "AAAAAAAAAAAAAAAAAAAAAQ"
SPLIT = Split(topic="t", topic_id=ID, partition=3, from_offset=0, to_offset=9, stable_end=9)
PLACE = Place(offset=5, last_epoch=2, isolation_level=1, limit_bytes=100, wait_ms=10)


def test_ways_cover_every_version_once() -> None:
    """With an id every version of the API has one way, the newest first; without one, those by name are left."""
    assert [version for _, versions in ways(SPLIT, PLACE, 4) for version in versions] == [
        *range(13, 19),
        12,
        *range(12),
    ]
    without = replace(SPLIT, topic_id=None)
    assert [version for _, versions in ways(without, PLACE, 4) for version in versions] == [12, *range(12)]


def test_every_way_can_be_written() -> None:
    """In all of its versions; the term of the record before goes where there is room for it."""
    for request, versions in ways(SPLIT, PLACE, 4):
        for version in versions:
            encode(request, version, FETCH.is_flexible(version))
        told = request.topics[0].partitions[0].last_fetched_epoch
        assert told == (2 if versions.lowest >= 12 else -1)


def test_what_answers_say() -> None:
    """The partition is found by id or by name among others, and its absence is told."""
    mine = PartitionData(partition_index=3, error_code=0, high_watermark=9, records=None)
    other = PartitionData(partition_index=2, error_code=0, high_watermark=9, records=None)
    by_id = FetchableTopicResponse(topic_id=uuid_bytes(ID), partitions=(other, mine))
    by_name = FetchableTopicResponse(topic="t", partitions=(mine,))
    stranger = FetchableTopicResponse(topic="u", topic_id=bytes(15) + b"\x09", partitions=(mine,))
    assert partition_data(SPLIT, FetchResponse(responses=(stranger, by_id))) is mine
    assert partition_data(SPLIT, FetchResponse(responses=(stranger, by_name))) is mine
    assert partition_data(SPLIT, FetchResponse(responses=(stranger,))) is None
    assert partition_data(SPLIT, FetchResponse(responses=())) is None
