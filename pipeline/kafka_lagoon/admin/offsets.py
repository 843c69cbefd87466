"""Lists offsets of partitions (ListOffsets), from the leaders.

Each kind of offset is a request of its own: brokers refuse a request that names a partition twice. Answers are returned
unchanged; -1 is Kafka's "there is none".
"""

from array import array
from collections.abc import Iterator, Mapping, Sequence
from typing import cast

from kafka_lagoon.admin.answer_columns import (
    NONE,
    AnswerColumns,
    AnswersByPartition,
    Form,
    PartitionChunk,
    PartitionOrder,
)
from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.client.failures import Scope, own_failure
from kafka_lagoon.client.intake import Source
from kafka_lagoon.client.routes import ByLeader
from kafka_lagoon.client.routing import Gathered, ShardedRequest, gather
from kafka_lagoon.clock import Deadline
from kafka_lagoon.frozen import frozen
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
    ListOffsetsResponseTopic,
    ListOffsetsTopic,
)
from kafka_lagoon.topic_partition import TopicPartition
from kafka_lagoon.wire.columns import Lists, Structs
from kafka_lagoon.wire.schema import LATEST as NEWEST
from kafka_lagoon.wire.schema import Versions

_SERVER_TIMEOUT_MS = 30_000  # KIP-1075: how long the broker may wait for remote storage

NOT_RETURNED = "OFFSET_NOT_RETURNED"  # -1 for an offset that every log has
_NO_SUCH_OFFSET = "the leader says that there is none, and every log has one"

Offsets = Gathered[TopicPartition, ListOffsetsResponsePartition]


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
_FORM = Form(
    topics=ListOffsetsResponseTopic,
    answers=ListOffsetsResponsePartition,
    topic="name",
    partition="partition_index",
    kept={"offset": "q", "timestamp": "q", "leader_epoch": "i"},
)


class OffsetColumns(AnswerColumns[ListOffsetsResponsePartition]):
    """One kind of offset of partitions: -1 in each column where there is no answer, or no such offset."""

    def __init__(self, order: PartitionOrder) -> None:
        super().__init__(order, _FORM)
        self.offsets, self.timestamps = self.columns["offset"], self.columns["timestamp"]
        self.leader_epochs = self.columns["leader_epoch"]

    def take_back_absent(self) -> list[TopicPartition]:
        """Remove the answers that there is no such offset, and return their partitions."""
        if not self.offsets or min(self.offsets) >= 0:
            return []
        absent = [place for place, source in enumerate(self.source_places) if self.offsets[place] < 0 <= source]
        for place in absent:
            self.offsets[place], self.source_places[place] = NONE, NONE
        return [self.order.partitions[place] for place in absent]


def columns_of(
    answers: Mapping[TopicPartition, ListOffsetsResponsePartition],
    sources: Mapping[TopicPartition, Source],
    partitions: Sequence[TopicPartition],
) -> OffsetColumns:
    """Answers by column in the order of `partitions`; answers in another form are converted."""
    kept = answers.columns if isinstance(answers, AnswersByPartition) else None
    if isinstance(kept, OffsetColumns) and kept.order.partitions == partitions:
        return kept
    columns = OffsetColumns(PartitionOrder(partitions))
    for place, partition in enumerate(columns.order.partitions):
        answer = answers.get(partition)
        if answer is not None:
            columns.several_sources.append(sources[partition])
            columns.offsets[place], columns.timestamps[place] = answer.offset, answer.timestamp
            columns.leader_epochs[place] = answer.leader_epoch
            columns.source_places[place] = len(columns.several_sources) - 1
    return columns


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


def offsets_at(cluster: Cluster, times_ms: Mapping[TopicPartition, int], deadline: Deadline) -> Offsets:
    """The first record of each partition at or after its time (epoch milliseconds); offset -1 if there is none yet."""
    sharded = _request_at(times_ms, Kind(LATEST, READ_UNCOMMITTED, 1))
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
        return _message(_requested(order.chunk(items), kind.timestamp), kind)

    return ShardedRequest(
        api=LIST_OFFSETS,
        items=order.partitions,
        build=build,
        intake=OffsetColumns(order),
        has_distinct_items=True,
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


def _requested(chunk: PartitionChunk, timestamp: int) -> Sequence[ListOffsetsTopic]:
    """The topics of a request for the offset that a timestamp stands for."""
    count = len(chunk.partitions)
    columns = {
        "partition_index": chunk.partitions,
        "current_leader_epoch": array("i", [NONE]) * count,
        "timestamp": array("q", [timestamp]) * count,
        "max_num_offsets": array("i", [1]) * count,
    }
    partitions = Lists(chunk.counts, Structs.of(ListOffsetsPartition, columns))
    return Structs.of(ListOffsetsTopic, {"name": chunk.topics, "partitions": partitions})
