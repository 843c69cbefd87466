"""Chooses the ranges of each side of a comparison, and reads them: a topic of a cluster, a range of offsets per partition."""

from collections.abc import Collection, Generator, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import field, replace
from typing import Protocol

from kafka_lagoon.client.agreement import agreed_metadata
from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.client.failures import Failure
from kafka_lagoon.client.request_stats import RequestStats
from kafka_lagoon.clock import Clock, Deadline
from kafka_lagoon.compare.reading import Chunk, HashedReader
from kafka_lagoon.errors import BrokerError, ConfigError
from kafka_lagoon.fetch.log_bounds import ask_log_bounds
from kafka_lagoon.fetch.offset_resolution import ResolvedOffsets, resolve
from kafka_lagoon.fetch.offset_specs import EARLIEST, LATEST, AtOffset, BeforeEnd, Latest, OffsetSpec, OffsetSpecs
from kafka_lagoon.fetch.ranges import LogBounds
from kafka_lagoon.fetch.split import READ_COMMITTED, ReadOptions, Split, SplitOutcome
from kafka_lagoon.frozen import frozen
from kafka_lagoon.kafka_settings import KafkaSettings
from kafka_lagoon.protocol.error_codes import UNKNOWN_TOPIC_OR_PARTITION, error_code
from kafka_lagoon.protocol.messages.metadata import METADATA
from kafka_lagoon.topic_partition import TopicPartition
from kafka_lagoon.wire.primitives import uuid_text


@frozen
class Wanted:
    """The range of a comparison: partitions (None: all), and bounds of offsets or times, the same on both sides."""

    partitions: Collection[int] | None = None
    start: OffsetSpecs = field(default_factory=lambda: OffsetSpecs(name="--from", default=EARLIEST))
    end: OffsetSpecs = field(default_factory=lambda: OffsetSpecs(name="--until", default=LATEST))


class Reader(Protocol):
    """Reads one range of a partition; `outcome` then says how far, and what is missing."""

    @property
    def outcome(self) -> SplitOutcome:
        """The outcome up to now."""

    @property
    def is_in_order(self) -> bool:
        """False if records came after others that follow them in the log."""

    def chunks(self) -> Generator[Chunk, None, None]:
        """The records in the order of their offsets."""


class Connection(Protocol):
    """Reads a side, one range at a time."""

    def choose(self, wanted: Wanted) -> "Side":
        """Find the ranges to read; ConfigError if the topic or a partition does not exist."""

    def read(self, split: Split, options: ReadOptions, fields: frozenset[str]) -> Reader:
        """A reader of one range."""


class Source(Protocol):
    """A side of a comparison: the records of one topic. `str` is its name for messages."""

    @property
    def cluster(self) -> str:
        """Name of its cluster."""

    @property
    def topic(self) -> str:
        """Name of the topic."""

    def connect(self, clock: Clock) -> AbstractContextManager[Connection]:
        """Open a connection, for one thread at a time."""


@frozen
class Side:
    """The splits of a side, one for each partition; `lost` counts the offsets of each range that were deleted from its start.

    Offsets of an archive are those that the records had in their cluster.
    """

    of: Source
    cluster_id: str | None
    topic_id: str | None
    partitions: int  # the number of partitions of the topic
    splits: Mapping[int, Split]
    lost: Mapping[int, int]
    failures: Sequence[Failure] = ()
    notes: Sequence[str] = ()
    is_archive: bool = False


@frozen
class TopicOfCluster:
    """A topic of a configured cluster, read from its leaders."""

    cluster: str
    kafka: KafkaSettings
    topic: str

    def __str__(self) -> str:
        return f"{self.cluster}:{self.topic}"

    @contextmanager
    def connect(self, clock: Clock) -> Iterator[Connection]:
        """A client that knows the leaders."""
        deadline = Deadline.after(clock, self.kafka.default_api_timeout_ms)
        with Cluster.connect(self.kafka, clock, RequestStats(), deadline) as cluster:
            cluster.refresh({self.topic}, deadline)
            yield _Client(self, cluster)


@frozen(kw_only=False)
class _Client:
    """Reads a topic from its leaders."""

    of: TopicOfCluster
    cluster: Cluster

    def choose(self, wanted: Wanted) -> Side:
        deadline = Deadline.after(self.cluster.clock, self.of.kafka.default_api_timeout_ms)
        return choose_side(self.cluster, self.of, wanted, deadline)

    def read(self, split: Split, options: ReadOptions, fields: frozenset[str]) -> Reader:
        return HashedReader(self.cluster, split, options, fields)


def choose_side(cluster: Cluster, of: TopicOfCluster, wanted: Wanted, deadline: Deadline) -> Side:
    """Find the ranges to read; ConfigError if the topic or a partition does not exist.

    Records of open transactions are not compared: they may still be aborted. A partition whose leader does not answer is a
    failure beside the others.
    """
    (topic,) = agreed_metadata(cluster, {of.topic}, deadline).topics
    if topic.error_code == UNKNOWN_TOPIC_OR_PARTITION:
        raise ConfigError([f"{of}: no such topic"])
    if not topic.partitions:
        raise BrokerError(topic.error_code, error_code(topic.error_code).name, METADATA.name, str(of))
    known = sorted(partition.partition_index for partition in topic.partitions)
    if absent := sorted(set(wanted.partitions or ()) - set(known)):
        raise ConfigError([f"{of}: no partition {number}: it has {len(known)}, from 0 on" for number in absent])
    chosen = [TopicPartition(of.topic, number) for number in known if number in (wanted.partitions or known)]
    logs, failures = ask_log_bounds(cluster, chosen, READ_COMMITTED, deadline)
    start, end = (resolve(cluster, specs, logs, deadline) for specs in (wanted.start, wanted.end))
    failures = {**failures, **start.failures, **end.failures}
    topic_id = uuid_text(topic.topic_id)
    splits = {
        partition.partition: _split(partition, topic_id, log, start, end)
        for partition, log in logs.items()
        if partition not in failures
    }
    return Side(
        of=of,
        cluster_id=cluster.cluster_id,
        topic_id=topic_id,
        partitions=len(known),
        splits=splits,
        lost={
            partition.partition: lost_offsets(
                wanted.start.of(partition), splits[partition.partition], log.log_start_offset
            )
            for partition, log in logs.items()
            if partition not in failures
        },
        failures=list(failures.values()),
    )


def _split(
    partition: TopicPartition, topic_id: str | None, log: LogBounds, start: ResolvedOffsets, end: ResolvedOffsets
) -> Split:
    """The existing part of a range: an offset outside of the log means its start or end."""
    first = min(max(start.offsets[partition], log.log_start_offset), log.end)
    return Split(
        topic=partition.topic,
        topic_id=topic_id,
        partition=partition.partition,
        from_offset=first,
        to_offset=min(max(end.offsets[partition], first), log.end),
        stable_end=log.last_stable_offset,
    )


def lost_offsets(start: OffsetSpec, split: Split, log_start: int) -> int:
    """The number of offsets of a range that the log no longer has, at most: where a time was is not known any more."""
    if split.from_offset != log_start:
        return 0
    match start:
        case Latest():
            return 0
        case AtOffset(offset):
            return max(0, log_start - offset)
        case BeforeEnd(offsets):
            return max(0, log_start - max(0, split.stable_end - offsets))
    return log_start


def of_one_log(left: Side, right: Side) -> tuple[Side, Side]:
    """Both sides; if one is the archive of the other, limited to the offsets that both have, with notes about the rest.

    Otherwise partitions that an archive lacks, and the other topic has, are compared as empty partitions. An archive has no
    topic id if the brokers gave none then; they may have been upgraded since.
    """
    is_same = (
        left.cluster_id == right.cluster_id
        and left.of.topic == right.of.topic
        and (left.topic_id == right.topic_id or None in (left.topic_id, right.topic_id))
    )
    shared = left.splits.keys() & right.splits.keys()
    if left.is_archive == right.is_archive or not is_same or not (shared or left.failures or right.failures):
        return _with_empty_partitions(left, right), _with_empty_partitions(right, left)
    ranges = {number: _shared(left.splits[number], right.splits[number]) for number in shared}
    return _clipped(left, ranges), _clipped(right, ranges)


def _with_empty_partitions(side: Side, other: Side) -> Side:
    """Add an empty split for each partition that only the other side has, if the side is an archive.

    A topic of a cluster lacks a partition only if its leader does not answer, which is a failure.
    """
    absent = other.splits.keys() - side.splits.keys() if side.is_archive else set[int]()
    empty = {
        number: Split(
            topic=side.of.topic, topic_id=side.topic_id, partition=number, from_offset=0, to_offset=0, stable_end=0
        )
        for number in sorted(absent)
    }
    return replace(side, splits={**side.splits, **empty}, lost={**side.lost, **dict.fromkeys(empty, 0)})


def _shared(left: Split, right: Split) -> tuple[int, int]:
    start = max(left.from_offset, right.from_offset)
    return start, max(start, min(left.to_offset, right.to_offset))


def _clipped(side: Side, ranges: Mapping[int, tuple[int, int]]) -> Side:
    """Limit the side to these ranges of the shared partitions, with notes about the offsets and partitions that are left out.

    The ranges begin where both sides have records, so no offsets count as lost.
    """
    before = sum(
        min(ranges[number][0], side.splits[number].to_offset) - side.splits[number].from_offset for number in ranges
    )
    after = sum(max(0, side.splits[number].to_offset - ranges[number][1]) for number in ranges)
    notes = [
        f"{side.of}: {count:,} offsets {where} what the other side has are not compared"
        for count, where in ((before, "before"), (after, "after"))
        if count
    ]
    left_out = {
        number: split.to_offset - split.from_offset for number, split in side.splits.items() if number not in ranges
    }
    notes += [
        f"{side.of}: partition {number} with {count:,} offsets is not in the other side, and is not compared"
        for number, count in sorted(left_out.items())
        if count
    ]
    splits = {
        number: replace(split, from_offset=ranges[number][0], to_offset=ranges[number][1])
        for number, split in side.splits.items()
        if number in ranges
    }
    lost = dict.fromkeys(splits, 0)
    return replace(side, partitions=len(splits), splits=splits, lost=lost, notes=[*side.notes, *notes])
