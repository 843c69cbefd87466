"""Partitions in, where their logs begin, end, pass a time or part from an older term, and how large they are, out.

Guards one rule: every kind of offset is its own question to the leaders (the same partition twice in one request is
refused by brokers), and an answer says no more than the broker did: -1 is Kafka's "there is none".
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from kafka_lagoon.client.cluster import Cluster, TopicPartition
from kafka_lagoon.client.routes import ByLeader
from kafka_lagoon.client.routing import Gathered, ShardedRequest, gather
from kafka_lagoon.clock import Deadline
from kafka_lagoon.protocol.error_codes import CLUSTER_AUTHORIZATION_FAILED, LOG_DIR_NOT_FOUND, UNKNOWN_TOPIC_ID
from kafka_lagoon.protocol.messages.describe_log_dirs import (
    DESCRIBE_LOG_DIRS,
    DescribableLogDirTopic,
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
)
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
from kafka_lagoon.wire.schema import LATEST as NEWEST
from kafka_lagoon.wire.schema import Versions

_SERVER_TIMEOUT_MS = 30_000  # KIP-1075: how long the broker may wait for remote storage

Offsets = Gathered[TopicPartition, ListOffsetsResponsePartition]
EpochEnds = Gathered[TopicPartition, EpochEndOffset]
Sizes = Gathered[TopicPartition, int]


@dataclass(frozen=True, slots=True)
class Kind:
    """A point of a log: the timestamp that asks for it, as which reader, and the first version that knows it."""

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
ALL_KINDS = (HIGH_WATERMARK, LAST_STABLE, LOG_START, LARGEST_TIMESTAMP, LOCAL_START, TIERED_END)


def list_offsets(
    cluster: Cluster, partitions: Sequence[TopicPartition], kinds: Sequence[Kind], deadline: Deadline
) -> dict[Kind, Offsets]:
    """Each kind of offset of every partition, from the leaders."""
    sharded_requests = [_offsets_request(dict.fromkeys(partitions, kind.timestamp), kind) for kind in kinds]
    return dict(zip(kinds, gather(cluster, ByLeader(cluster), sharded_requests, deadline), strict=True))


def offsets_at(
    cluster: Cluster,
    times_ms: Mapping[TopicPartition, int],
    deadline: Deadline,
    isolation_level: int = READ_UNCOMMITTED,
) -> Offsets:
    """The first record of each partition at or behind its time (epoch milliseconds); offset -1 if there is none yet."""
    sharded = _offsets_request(times_ms, Kind(LATEST, isolation_level, 1))
    return gather(cluster, ByLeader(cluster), [sharded], deadline)[0]


def _offsets_request(
    timestamps: Mapping[TopicPartition, int], kind: Kind
) -> ShardedRequest[TopicPartition, ListOffsetsResponsePartition]:
    def build(items: Sequence[TopicPartition]) -> ListOffsetsRequest:
        topics: dict[str, list[ListOffsetsPartition]] = {}
        for at in items:
            one = ListOffsetsPartition(partition_index=at.partition, timestamp=timestamps[at])
            topics.setdefault(at.topic, []).append(one)
        return ListOffsetsRequest(
            replica_id=CONSUMER_REPLICA_ID,
            isolation_level=kind.isolation_level,
            topics=tuple(ListOffsetsTopic(name=name, partitions=tuple(some)) for name, some in topics.items()),
            timeout_ms=_SERVER_TIMEOUT_MS,
        )

    within = Versions(kind.since, NEWEST)
    return ShardedRequest(api=LIST_OFFSETS, items=list(timestamps), build=build, read=_read_offsets, within=within)


def _read_offsets(
    response: ListOffsetsResponse, _: Sequence[TopicPartition]
) -> Iterator[tuple[TopicPartition, int, ListOffsetsResponsePartition]]:
    for topic in response.topics:
        name = topic.name
        for one in topic.partitions:
            yield TopicPartition(name, one.partition_index), one.error_code, one


def epoch_ends(cluster: Cluster, leader_epochs: Mapping[TopicPartition, int], deadline: Deadline) -> EpochEnds:
    """Where the leader's log ends for the largest leader epoch up to the one given; -1 and -1 if the leader cannot tell.

    Brokers before Kafka 2.0 do not tell which epoch it is: -1 beside an offset. The epochs belong to the topics as they
    are known now; of one that turns out to be re-created the answer is UNKNOWN_TOPIC_ID.
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
        for at in items:
            current, asked = cluster.leader_epoch_of(at), leader_epochs[at]
            one = OffsetForLeaderPartition(partition=at.partition, current_leader_epoch=current, leader_epoch=asked)
            topics.setdefault(at.topic, []).append(one)
        return OffsetForLeaderEpochRequest(
            replica_id=CONSUMER_REPLICA_ID,
            topics=tuple(OffsetForLeaderTopic(topic=name, partitions=tuple(some)) for name, some in topics.items()),
        )

    topic_ids = {at.topic: cluster.topic_id_of(at.topic) for at in leader_epochs}

    def read(
        response: OffsetForLeaderEpochResponse, _: Sequence[TopicPartition]
    ) -> Iterator[tuple[TopicPartition, int, EpochEndOffset]]:
        for topic in response.topics:
            other = 0 if cluster.may_be_topic(topic.topic, topic_ids[topic.topic]) else UNKNOWN_TOPIC_ID
            for one in topic.partitions:
                yield TopicPartition(topic.topic, one.partition), other or one.error_code, one

    return ShardedRequest(api=OFFSET_FOR_LEADER_EPOCH, items=list(leader_epochs), build=build, read=read)


def replica_sizes(cluster: Cluster, partitions: Sequence[TopicPartition], deadline: Deadline) -> Sizes:
    """Bytes of each partition's log on its leader's disk. Needs the right to describe the cluster."""

    def build(items: Sequence[TopicPartition]) -> DescribeLogDirsRequest:
        topics: dict[str, list[int]] = {}
        for at in items:
            topics.setdefault(at.topic, []).append(at.partition)
        some = (DescribableLogDirTopic(topic=name, partitions=tuple(which)) for name, which in topics.items())
        return DescribeLogDirsRequest(topics=tuple(some))

    sharded = ShardedRequest(api=DESCRIBE_LOG_DIRS, items=list(partitions), build=build, read=_read_sizes)
    return gather(cluster, ByLeader(cluster), [sharded], deadline)[0]


def _read_sizes(
    response: DescribeLogDirsResponse, items: Sequence[TopicPartition]
) -> Iterator[tuple[TopicPartition, int, int | None]]:
    """Every item has an answer: one that is left out would be asked about again, and sizes are not worth that."""
    sizes = {
        TopicPartition(topic.name, one.partition_index): one.partition_size
        for result in response.results
        for topic in result.topics
        for one in topic.partitions
        if not one.is_future_key
    }
    absent = log_dirs_refusal(response) or LOG_DIR_NOT_FOUND
    for at in items:
        yield at, 0 if at in sizes else absent, sizes.get(at)


def log_dirs_refusal(response: DescribeLogDirsResponse) -> int:
    """The error code of a whole answer about disks; up to v2 a list without directories is how a missing right looks."""
    return response.error_code or (0 if response.results else CLUSTER_AUTHORIZATION_FAILED)
