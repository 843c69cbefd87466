"""Describes the topics that a restore writes to, and finds what would clash or change there.

Clashes that only the user can decide name the option that allows them.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from datetime import UTC, datetime, timedelta

from kafka_lagoon.admin.config_values import ConfigResource, Values, config_values
from kafka_lagoon.admin.topics import describe_topics
from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.client.failures import Failure, Scope, own_failure
from kafka_lagoon.client.metadata_checks import NOT_RETURNED
from kafka_lagoon.clock import Deadline
from kafka_lagoon.fetch.log_bounds import ask_log_bounds
from kafka_lagoon.fetch.ranges import LogBounds
from kafka_lagoon.fetch.split import READ_UNCOMMITTED
from kafka_lagoon.frozen import frozen
from kafka_lagoon.integers import MOST_INT64
from kafka_lagoon.protocol.messages.describe_configs import BROKER, DESCRIBE_CONFIGS, TOPIC
from kafka_lagoon.restore.archived import NO_ID, ArchivedTopic
from kafka_lagoon.restore.request import RestoreRequest
from kafka_lagoon.restore.survey import Times
from kafka_lagoon.topic_partition import TopicPartition
from kafka_lagoon.wire.primitives import uuid_text

MAX_BATCH_BYTES, TIMESTAMP_TYPE = "max.message.bytes", "message.timestamp.type"
_RETENTION_MS, _RETENTION_BYTES, _CLEANUP = "retention.ms", "retention.bytes", "cleanup.policy"
_BEFORE_MS, _AFTER_MS = "message.timestamp.before.max.ms", "message.timestamp.after.max.ms"
_BOTH_MS = "message.timestamp.difference.max.ms"  # before Kafka 3.6
# Configs of a topic that is created without any; brokers have them under other names.
_OF_BROKERS = {
    _RETENTION_MS: "log.retention.ms",
    _RETENTION_BYTES: "log.retention.bytes",
    _CLEANUP: "log.cleanup.policy",
    MAX_BATCH_BYTES: "message.max.bytes",
    TIMESTAMP_TYPE: "log.message.timestamp.type",
    _BEFORE_MS: "log.message.timestamp.before.max.ms",
    _AFTER_MS: "log.message.timestamp.after.max.ms",
    _BOTH_MS: "log.message.timestamp.difference.max.ms",
}
_RETENTION_UNITS = {"log.retention.minutes": 60_000, "log.retention.hours": 3_600_000}  # the first that is set counts
# Configs of topics that Kafka 4.0 removed (KIP-724, KIP-937), with the names that older brokers have for their own.
_REMOVED = {
    "message.format.version": "log.message.format.version",
    "message.downconversion.enable": "log.message.downconversion.enable",
    _BOTH_MS: _OF_BROKERS[_BOTH_MS],
}
_APPEND_TIME = "LogAppendTime"
_DEFAULT_MAX_BATCH_BYTES = 1_048_588
_FOREVER = MOST_INT64


@frozen
class TargetTopic:
    """A topic of the target. A topic that is still to be created has no id, no `logs`, and the configs that it will have."""

    name: str
    topic_id: str | None
    partitions: int
    logs: Mapping[int, LogBounds]
    configs: Mapping[str, str] = field(default_factory=dict)
    exists: bool = True

    @property
    def max_batch_bytes(self) -> int:
        """The largest batch that the topic accepts."""
        return int(self.configs.get(MAX_BATCH_BYTES, _DEFAULT_MAX_BATCH_BYTES))

    @property
    def full(self) -> Sequence[int]:
        """The partitions that have records."""
        return sorted(number for number, log in self.logs.items() if log.high_watermark > log.log_start_offset)

    @property
    def keeps_time(self) -> bool:
        """True if records keep the times that they come with."""
        return self.configs.get(TIMESTAMP_TYPE) != _APPEND_TIME


@frozen
class Verdict:
    """`faults` prevent a restore; `notes` are for the user."""

    faults: Sequence[str]
    notes: Sequence[str]


def describe_target(
    cluster: Cluster, names: Sequence[str], deadline: Deadline
) -> tuple[Mapping[str, TargetTopic | None], Sequence[Failure]]:
    """The topics with these names, None for one that does not exist; and failures."""
    described = describe_topics(cluster, names, deadline)
    failures = [topic for topic in described.values() if isinstance(topic, Failure)]
    topics = {name: topic for name, topic in described.items() if topic is not None and not isinstance(topic, Failure)}
    partitions = [
        TopicPartition(name, one.partition_index) for name, topic in topics.items() for one in topic.partitions
    ]
    logs, not_read = ask_log_bounds(cluster, partitions, READ_UNCOMMITTED, deadline) if partitions else ({}, {})
    resources = {name: ConfigResource(TOPIC, name) for name in topics}
    values = config_values(cluster, list(resources.values()), deadline) if resources else {}
    failures += [*not_read.values(), *(one for one in values.values() if isinstance(one, Failure))]
    results: dict[str, TargetTopic | None] = dict.fromkeys(names)
    for name, topic in topics.items():
        configs = values.get(resources[name])
        results[name] = TargetTopic(
            name=name,
            topic_id=uuid_text(topic.topic_id),
            partitions=len(topic.partitions),
            logs={
                one.partition_index: log
                for one in topic.partitions
                if (log := logs.get(TopicPartition(name, one.partition_index)))
            },
            configs={}
            if configs is None or isinstance(configs, Failure)
            else {
                key: value
                for key, one in configs.items()
                if (value := one.effective) is not None  # an empty cleanup.policy keeps everything (KIP-1161)
            },
        )
    return results, failures


def removed_configs(cluster: Cluster, deadline: Deadline) -> Sequence[str]:
    """The configs of topics that releases of Kafka have removed and that a broker lacks; none if it does not answer."""
    values = _broker_configs(cluster, deadline)
    return (
        [] if isinstance(values, Failure) else [name for name, of_broker in _REMOVED.items() if of_broker not in values]
    )


def default_configs(cluster: Cluster, deadline: Deadline) -> Mapping[str, str] | Failure:
    """The configs that a new topic has by default."""
    values = _broker_configs(cluster, deadline)
    if isinstance(values, Failure):
        return values
    effective = {name: _effective(values, of_broker) for name, of_broker in _OF_BROKERS.items()}
    return {name: value for name, value in effective.items() if value is not None}


def _broker_configs(cluster: Cluster, deadline: Deadline) -> Values | Failure:
    if not cluster.brokers:
        return own_failure(DESCRIBE_CONFIGS, Scope.cluster(), NOT_RETURNED, "no broker has an address that can be used")
    broker = ConfigResource(BROKER, str(min(cluster.brokers)))
    return config_values(cluster, [broker], deadline)[broker]


def _effective(values: Values, name: str) -> str | None:
    """The value of a config; log.retention.minutes, or else log.retention.hours, stands for log.retention.ms that is not set.

    Brokers name neither as a synonym then: of the synonyms they leave out those before the config itself.
    """
    value = values[name].effective if name in values else None
    if value is None and name == _OF_BROKERS[_RETENTION_MS]:
        for unit, factor in _RETENTION_UNITS.items():
            if unit in values and (count := values[unit].effective) is not None:
                return str(int(count) * factor)
    return value


def verdict(
    request: RestoreRequest,
    pairs: Sequence[tuple[ArchivedTopic, TargetTopic]],
    now_ms: int,
    times: Mapping[str, Times],
    earlier: Mapping[str, str],
) -> Verdict:
    """Find clashes and changes.

    `times` are those of the records by source topic, where known; `earlier` names the restore that wrote to a target before.
    """
    faults, notes = list[str](), list[str]()
    for source, target in pairs:
        faults += _clashes(request, source, target, earlier.get(target.name))
        changes = list(_changes(target, now_ms, times.get(source.topic)))
        if request.accept_changes:
            notes += changes
        else:
            faults += [f"{change} (--accept-changes goes on all the same)" for change in changes]
        faults += _refusals(target, now_ms, times.get(source.topic))
        notes += _remarks(source, target)
    return Verdict(faults=faults, notes=notes)


def is_about_times(target: TargetTopic, now_ms: int, times: Times) -> bool:
    """True if a target would refuse records for their times, or delete them soon."""
    if not target.keeps_time:
        return False
    return any([*_changes(target, now_ms, times), *_refusals(target, now_ms, times)])


def _clashes(request: RestoreRequest, source: ArchivedTopic, target: TargetTopic, earlier: str | None) -> Iterator[str]:
    """Conditions that prevent the restore."""
    highest = max(source.partitions, default=-1)
    if highest >= target.partitions:
        yield (
            f"topic {target.name} has {target.partitions} partitions, and partition {highest} of {source.topic} is to be "
            "restored: extend it, or restore under another name with --rename"
        )
    if target.full and not request.into_existing:
        has = f"topic {target.name} has records in {len(target.full)} of {target.partitions} partitions"
        if earlier:
            yield (
                f"{has}, and restore {earlier} wrote to it: the arguments of that restore go on with it, and say so where it "
                "has finished; --rename restores under another name; --into-existing would write again what is there"
            )
        else:
            yield (
                f"{has}: --rename restores under another name; --into-existing adds to them, and what is there already "
                "would be there twice"
            )


def _changes(target: TargetTopic, now_ms: int, times: Times | None) -> Iterator[str]:
    """Properties of records that would change."""
    if not target.keeps_time:
        yield (
            f"topic {target.name}: {TIMESTAMP_TYPE}={_APPEND_TIME} gives records the time of the restore instead of theirs"
        )
        return
    retention_ms = int(target.configs.get(_RETENTION_MS, -1))
    expires_ms = now_ms - retention_ms
    deletes = "delete" in target.configs.get(_CLEANUP, "delete") and retention_ms >= 0
    if deletes and times and times.oldest_ms < expires_ms:
        yield (
            f"topic {target.name}: {_RETENTION_MS}={retention_ms} deletes segments without a record after "
            f"{_spelled(expires_ms)}, and the oldest record is from {_spelled(times.oldest_ms)}"
        )


def _refusals(target: TargetTopic, now_ms: int, times: Times | None) -> Iterator[str]:
    """Batches that the brokers would refuse."""
    if not target.keeps_time or times is None:
        return
    for own_name, apart_ms, one_ms in (
        (_BEFORE_MS, now_ms - times.oldest_ms, times.oldest_ms),
        (_AFTER_MS, times.newest_ms - now_ms, times.newest_ms),
    ):
        name, limit_ms = own_name, int(target.configs.get(own_name, _FOREVER))
        if limit_ms == _FOREVER:  # brokers read the older config only then (LogConfig of Kafka 3.6 to 3.9)
            name, limit_ms = _BOTH_MS, int(target.configs.get(_BOTH_MS, _FOREVER))
        if apart_ms > limit_ms:
            yield (
                f"topic {target.name}: {name}={limit_ms} refuses records like the one from {_spelled(one_ms)}: set it to "
                f"{_FOREVER} until they are restored"
            )


def _remarks(source: ArchivedTopic, target: TargetTopic) -> Iterator[str]:
    """Notes for the user."""
    if source.other_ids:
        known = ", ".join(one or NO_ID for one in source.other_ids)
        yield f"topic {source.topic} was re-created: records under its other ids ({known}) are not restored (see --topic-id)"
    gone = {name: count for name, count in source.missing.items() if count}
    if gone:
        counts = ", ".join(f"{count:,} {name}" for name, count in gone.items())
        yield f"topic {source.topic}: the archive lacks offsets ({counts}), and so will {target.name}"
    if "compact" in target.configs.get(_CLEANUP, ""):
        yield (
            f"topic {target.name} is compacted: earlier records of a key, and tombstones, may go before they are read back, "
            "which the receipt then reports"
        )
    if int(target.configs.get(_RETENTION_BYTES, -1)) >= 0:
        yield f"topic {target.name}: {_RETENTION_BYTES}={target.configs[_RETENTION_BYTES]} may delete what is restored"


def _spelled(time_ms: int) -> str:
    """A time as text; one before the year 1 as a number."""
    try:
        return (datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=time_ms)).isoformat(timespec="seconds")
    except OverflowError:
        return f"{time_ms} ms"
