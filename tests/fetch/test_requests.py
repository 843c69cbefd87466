"""Requests for a fetch position, and the partition in responses."""

from dataclasses import replace

from kafka_lagoon.fetch.requests import FetchPosition, partition_data, requests
from kafka_lagoon.fetch.split import Split
from kafka_lagoon.protocol.messages.fetch import FETCH, FetchableTopicResponse, FetchResponse, PartitionData
from kafka_lagoon.wire.primitives import uuid_bytes
from kafka_lagoon.wire.writing import encode

ID = "AAAAAAAAAAAAAAAAAAAAAQ"
SPLIT = Split(topic="t", topic_id=ID, partition=3, from_offset=0, to_offset=9, stable_end=9)
POSITION = FetchPosition(offset=5, last_epoch=2, isolation_level=1, limit_bytes=100, wait_ms=10)


def test_requests_cover_every_version_once() -> None:
    """With an id there is one request for every version from v4 on, newest first; without an id only those by name.

    Answers below v4 may cut a first batch, and no broker that is accepted needs them.
    """
    assert [version for _, versions in requests(SPLIT, POSITION, 4) for version in versions] == [
        *range(13, 19),
        12,
        *range(4, 12),
    ]
    without = replace(SPLIT, topic_id=None)
    assert [version for _, versions in requests(without, POSITION, 4) for version in versions] == [12, *range(4, 12)]


def test_every_request_can_be_written() -> None:
    """A single partition is in all versions; the epoch of the record before is in those with the field."""
    for request, versions in requests(SPLIT, POSITION, 4):
        for version in versions:
            encode(request, version, FETCH.is_flexible(version))
        last_epoch = request.topics[0].partitions[0].last_fetched_epoch
        assert last_epoch == (2 if versions.lowest >= 12 else -1)


def test_the_partition_in_answers() -> None:
    """The partition is found by id or by name; None if it is missing."""
    wanted = PartitionData(partition_index=3, error_code=0, high_watermark=9, records=None)
    other = PartitionData(partition_index=2, error_code=0, high_watermark=9, records=None)
    by_id = FetchableTopicResponse(topic_id=uuid_bytes(ID), partitions=(other, wanted))
    by_name = FetchableTopicResponse(topic="t", partitions=(wanted,))
    stranger = FetchableTopicResponse(topic="u", topic_id=bytes(15) + b"\x09", partitions=(wanted,))
    assert partition_data(SPLIT, FetchResponse(responses=(stranger, by_id))) is wanted
    assert partition_data(SPLIT, FetchResponse(responses=(stranger, by_name))) is wanted
    assert partition_data(SPLIT, FetchResponse(responses=(stranger,))) is None
    assert partition_data(SPLIT, FetchResponse(responses=())) is None
