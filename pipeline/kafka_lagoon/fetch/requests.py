"""A place in a partition's log in, Fetch requests out; Fetch answers in, the partition's data out.

Guards one rule: a topic is asked for by its id wherever id and broker allow, because a name may have become another topic
since, and with the term of the record before, because a log may have been cut off and written anew.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from kafka_lagoon.fetch.split import Split
from kafka_lagoon.protocol.messages.fetch import (
    BY_ID,
    CONSUMER_REPLICA_ID,
    NO_RACK,
    NO_SESSION,
    NO_SESSION_EPOCH,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    PartitionData,
)
from kafka_lagoon.wire.primitives import uuid_bytes
from kafka_lagoon.wire.schema import Versions

_BY_NAME_WITH_TERM, _BY_NAME = Versions(12, 12), Versions(0, 11)
_NO_ID = bytes(16)


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where reading goes on: the term of the record before `offset` (-1 unknown), as which reader, how many bytes."""

    offset: int
    last_epoch: int
    isolation_level: int
    limit_bytes: int
    wait_ms: int


def ways(split: Split, place: Place, leader_epoch: int, rack: str = NO_RACK) -> Iterator[tuple[FetchRequest, Versions]]:
    """Requests for a place, the one that says most first, each with the versions that can carry it."""
    told = _request(split, place, leader_epoch, place.last_epoch, rack)
    if split.topic_id is not None:
        yield told, BY_ID
    yield told, _BY_NAME_WITH_TERM
    yield _request(split, place, leader_epoch, -1, rack), _BY_NAME


def _request(split: Split, place: Place, leader_epoch: int, last_epoch: int, rack: str) -> FetchRequest:
    partition = FetchPartition(
        partition=split.partition,
        current_leader_epoch=leader_epoch,
        fetch_offset=place.offset,
        last_fetched_epoch=last_epoch,
        partition_max_bytes=place.limit_bytes,
    )
    topic_id = uuid_bytes(split.topic_id) if split.topic_id is not None else _NO_ID
    return FetchRequest(
        replica_id=CONSUMER_REPLICA_ID,
        max_wait_ms=place.wait_ms,
        min_bytes=1,
        max_bytes=place.limit_bytes,
        isolation_level=place.isolation_level,
        session_id=NO_SESSION,
        rack_id=rack,
        session_epoch=NO_SESSION_EPOCH,
        topics=(FetchTopic(topic=split.topic, topic_id=topic_id, partitions=(partition,)),),
    )


def partition_data(split: Split, response: FetchResponse) -> PartitionData | None:
    """What the answer says of the split's partition, None if it leaves it out (as throttled answers do)."""
    topic_id = uuid_bytes(split.topic_id) if split.topic_id is not None else None
    for topic in response.responses:
        if topic.topic == split.topic or topic.topic_id == topic_id:
            for one in topic.partitions:
                if one.partition_index == split.partition:
                    return one
    return None
