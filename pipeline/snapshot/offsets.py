"""Partitions in, where their logs begin and end out.

Guards one rule: every kind of offset is its own question to the leaders (the same partition twice in one request is
refused by brokers), and -1 in an answer, which is Kafka's "there is none", is null here.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from pipeline.client.cluster import Cluster, TopicPartition
from pipeline.client.deadline import Deadline
from pipeline.client.routing import ByLeader, Failure, Gathered, Question, gather
from pipeline.protocol.messages.list_offsets import (
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
from pipeline.snapshot.rows import PartitionOffsetsRow
from pipeline.snapshot.topology import Topology
from pipeline.wire.schema import LATEST as NEWEST
from pipeline.wire.schema import Versions

_SERVER_TIMEOUT_MS = 30_000  # KIP-1075: how long the broker may wait for remote storage

Offsets = Gathered[TopicPartition, ListOffsetsResponsePartition]


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
    questions = [_question(partitions, kind) for kind in kinds]
    return dict(zip(kinds, gather(cluster, ByLeader(cluster), questions, deadline), strict=True))


def _question(
    partitions: Sequence[TopicPartition], kind: Kind
) -> Question[TopicPartition, ListOffsetsResponsePartition]:
    def build(items: Sequence[TopicPartition]) -> ListOffsetsRequest:
        topics: dict[str, list[ListOffsetsPartition]] = {}
        for topic, partition in items:
            one = ListOffsetsPartition(partition_index=partition, timestamp=kind.timestamp)
            topics.setdefault(topic, []).append(one)
        return ListOffsetsRequest(
            replica_id=CONSUMER_REPLICA_ID,
            isolation_level=kind.isolation_level,
            topics=tuple(ListOffsetsTopic(name=name, partitions=tuple(some)) for name, some in topics.items()),
            timeout_ms=_SERVER_TIMEOUT_MS,
        )

    return Question(api=LIST_OFFSETS, items=partitions, build=build, read=_read, within=Versions(kind.since, NEWEST))


def _read(
    response: ListOffsetsResponse, _: Sequence[TopicPartition]
) -> Iterator[tuple[TopicPartition, int, ListOffsetsResponsePartition]]:
    for topic in response.topics:
        name = topic.name
        for one in topic.partitions:
            yield TopicPartition(name, one.partition_index), one.error_code, one


def offset_rows(topology: Topology, found: Mapping[Kind, Offsets]) -> Iterator[PartitionOffsetsRow]:
    """One row per partition; what no leader told, or nobody asked, is null, and `problem` names the first reason."""
    start, end, stable, largest, local, tiered = (
        found[kind].answers if kind in found else {}
        for kind in (LOG_START, HIGH_WATERMARK, LAST_STABLE, LARGEST_TIMESTAMP, LOCAL_START, TIERED_END)
    )
    sources = found[HIGH_WATERMARK].sources
    for topic, partitions in topology.partitions.items():
        topic_id, changed = topology.topic_ids[topic], topology.changed.get(topic)
        for partition in partitions:
            at = TopicPartition(topic, partition)
            last = end.get(at)
            source = sources.get(at)
            newest, newest_ms = _newest(largest.get(at))
            yield PartitionOffsetsRow(
                topic,
                topic_id,
                partition,
                _offset(start.get(at)),
                _offset(last),
                _offset(stable.get(at)),
                newest,
                newest_ms,
                _offset(local.get(at)),
                _offset(tiered.get(at)),
                None if last is None or last.leader_epoch < 0 else last.leader_epoch,
                source.read_at_ms if source else None,
                changed or (_problem(at, found.values()) if last is None or at not in start else None),
            )


def _offset(one: ListOffsetsResponsePartition | None) -> int | None:
    return None if one is None or one.offset < 0 else one.offset


def _newest(one: ListOffsetsResponsePartition | None) -> tuple[int | None, int | None]:
    """Offset and timestamp of the record with the largest timestamp; both null for an empty log."""
    if one is None or one.offset < 0:
        return None, None
    return one.offset, one.timestamp


def _problem(at: TopicPartition, found: Iterable[Offsets]) -> str | None:
    failures: Iterator[Failure] = (one.failures[at] for one in found if at in one.failures)
    return next((failure.name for failure in failures), None)
