"""Makes Fetch requests for one partition, and finds that partition in the answers.

A topic is requested by its id where broker and id allow it, because a name may be another topic since, and with the leader
epoch of the record before, because a log may have been truncated and continued with other records.
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

# v4 is the first version of Kafka 0.11, the oldest that is accepted; below it answers may cut a first batch (KIP-74).
_BY_NAME_WITH_EPOCH, _BY_NAME = Versions(12, 12), Versions(4, 11)
_NO_ID = bytes(16)


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchPosition:
    """Where reading continues, and how. `last_epoch` is the leader epoch of the record before `offset`, -1 if unknown."""

    offset: int
    last_epoch: int
    isolation_level: int
    limit_bytes: int
    wait_ms: int


def requests(
    split: Split, position: FetchPosition, leader_epoch: int, rack: str = NO_RACK
) -> Iterator[tuple[FetchRequest, Versions]]:
    """Requests for a position, each with the versions that can carry it, the newest first."""
    with_epoch = _request(split, position, leader_epoch, position.last_epoch, rack)
    if split.topic_id is not None:
        yield with_epoch, BY_ID
    yield with_epoch, _BY_NAME_WITH_EPOCH
    yield _request(split, position, leader_epoch, -1, rack), _BY_NAME


def _request(split: Split, position: FetchPosition, leader_epoch: int, last_epoch: int, rack: str) -> FetchRequest:
    partition = FetchPartition(
        partition=split.partition,
        current_leader_epoch=leader_epoch,
        fetch_offset=position.offset,
        last_fetched_epoch=last_epoch,
        partition_max_bytes=position.limit_bytes,
    )
    topic_id = uuid_bytes(split.topic_id) if split.topic_id is not None else _NO_ID
    return FetchRequest(
        replica_id=CONSUMER_REPLICA_ID,
        max_wait_ms=position.wait_ms,
        min_bytes=1,
        max_bytes=position.limit_bytes,
        isolation_level=position.isolation_level,
        session_id=NO_SESSION,
        rack_id=rack,
        session_epoch=NO_SESSION_EPOCH,
        topics=(FetchTopic(topic=split.topic, topic_id=topic_id, partitions=(partition,)),),
    )


def partition_data(split: Split, response: FetchResponse) -> PartitionData | None:
    """The split's partition in an answer, None if the answer leaves it out (as throttled answers do)."""
    topic_id = uuid_bytes(split.topic_id) if split.topic_id is not None else None
    for topic in response.responses:
        if topic.topic == split.topic or topic.topic_id == topic_id:
            for partition in topic.partitions:
                if partition.partition_index == split.partition:
                    return partition
    return None
