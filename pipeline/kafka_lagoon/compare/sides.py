"""Chooses what is read of each side of a comparison: the topic as it is, and a range of offsets for each partition."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from kafka_lagoon.client.cluster import Cluster, TopicPartition
from kafka_lagoon.client.failures import Failure
from kafka_lagoon.clock import Deadline
from kafka_lagoon.errors import BrokerError, ConfigError
from kafka_lagoon.fetch.log_bounds import ask_log_bounds
from kafka_lagoon.fetch.offset_resolution import ResolvedOffsets, resolve
from kafka_lagoon.fetch.offset_specs import EARLIEST, LATEST, OffsetSpecs
from kafka_lagoon.fetch.ranges import LogBounds
from kafka_lagoon.fetch.split import READ_COMMITTED, Split
from kafka_lagoon.kafka_settings import KafkaSettings
from kafka_lagoon.protocol.error_codes import UNKNOWN_TOPIC_OR_PARTITION, error_code
from kafka_lagoon.protocol.messages.metadata import METADATA
from kafka_lagoon.wire.primitives import uuid_text


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicOfCluster:
    """A topic of a cluster of the settings."""

    cluster: str
    kafka: KafkaSettings
    topic: str

    def __str__(self) -> str:
        return f"{self.cluster}:{self.topic}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What is compared: some partitions (None: all), and from where to where, the same on both sides."""

    partitions: Collection[int] | None = None
    start: OffsetSpecs = field(default_factory=lambda: OffsetSpecs(name="--from", default=EARLIEST))
    end: OffsetSpecs = field(default_factory=lambda: OffsetSpecs(name="--until", default=LATEST))


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """What is read of a side: a split for each partition, and where its log begins."""

    of: TopicOfCluster
    cluster_id: str | None
    partitions: int  # that the topic has
    splits: Mapping[int, Split]
    log_starts: Mapping[int, int]
    failures: Sequence[Failure]


def choose_side(cluster: Cluster, of: TopicOfCluster, wanted: Wanted, deadline: Deadline) -> Side:
    """What there is to read; ConfigError if the topic or a partition does not exist.

    Records of open transactions are not compared: they may still be aborted. A partition whose leader does not answer is a
    failure beside the others.
    """
    (topic,) = cluster.refresh({of.topic}, deadline).topics
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
        partitions=len(known),
        splits=splits,
        log_starts={partition.partition: log.log_start_offset for partition, log in logs.items()},
        failures=list(failures.values()),
    )


def _split(
    partition: TopicPartition, topic_id: str | None, log: LogBounds, start: ResolvedOffsets, end: ResolvedOffsets
) -> Split:
    """The range that is there: an offset outside of the log means its start or end."""
    first = min(max(start.offsets[partition], log.log_start_offset), log.end)
    return Split(
        topic=partition.topic,
        topic_id=topic_id,
        partition=partition.partition,
        from_offset=first,
        to_offset=min(max(end.offsets[partition], first), log.end),
        stable_end=log.last_stable_offset,
    )
