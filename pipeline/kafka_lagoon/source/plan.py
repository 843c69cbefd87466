"""A cluster and what is asked of it in; splits of even bytes out, for batches and for streams.

Guards one rule: what is asked for and cannot be had is an error that says so, or with failOnDataLoss=false an event in
the log; a shorter answer is never given in silence.
"""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from pydantic import ValidationError

from kafka_lagoon import log
from kafka_lagoon.admin.offsets import (
    offsets_at,
)
from kafka_lagoon.client.cluster import Cluster, TopicPartition
from kafka_lagoon.client.failures import Failure
from kafka_lagoon.clock import Deadline
from kafka_lagoon.errors import BrokerError, ConfigError, RecordsError
from kafka_lagoon.fetch.history import with_last_epochs
from kafka_lagoon.fetch.logs import ask_logs, range_bytes
from kafka_lagoon.fetch.ranges import LOST, LogNow, PlannedRange
from kafka_lagoon.fetch.split import Split
from kafka_lagoon.fetch.tasks import Task, divide
from kafka_lagoon.kafka_settings import KafkaSettings, from_properties
from kafka_lagoon.protocol.error_codes import UNKNOWN_TOPIC_OR_PARTITION, error_code
from kafka_lagoon.protocol.messages.metadata import METADATA, MetadataTopic
from kafka_lagoon.source import options as source_options
from kafka_lagoon.source.filters import Pushed
from kafka_lagoon.source.options import EARLIEST, LATEST, Edge, SourceOptions, Times
from kafka_lagoon.text import did_you_mean
from kafka_lagoon.wire.primitives import uuid_text

_TASK_BYTES = 64 << 20  # of a partition's log; small enough that the last tasks of a query end about together
_NOBODY_SAID = -1  # Kafka's number for what has none


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """The partitions that are asked for and there, and the ids of their topics (None if brokers give none)."""

    topic_ids: Mapping[str, str | None]
    partitions: Sequence[TopicPartition]


def kafka_settings(options: SourceOptions) -> KafkaSettings:
    """How the cluster is reached; properties that concern consumers and producers only are left out."""
    named, faults = from_properties(options.kafka)
    if faults:
        raise ConfigError([f"kafka.{fault}" for fault in faults])
    try:
        return KafkaSettings.model_validate(named)
    except ValidationError as error:
        raise ConfigError(
            [
                ".".join(["kafka", *(str(part).replace("_", ".") for part in one["loc"])]) + f": {one['msg']}"
                for one in error.errors(include_input=False, include_url=False)
            ]
        ) from None


def batch_tasks(cluster: Cluster, options: SourceOptions, pushed: Pushed, deadline: Deadline) -> list[Task]:
    """What the tasks of a batch read. ConfigError names unknown topics and offsets outside of their logs."""
    chosen = choose(cluster, options, deadline)
    start: Edge = options.start or source_options.Offsets(option="startingOffsets", everywhere=EARLIEST)
    for edge in (start, options.end):
        require_all(edge, chosen)
    wanted = [at for at in chosen.partitions if pushed.admits(at.topic, at.partition)]
    logs = all_logs(cluster, wanted, options.isolation_level, deadline)
    starts = edge_offsets(cluster, options, start, logs, deadline)
    ends = edge_offsets(cluster, options, options.end, logs, deadline)
    ranges = (_range(at, chosen.topic_ids[at.topic], starts[at], ends[at], logs[at]) for at in wanted)
    return tasks(cluster, _narrowed(cluster, list(ranges), pushed, deadline), logs, options, deadline)


def choose(cluster: Cluster, options: SourceOptions, deadline: Deadline, known: Collection[str] = ()) -> Chosen:
    """Ask which partitions there are. ConfigError names topics that are not, but for those that are `known` to have been."""
    answer = cluster.refresh(None if options.pattern else options.topics, deadline)
    topics = {topic.name: topic for topic in answer.topics if topic.name is not None}
    if options.pattern:
        pattern = re.compile(options.pattern)
        topics = {name: one for name, one in topics.items() if pattern.fullmatch(name) and not one.is_internal}
    _refuse_unknown(cluster, topics, known, deadline)
    there = {name: topic for name, topic in sorted(topics.items()) if not topic.error_code}
    partitions = [
        TopicPartition(name, number)
        for name, topic in there.items()
        for number in sorted(one.partition_index for one in topic.partitions)
        if options.assigned is None or (name, number) in options.assigned
    ]
    absent = sorted((options.assigned or frozenset()) - set(partitions))
    problems = [f"assign: there is no partition {topic}:{number}" for topic, number in absent if topic in there]
    if problems:
        raise ConfigError(problems)
    return Chosen(topic_ids={name: uuid_text(one.topic_id) for name, one in there.items()}, partitions=partitions)


def _refuse_unknown(
    cluster: Cluster, topics: Mapping[str, MetadataTopic], known: Collection[str], deadline: Deadline
) -> None:
    failing = {name: topic.error_code for name, topic in topics.items() if topic.error_code}
    others = {name: code for name, code in failing.items() if code != UNKNOWN_TOPIC_OR_PARTITION}
    for name, code in others.items():
        raise BrokerError(code, error_code(code).name, METADATA.name, f"topic {name}")
    unknown = failing.keys() - set(known)
    if unknown:
        everything = cluster.refresh(None, deadline)
        names = [topic.name for topic in everything.topics if topic.name is not None]
        raise ConfigError([f"there is no topic {name}{did_you_mean(name, names)}" for name in sorted(unknown)])


def require_all(edge: Edge, chosen: Chosen) -> None:
    """Refuse an option that names other partitions than those that are read: what of the others, nobody knows."""
    if not edge.each and edge.everywhere is not None:
        return
    missing = sorted(set(chosen.partitions) - set(edge.each))
    strange = sorted(set(edge.each) - set(chosen.partitions))
    problems = [f"{edge.option}: nothing is said of {topic}:{number}" for topic, number in missing]
    problems += [f"{edge.option}: {topic}:{number} is not among what is read" for topic, number in strange]
    problems += [f"{edge.option}: topic {name} was created anew since" for name in _recreated(edge, chosen.topic_ids)]
    if problems:
        raise ConfigError(problems)


def _recreated(edge: Edge, topic_ids: Mapping[str, str | None]) -> list[str]:
    if isinstance(edge, Times):
        return []
    return [name for name, topic_id in edge.topic_ids.items() if topic_ids.get(name) != topic_id]


def all_logs(
    cluster: Cluster, partitions: Sequence[TopicPartition], isolation_level: str, deadline: Deadline
) -> dict[TopicPartition, LogNow]:
    """Every log as it is now."""
    logs, failures = ask_logs(cluster, partitions, isolation_level, deadline)
    refuse_failures(failures.values())
    return logs


def refuse_failures(failures: Iterable[Failure]) -> None:
    """Raise the first failure: what is read is all of it or nothing."""
    for one in failures:
        code = _NOBODY_SAID if one.code is None else one.code
        raise BrokerError(code, one.name, one.api, str(one.scope), one.message)


def edge_offsets(
    cluster: Cluster,
    options: SourceOptions,
    edge: Edge,
    logs: Mapping[TopicPartition, LogNow],
    deadline: Deadline,
) -> dict[TopicPartition, int]:
    """Where reading starts or ends in each log."""
    asked = {at: edge.each.get(at, edge.everywhere) for at in logs}
    if isinstance(edge, Times):
        times = {at: value for at, value in asked.items() if value is not None}
        return _at_times(cluster, options, edge, times, logs, deadline)
    symbols = {EARLIEST: "log_start_offset", LATEST: "end"}
    offsets: dict[TopicPartition, int] = {
        at: getattr(logs[at], symbols[value]) if value in symbols else value
        for at, value in asked.items()
        if value is not None
    }
    outside = {at: one for at, one in offsets.items() if not logs[at].log_start_offset <= one <= logs[at].end}
    lines = [
        f"{edge.option}: {at.topic}:{at.partition} has offsets {logs[at].log_start_offset} to {logs[at].end}, not {one}"
        for at, one in outside.items()
    ]
    lose(options, lines)
    return offsets


def _at_times(
    cluster: Cluster,
    options: SourceOptions,
    edge: Times,
    times: Mapping[TopicPartition, int],
    logs: Mapping[TopicPartition, LogNow],
    deadline: Deadline,
) -> dict[TopicPartition, int]:
    found = offsets_at(cluster, times, deadline)
    refuse_failures(found.failures.values())
    offsets = {at: one.offset for at, one in found.answers.items()}
    none_yet = sorted(at for at, offset in offsets.items() if offset < 0)
    if none_yet and edge.option.startswith("starting") and not options.latest_if_no_record:
        cure = "startingOffsetsByTimestampStrategy=latest starts at the end there"
        raise ConfigError(
            [
                f"{edge.option}: {at.topic}:{at.partition} has no record as late as {times[at]}; {cure}"
                for at in none_yet
            ]
        )
    return {at: min(offset, logs[at].end) if offset >= 0 else logs[at].end for at, offset in offsets.items()}


def lose(options: SourceOptions, lines: Sequence[str]) -> None:
    """Offsets that cannot be read: an error, or an event each where that is accepted."""
    if lines and options.fail_on_data_loss:
        raise RecordsError(LOST, f"{'; '.join(lines)}; failOnDataLoss=false reads what is there")
    for line in lines:
        log.error("data_loss", detail=line)


def _range(at: TopicPartition, topic_id: str | None, start: int, end: int, log_now: LogNow) -> PlannedRange:
    return PlannedRange(
        topic=at.topic,
        topic_id=topic_id,
        partition=at.partition,
        from_offset=max(start, log_now.log_start_offset),
        to_offset=min(end, log_now.end),
        log_start_offset=log_now.log_start_offset,
        stable_end=log_now.last_stable_offset,
    )


def _narrowed(
    cluster: Cluster, ranges: Sequence[PlannedRange], pushed: Pushed, deadline: Deadline
) -> list[PlannedRange]:
    """The ranges without what no filter lets through.

    Their ends are known before times are asked for, so that what is written in between is behind them.
    """
    narrow = []
    starts = _times_begin(cluster, ranges, pushed, deadline)
    for one in ranges:
        end = one.to_offset if pushed.to_offset is None else min(one.to_offset, pushed.to_offset)
        begin = starts.get(TopicPartition(one.topic, one.partition), one.from_offset)
        start = max(one.from_offset, pushed.from_offset, end if begin < 0 else begin)
        if start < end:
            narrow.append(replace(one, from_offset=start, to_offset=end))
    return narrow


def _times_begin(
    cluster: Cluster, ranges: Sequence[PlannedRange], pushed: Pushed, deadline: Deadline
) -> dict[TopicPartition, int]:
    """The first offset that is as late as the filters want it, -1 if none is; all before it are older."""
    if pushed.from_ms is None or not ranges:
        return {}
    asked = [TopicPartition(one.topic, one.partition) for one in ranges]
    found = offsets_at(cluster, dict.fromkeys(asked, pushed.from_ms), deadline)
    refuse_failures(found.failures.values())
    return {at: one.offset for at, one in found.answers.items()}


def tasks(
    cluster: Cluster,
    ranges: Sequence[PlannedRange],
    logs: Mapping[TopicPartition, LogNow],
    options: SourceOptions,
    deadline: Deadline,
) -> list[Task]:
    """Splits of even bytes: about as many as partitions, but small partitions share one and large ones have several."""
    sizes = range_bytes(cluster, ranges, logs, deadline)
    most = _TASK_BYTES
    if options.min_partitions:
        most = max(1, min(most, sum(sizes.values()) // options.min_partitions))
    parallelism = max(len(ranges), options.min_partitions or 0)
    found = divide(ranges, lambda one: sizes[TopicPartition(one.topic, one.partition)], parallelism, most)
    if options.max_records_per_partition is not None:
        found = [short for task in found for short in _short(task, options.max_records_per_partition)]
    return with_last_epochs(cluster, found, deadline)


def _short(task: Task, most: int) -> list[Task]:
    """A task as several of at most so many offsets."""
    return [
        Task(splits=(_part(split, start, min(start + most, split.to_offset)),))
        for split in task.splits
        for start in range(split.from_offset, split.to_offset, most)
    ]


def _part(split: Split, start: int, end: int) -> Split:
    continues = split.continues or start > split.from_offset
    return replace(split, from_offset=start, to_offset=end, continues=continues)
