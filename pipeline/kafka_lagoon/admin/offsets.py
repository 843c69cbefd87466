"""Lists offsets of partitions (ListOffsets) and where leader epochs end (OffsetForLeaderEpoch), from the leaders.

Each kind of offset is a request of its own: brokers refuse a request that names a partition twice. Answers are returned
unchanged; -1 is Kafka's "there is none".
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import cast

from kafka_lagoon.admin.offset_columns import OffsetColumns, PartitionOrder
from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.client.failures import Scope, own_failure
from kafka_lagoon.client.routes import ByLeader
from kafka_lagoon.client.routing import Gathered, ShardedRequest, gather
from kafka_lagoon.clock import Deadline
from kafka_lagoon.frozen import frozen
from kafka_lagoon.protocol.error_codes import UNKNOWN_TOPIC_ID
from kafka_lagoon.protocol.messages.list_offsets import (
    CONSUMER_REPLICA_ID,
    EARLIEST,
    EARLIEST_LOCAL,
    LATEST,
    LATEST_TIERED,
    LIST_OFFSETS,
    MAX_TIMESTAMP,
    READ_COMMITTED,
    READ_UNCOMMITTED,
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsResponsePartition,
    ListOffsetsTopic,
)
from kafka_lagoon.protocol.messages.offset_for_leader_epoch import (
    OFFSET_FOR_LEADER_EPOCH,
    EpochEndOffset,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)
from kafka_lagoon.topic_partition import TopicPartition
from kafka_lagoon.wire.schema import LATEST as NEWEST
from kafka_lagoon.wire.schema import Versions

_SERVER_TIMEOUT_MS = 30_000  # KIP-1075: how long the broker may wait for remote storage

NOT_RETURNED = "OFFSET_NOT_RETURNED"  # -1 for an offset that every log has
_NO_SUCH_OFFSET = "the leader says that there is none, and every log has one"

Offsets = Gathered[TopicPartition, ListOffsetsResponsePartition]
EpochEnds = Gathered[TopicPartition, EpochEndOffset]


@frozen(kw_only=False)
class Kind:
    """A kind of offset: the timestamp that stands for it, the isolation level, and the first version that has it."""

    timestamp: int
    isolation_level: int
    since: int


HIGH_WATERMARK = Kind(LATEST, READ_UNCOMMITTED, 1)
LAST_STABLE = Kind(LATEST, READ_COMMITTED, 2)
LOG_START = Kind(EARLIEST, READ_UNCOMMITTED, 1)
LARGEST_TIMESTAMP = Kind(MAX_TIMESTAMP, READ_UNCOMMITTED, 7)  # KIP-734
LOCAL_START = Kind(EARLIEST_LOCAL, READ_UNCOMMITTED, 8)  # KIP-405
TIERED_END = Kind(LATEST_TIERED, READ_UNCOMMITTED, 9)  # KIP-1005
KINDS_OF_LAG = (HIGH_WATERMARK, LAST_STABLE, LOG_START)
OF_EVERY_LOG = frozenset(KINDS_OF_LAG)
ALL_KINDS = (HIGH_WATERMARK, LAST_STABLE, LOG_START, LARGEST_TIMESTAMP, LOCAL_START, TIERED_END)


def list_offsets(
    cluster: Cluster, partitions: Sequence[TopicPartition], kinds: Sequence[Kind], deadline: Deadline
) -> dict[Kind, Offsets]:
    """Each kind of offset of every partition, from the leaders; the answers are kept by column."""
    order = PartitionOrder(partitions)
    sharded_requests = [_request_for(order, kind) for kind in kinds]
    gathered = dict(zip(kinds, gather(cluster, ByLeader(cluster), sharded_requests, deadline), strict=True))
    order.forget_chunks()
    for kind, sharded in zip(kinds, sharded_requests, strict=True):
        if kind in OF_EVERY_LOG:
            gathered[kind] = _without_absent(gathered[kind], cast("OffsetColumns", sharded.intake))
    return gathered


def _without_absent(offsets: Offsets, columns: OffsetColumns) -> Offsets:
    """Make failures of answers that a log has no beginning or no end."""
    sources = offsets.sources
    failures = {
        partition: own_failure(LIST_OFFSETS, Scope.of_partition(*partition), NOT_RETURNED, _NO_SUCH_OFFSET)
        for partition in columns.take_back_absent()
    }
    return Gathered(offsets.answers, sources, {**offsets.failures, **failures}) if failures else offsets


def offsets_at(
    cluster: Cluster,
    times_ms: Mapping[TopicPartition, int],
    deadline: Deadline,
    isolation_level: int = READ_UNCOMMITTED,
) -> Offsets:
    """The first record of each partition at or after its time (epoch milliseconds); offset -1 if there is none yet."""
    sharded = _request_at(times_ms, Kind(LATEST, isolation_level, 1))
    return gather(cluster, ByLeader(cluster), [sharded], deadline)[0]


def _request_at(
    times_ms: Mapping[TopicPartition, int], kind: Kind
) -> ShardedRequest[TopicPartition, ListOffsetsResponsePartition]:
    """A request with a time of its own for each partition."""

    def build(items: Sequence[TopicPartition]) -> ListOffsetsRequest:
        topics: dict[str, list[ListOffsetsPartition]] = {}
        for item in items:
            wanted = ListOffsetsPartition(partition_index=item.partition, timestamp=times_ms[item])
            topics.setdefault(item.topic, []).append(wanted)
        return _message([ListOffsetsTopic(name=name, partitions=some) for name, some in topics.items()], kind)

    items, within = list(times_ms), Versions(kind.since, NEWEST)
    return ShardedRequest(api=LIST_OFFSETS, items=items, build=build, read=_read_offsets, within=within)


def _request_for(order: PartitionOrder, kind: Kind) -> ShardedRequest[TopicPartition, ListOffsetsResponsePartition]:
    """A request for one point of every log."""

    def build(items: Sequence[TopicPartition]) -> ListOffsetsRequest:
        return _message(order.chunk(items).topics(kind.timestamp), kind)

    return ShardedRequest(
        api=LIST_OFFSETS,
        items=order.partitions,
        build=build,
        intake=OffsetColumns(order),
        within=Versions(kind.since, NEWEST),
        required=kind in OF_EVERY_LOG,
    )


def _message(topics: Sequence[ListOffsetsTopic], kind: Kind) -> ListOffsetsRequest:
    return ListOffsetsRequest(
        replica_id=CONSUMER_REPLICA_ID,
        isolation_level=kind.isolation_level,
        topics=topics,
        timeout_ms=_SERVER_TIMEOUT_MS,
    )


def _read_offsets(
    response: ListOffsetsResponse, _: Sequence[TopicPartition]
) -> Iterator[tuple[TopicPartition, int, ListOffsetsResponsePartition]]:
    for topic in response.topics:
        name = topic.name
        for partition in topic.partitions:
            yield TopicPartition(name, partition.partition_index), partition.error_code, partition


def epoch_ends(cluster: Cluster, leader_epochs: Mapping[TopicPartition, int], deadline: Deadline) -> EpochEnds:
    """The end of the largest leader epoch up to the given epoch in the leader's log; -1 and -1 if the leader knows none.

    Brokers before Kafka 2.0 do not return that epoch: -1 beside an offset. The epochs belong to the present topic ids; a
    topic that turns out to be re-created is UNKNOWN_TOPIC_ID.
    """
    return several_epoch_ends(cluster, [leader_epochs], deadline)[0]


def several_epoch_ends(
    cluster: Cluster, several: Sequence[Mapping[TopicPartition, int]], deadline: Deadline
) -> list[EpochEnds]:
    """`epoch_ends` of several epochs of the same partitions, pipelined: each is a request of its own to every leader."""
    sharded_requests = [_epochs_request(cluster, leader_epochs) for leader_epochs in several]
    return gather(cluster, ByLeader(cluster), sharded_requests, deadline)


def _epochs_request(
    cluster: Cluster, leader_epochs: Mapping[TopicPartition, int]
) -> ShardedRequest[TopicPartition, EpochEndOffset]:
    def build(items: Sequence[TopicPartition]) -> OffsetForLeaderEpochRequest:
        topics: dict[str, list[OffsetForLeaderPartition]] = {}
        for item in items:
            wanted = OffsetForLeaderPartition(
                partition=item.partition,
                current_leader_epoch=cluster.leader_epoch_of(item),
                leader_epoch=leader_epochs[item],
            )
            topics.setdefault(item.topic, []).append(wanted)
        return OffsetForLeaderEpochRequest(
            replica_id=CONSUMER_REPLICA_ID,
            topics=tuple(OffsetForLeaderTopic(topic=name, partitions=tuple(some)) for name, some in topics.items()),
        )

    topic_ids = {item.topic: cluster.topic_id_of(item.topic) for item in leader_epochs}

    def read(
        response: OffsetForLeaderEpochResponse, _: Sequence[TopicPartition]
    ) -> Iterator[tuple[TopicPartition, int, EpochEndOffset]]:
        for topic in response.topics:
            if topic.topic not in topic_ids:
                continue
            topic_code = 0 if cluster.may_be_topic(topic.topic, topic_ids[topic.topic]) else UNKNOWN_TOPIC_ID
            for partition in topic.partitions:
                code = topic_code or partition.error_code
                yield TopicPartition(topic.topic, partition.partition), code, partition

    return ShardedRequest(api=OFFSET_FOR_LEADER_EPOCH, items=list(leader_epochs), build=build, read=read)
