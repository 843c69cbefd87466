"""Plans what batches and streams of the data source read: partitions, offsets, and splits of even bytes.

What cannot be read is an error that says so, or with failOnDataLoss=false an event in the log; no answer is shorter in
silence.
"""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import zip_longest

from pydantic import ValidationError

from kafka_lagoon import log
from kafka_lagoon.admin.offsets import offsets_at
from kafka_lagoon.client.agreement import agreed_metadata
from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.client.failures import Failure
from kafka_lagoon.clock import Deadline
from kafka_lagoon.errors import BrokerError, ConfigError, RecordsError
from kafka_lagoon.fetch.last_epochs import with_last_epochs
from kafka_lagoon.fetch.log_bounds import ask_log_bounds, range_bytes
from kafka_lagoon.fetch.offset_resolution import ResolvedOffsets, resolve
from kafka_lagoon.fetch.offset_specs import EARLIEST, OffsetSpecs
from kafka_lagoon.fetch.ranges import LOST, LogBounds, PlannedRange
from kafka_lagoon.fetch.split import Split
from kafka_lagoon.fetch.tasks import Task, divide
from kafka_lagoon.fetch.topic_identity import believed_topics
from kafka_lagoon.frozen import frozen
from kafka_lagoon.kafka_settings import KafkaSettings, checked, from_properties
from kafka_lagoon.protocol.error_codes import UNKNOWN_TOPIC_OR_PARTITION, UNSUPPORTED_FOR_MESSAGE_FORMAT, error_code
from kafka_lagoon.protocol.messages.metadata import METADATA, MetadataTopic
from kafka_lagoon.source.filters import Pushed
from kafka_lagoon.source.options import SourceOptions
from kafka_lagoon.text import did_you_mean
from kafka_lagoon.topic_partition import TopicPartition
from kafka_lagoon.wire.primitives import NO_ID, uuid_text

_TASK_BYTES = 64 << 20  # of a partition's log; small enough that the last tasks of a query end at about the same time
_MOST_HINTS = 10  # each compares a name with those of all topics, and thousands are missing in a wrong cluster
_NO_CODE = -1  # Kafka's UNKNOWN_SERVER_ERROR, for a failure without an answer
_START = OffsetSpecs(name="startingOffsets", default=EARLIEST)


@frozen
class SelectedPartitions:
    """The partitions that the options select and that exist, and the ids of their topics (None if brokers give none)."""

    topic_ids: Mapping[str, str | None]
    partitions: Sequence[TopicPartition]


def kafka_settings(options: SourceOptions) -> KafkaSettings:
    """The settings of the connection."""
    return connection_settings(options.kafka)


def connection_settings(properties: Mapping[str, str]) -> KafkaSettings:
    """The settings of a connection; properties that only consumers and producers have are left out."""
    named, faults = from_properties(properties)
    if faults:
        raise ConfigError([f"kafka.{fault}" for fault in faults])
    try:
        return checked(named)
    except ValidationError as error:
        raise ConfigError(
            [
                ".".join(["kafka", *(str(part).replace("_", ".") for part in fault["loc"])]) + f": {fault['msg']}"
                for fault in error.errors(include_input=False, include_url=False)
            ]
        ) from None


def batch_tasks(cluster: Cluster, options: SourceOptions, pushed: Pushed, deadline: Deadline) -> list[Task]:
    """The splits of a batch's tasks. ConfigError names unknown topics and offsets outside of their logs."""
    selected = select_partitions(cluster, options, deadline)
    start = options.start or _START
    for specs in (start, options.end):
        require_fitting(specs, selected)
    partitions = [partition for partition in selected.partitions if pushed.admits(*partition)]
    logs = log_bounds(cluster, partitions, options.isolation_level, deadline)
    starts = starting_offsets(cluster, options, start, logs, deadline)
    ends = _resolved(cluster, options, options.end, logs, deadline).offsets
    ranges = [
        _range(partition, selected.topic_ids[partition.topic], starts[partition], ends[partition], logs[partition])
        for partition in partitions
    ]
    return tasks(cluster, _narrowed(cluster, ranges, pushed, deadline), logs, options, deadline)


def select_partitions(
    cluster: Cluster, options: SourceOptions, deadline: Deadline, known: Collection[str] = ()
) -> SelectedPartitions:
    """Find the partitions that exist, as two brokers describe the topics.

    ConfigError names topics that do not; those that are `known` to have existed are left out if every broker says so.
    """
    answer = agreed_metadata(cluster, None if options.pattern else options.topics, deadline)
    topics = {topic.name: topic for topic in answer.topics if topic.name is not None}
    if options.pattern:
        pattern = re.compile(options.pattern)
        topics = {name: topic for name, topic in topics.items() if pattern.fullmatch(name) and not topic.is_internal}
        topics |= {name: _not_listed(name) for name in known if pattern.fullmatch(name) and name not in topics}
    described = _existing(cluster, topics, known, deadline)
    existing = {name: topic for name, topic in sorted(described.items()) if not topic.error_code}
    partitions = [
        TopicPartition(name, number)
        for name, topic in existing.items()
        for number in sorted(partition.partition_index for partition in topic.partitions)
        if options.assigned is None or (name, number) in options.assigned
    ]
    absent = sorted((options.assigned or frozenset()) - set(partitions))
    problems = [f"assign: there is no partition {topic}:{number}" for topic, number in absent if topic in existing]
    if problems:
        raise ConfigError(problems)
    topic_ids = {name: uuid_text(topic.topic_id) for name, topic in existing.items()}
    return SelectedPartitions(topic_ids=topic_ids, partitions=partitions)


def require_topics(cluster: Cluster, topics: Collection[str], deadline: Deadline) -> None:
    """Raise ConfigError for topics that do not exist; afterwards the cluster knows the leaders of the others."""
    answer = cluster.refresh(topics, deadline)
    _existing(cluster, {topic.name: topic for topic in answer.topics if topic.name is not None}, (), deadline)


def _not_listed(name: str) -> MetadataTopic:
    return MetadataTopic(
        error_code=UNKNOWN_TOPIC_OR_PARTITION, name=name, topic_id=NO_ID, is_internal=False, partitions=()
    )


def _existing(
    cluster: Cluster, topics: Mapping[str, MetadataTopic], known: Collection[str], deadline: Deadline
) -> Mapping[str, MetadataTopic]:
    """The descriptions; a topic that is denied is described by another broker, or denied by all.

    A broker learns a new topic late, and one that has just started knows none. ConfigError names unknown topics that are not
    `known`. BrokerError for any other error, and if a topic may exist because not all brokers have answered.
    """
    believed = believed_topics(cluster, topics, {}, deadline)
    for name, said in believed.unconfirmed.items():
        code, reason = UNKNOWN_TOPIC_OR_PARTITION, f"not all brokers have answered: {said}"
        raise BrokerError(code, error_code(code).name, METADATA.name, f"topic {name}", reason)
    topics = believed.topics
    failing = {name: topic.error_code for name, topic in topics.items() if topic.error_code}
    others = {name: code for name, code in failing.items() if code != UNKNOWN_TOPIC_OR_PARTITION}
    for name, code in others.items():
        raise BrokerError(code, error_code(code).name, METADATA.name, f"topic {name}")
    unknown = failing.keys() - set(known)
    if unknown:
        everything = cluster.refresh(None, deadline)
        names = [topic.name for topic in everything.topics if topic.name is not None]
        hints = [did_you_mean(name, names) for name in sorted(unknown)[:_MOST_HINTS]]
        raise ConfigError(
            [f"there is no topic {name}{hint}" for name, hint in zip_longest(sorted(unknown), hints, fillvalue="")]
        )
    return topics


def require_fitting(specs: OffsetSpecs, selected: SelectedPartitions) -> None:
    """Raise ConfigError if specs name other partitions than those that are read, or omit some of them."""
    problems = specs.problems(selected.partitions, selected.topic_ids)
    if problems:
        raise ConfigError(problems)


def log_bounds(
    cluster: Cluster, partitions: Sequence[TopicPartition], isolation_level: str, deadline: Deadline
) -> Mapping[TopicPartition, LogBounds]:
    """The current start and end of every log."""
    logs, failures = ask_log_bounds(cluster, partitions, isolation_level, deadline)
    refuse_failures(failures.values())
    return logs


def refuse_failures(failures: Iterable[Failure]) -> None:
    """Raise the first failure: a query reads all partitions or none."""
    for failure in failures:
        code = _NO_CODE if failure.code is None else failure.code
        raise BrokerError(code, failure.name, failure.api, str(failure.scope), failure.message)


def starting_offsets(
    cluster: Cluster,
    options: SourceOptions,
    specs: OffsetSpecs,
    logs: Mapping[TopicPartition, LogBounds],
    deadline: Deadline,
) -> Mapping[TopicPartition, int]:
    """The start offset of each log. ConfigError for times that no record has reached, unless the options accept that."""
    resolved = _resolved(cluster, options, specs, logs, deadline)
    if resolved.without_record and not options.latest_if_no_record:
        cure = "startingOffsetsByTimestampStrategy=latest starts at the end there"
        raise ConfigError(
            [
                f"{specs.name}: {topic}:{number} has no record as late as {time_ms}; {cure}"
                for (topic, number), time_ms in sorted(resolved.without_record.items())
            ]
        )
    return resolved.offsets


def _resolved(
    cluster: Cluster,
    options: SourceOptions,
    specs: OffsetSpecs,
    logs: Mapping[TopicPartition, LogBounds],
    deadline: Deadline,
) -> ResolvedOffsets:
    """The offsets of the specs, if all are in their logs. A start may be in an open transaction, where an end would be cut."""
    resolved = resolve(cluster, specs, logs, deadline)
    refuse_failures(resolved.failures.values())
    is_end = specs is options.end
    lasts = {one: logs[one].end if is_end else logs[one].high_watermark for one in resolved.outside}
    lines = [
        f"{specs.name}: {partition.topic}:{partition.partition} has offsets {logs[partition].log_start_offset} "
        f"to {lasts[partition]}, not {offset}"
        for partition, offset in resolved.outside.items()
        if not logs[partition].log_start_offset <= offset <= lasts[partition]
    ]
    lose(options, lines)
    return resolved


def lose(options: SourceOptions, lines: Sequence[str]) -> None:
    """Report offsets that cannot be read: an error, or events where loss is accepted."""
    if lines and options.fail_on_data_loss:
        raise RecordsError(LOST, f"{'; '.join(lines)}; failOnDataLoss=false reads what is there")
    for line in lines:
        log.error("data_loss", detail=line)


def _range(partition: TopicPartition, topic_id: str | None, start: int, end: int, bounds: LogBounds) -> PlannedRange:
    return PlannedRange(
        topic=partition.topic,
        topic_id=topic_id,
        partition=partition.partition,
        from_offset=max(start, bounds.log_start_offset),
        to_offset=min(end, bounds.end),
        log_start_offset=bounds.log_start_offset,
        stable_end=bounds.last_stable_offset,
    )


def _narrowed(
    cluster: Cluster, ranges: Sequence[PlannedRange], pushed: Pushed, deadline: Deadline
) -> list[PlannedRange]:
    """The ranges without offsets that no filter accepts.

    Their ends are known before times are looked up, so that records written in between are after them.
    """
    narrow = []
    starts = _offsets_of_times(cluster, ranges, pushed, deadline)
    for planned in ranges:
        end = planned.to_offset if pushed.to_offset is None else min(planned.to_offset, pushed.to_offset)
        begin = starts.get(planned.topic_partition, planned.from_offset)
        start = max(planned.from_offset, pushed.from_offset, end if begin < 0 else begin)
        if start < end:
            narrow.append(replace(planned, from_offset=start, to_offset=end))
    return narrow


def _offsets_of_times(
    cluster: Cluster, ranges: Sequence[PlannedRange], pushed: Pushed, deadline: Deadline
) -> dict[TopicPartition, int]:
    """The first offset that is as late as the filters require, -1 if there is none; all before it are older.

    Partitions whose log has records without timestamps (message format 0) are left out.
    """
    if pushed.from_ms is None or not ranges:
        return {}
    partitions = [planned.topic_partition for planned in ranges]
    gathered = offsets_at(cluster, dict.fromkeys(partitions, pushed.from_ms), deadline)
    refuse_failures(one for one in gathered.failures.values() if one.code != UNSUPPORTED_FOR_MESSAGE_FORMAT)
    return {partition: answer.offset for partition, answer in gathered.answers.items()}


def tasks(
    cluster: Cluster,
    ranges: Sequence[PlannedRange],
    logs: Mapping[TopicPartition, LogBounds],
    options: SourceOptions,
    deadline: Deadline,
) -> list[Task]:
    """Splits of about even bytes, about as many as partitions: small partitions share a split and large ones have several."""
    sizes = range_bytes(cluster, ranges, logs, deadline)
    most = _TASK_BYTES
    if options.min_partitions:
        most = max(1, min(most, sum(sizes.values()) // options.min_partitions))
    parallelism = max(len(ranges), options.min_partitions or 0)
    divided = divide(ranges, lambda planned: sizes[planned.topic_partition], parallelism, most)
    if options.max_records_per_partition is not None:
        divided = [short for task in divided for short in _short(task, options.max_records_per_partition)]
    return with_last_epochs(cluster, divided, deadline)


def _short(task: Task, most: int) -> list[Task]:
    """Divide a task into several of at most `limit` offsets."""
    return [
        Task(splits=(_part(split, start, min(start + most, split.to_offset)),))
        for split in task.splits
        for start in range(split.from_offset, split.to_offset, most)
    ]


def _part(split: Split, start: int, end: int) -> Split:
    continues = split.continues or start > split.from_offset
    return replace(split, from_offset=start, to_offset=end, continues=continues)
