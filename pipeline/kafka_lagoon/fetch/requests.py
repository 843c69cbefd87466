"""Makes Fetch requests for one partition or for several of one leader, and finds them in the answers.

A topic is requested by its id where the broker has ids, because the name may belong to another topic by now. A partition is
requested with the leader epoch of the record before, because its log may have been truncated and continued with other records.
"""

from collections.abc import Iterator, Sequence

from kafka_lagoon.fetch.split import READ_COMMITTED, Split
from kafka_lagoon.frozen import frozen
from kafka_lagoon.protocol.messages import fetch
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


@frozen
class FetchPosition:
    """The position and limits of a fetch. `last_epoch` is the leader epoch of the record before `offset`, -1 if unknown."""

    offset: int
    last_epoch: int
    isolation_level: int
    limit_bytes: int
    wait_ms: int


@frozen(kw_only=False)
class RequestedPartition:
    """A split's partition at a position, and the leader epoch that we know of it."""

    split: Split
    position: FetchPosition
    leader_epoch: int


def isolation_at(split: Split, offset: int, isolation_level: str) -> int:
    """Isolation level for an offset. Readers of everything use READ_COMMITTED where transactions are known to have ended."""
    is_committed = isolation_level == READ_COMMITTED or offset < split.stable_end
    return fetch.READ_COMMITTED if is_committed else fetch.READ_UNCOMMITTED


def requests(
    split: Split, position: FetchPosition, leader_epoch: int, rack: str = NO_RACK
) -> Iterator[tuple[FetchRequest, Versions]]:
    """Requests for a position, each with the versions that can carry it, the newest first."""
    return shared_requests([RequestedPartition(split, position, leader_epoch)], position.limit_bytes, rack)


def shared_requests(
    wanted: Sequence[RequestedPartition], limit_bytes: int, rack: str = NO_RACK
) -> Iterator[tuple[FetchRequest, Versions]]:
    """Requests for positions of several partitions, which differ in their offsets, epochs and limits only.

    An answer has `limit_bytes` of records at most, or one batch.
    """
    with_epochs = _request(wanted, limit_bytes, rack, with_epochs=True)
    if all(each.split.topic_id is not None for each in wanted):
        yield with_epochs, BY_ID
    yield with_epochs, _BY_NAME_WITH_EPOCH
    yield _request(wanted, limit_bytes, rack, with_epochs=False), _BY_NAME


def _request(wanted: Sequence[RequestedPartition], limit_bytes: int, rack: str, *, with_epochs: bool) -> FetchRequest:
    topics: dict[tuple[str, str | None], list[FetchPartition]] = {}
    for each in wanted:
        partition = FetchPartition(
            partition=each.split.partition,
            current_leader_epoch=each.leader_epoch,
            fetch_offset=each.position.offset,
            last_fetched_epoch=each.position.last_epoch if with_epochs else -1,
            partition_max_bytes=each.position.limit_bytes,
        )
        topics.setdefault((each.split.topic, each.split.topic_id), []).append(partition)
    return FetchRequest(
        replica_id=CONSUMER_REPLICA_ID,
        max_wait_ms=wanted[0].position.wait_ms,
        min_bytes=1,
        max_bytes=limit_bytes,
        isolation_level=wanted[0].position.isolation_level,
        session_id=NO_SESSION,
        rack_id=rack,
        session_epoch=NO_SESSION_EPOCH,
        topics=tuple(
            FetchTopic(topic=topic, topic_id=uuid_bytes(topic_id), partitions=tuple(some))
            for (topic, topic_id), some in topics.items()
        ),
    )


def partition_data(split: Split, response: FetchResponse) -> PartitionData | None:
    """The split's partition in an answer, None if the answer leaves it out (as throttled answers do)."""
    return partitions_data([split], response)[0]


def partitions_data(splits: Sequence[Split], response: FetchResponse) -> list[PartitionData | None]:
    """The partition of each split in an answer, None where the answer leaves it out."""
    known: dict[tuple[str | bytes, int], PartitionData] = {}
    for topic in response.responses:
        key = topic.topic or topic.topic_id
        known.update({(key, partition.partition_index): partition for partition in topic.partitions})
    return [
        known.get((split.topic, split.partition)) or known.get((uuid_bytes(split.topic_id), split.partition))
        for split in splits
    ]
