"""Makes rows of log directories and of the replicas in them."""

from collections.abc import Container, Iterator, Mapping

from kafka_lagoon.admin.log_dirs import describe_log_dirs
from kafka_lagoon.admin.permissions import Permission
from kafka_lagoon.protocol.acls import CLUSTER, DESCRIBE
from kafka_lagoon.protocol.error_codes import error_code
from kafka_lagoon.protocol.messages.describe_log_dirs import (
    DESCRIBE_LOG_DIRS,
    DescribeLogDirsResponse,
    DescribeLogDirsResult,
)
from kafka_lagoon.row_classes import ALWAYS, Int32, Int64, before, column, row
from kafka_lagoon.snapshot.state_table import Collected, Collection, Phase, StateTable

_WITH_CORDONS = 5  # version of DescribeLogDirs
_NO_REPLICA = (None, None, None, None, None)


# Topic, partition, size, lag, whether it is a future one.
_Replica = tuple[str, int, int, int, bool] | tuple[None, None, None, None, None]


@row
class LogDirRow:
    """Log directories, one row per broker and directory."""

    broker_id: Int32 = column("node.id of the broker.")
    log_dir: str = column("Path of the directory on the broker.")
    total_bytes: Int64 | None = column(
        "Size of its volume; null if the broker does not return it (KIP-827).", null_if=before("DescribeLogDirs", 4)
    )
    usable_bytes: Int64 | None = column(
        "Free bytes of its volume; null if the broker does not return them.", null_if=before("DescribeLogDirs", 4)
    )
    replicas: Int32 | None = column("Replicas in it; null if problem is set.")
    size_bytes: Int64 | None = column("Bytes of these replicas; null if problem is set.")
    is_cordoned: bool | None = column("Whether it takes no new replicas (KIP-1066); null if problem is set.")
    problem: str | None = column("Kafka's name of the directory's error; null if there is none.")


@row
class ReplicaRow:
    """Replicas on disk, one row per broker, directory and partition."""

    broker_id: Int32 = column("node.id of the broker.")
    log_dir: str = column("Path of the directory on the broker.")
    topic: str = column("Name of the topic.")
    partition: Int32 = column("Partition number.")
    size_bytes: Int64 = column("Bytes of this replica on disk.")
    offset_lag: Int64 = column(
        "Offsets from its end to the high watermark, or to the end of the replica that it will replace."
    )
    is_future: bool = column("Whether it will replace the replica in another directory of the broker.")


@row
class StoredReplicaRow:
    """Replicas on the disks of brokers, one row per broker, log directory, replica and snapshot.

    A directory without replicas, or one that failed, has one row without a topic.
    """

    broker_id: Int32 = column("node.id of the broker.")
    log_dir: str = column("Path of the directory on the broker.")
    topic: str | None = column(
        "Name of the topic; null if the directory has no replicas, or has failed.", null_if=ALWAYS
    )
    topic_id: str | None = column(
        "Id of the topic; null if brokers give no ids, if the topic is not in table topics (deleted meanwhile, or what is "
        "left of it), or without a topic.",
        null_if="topic IS NULL OR topic NOT IN (SELECT topics.topic FROM topics WHERE topics.topic_id IS NOT NULL)",
    )
    partition: Int32 | None = column("Partition number; null without a topic.", null_if="topic IS NULL")
    size_bytes: Int64 | None = column(
        "Bytes of this replica on disk, without remote storage; null without a topic.", null_if="topic IS NULL"
    )
    offset_lag: Int64 | None = column(
        "Offsets from its end to the high watermark, or to the end of the replica that it will replace; null without a "
        "topic.",
        null_if="topic IS NULL",
    )
    is_future: bool | None = column(
        "Whether it will replace the replica in another directory of the broker; null without a topic.",
        null_if="topic IS NULL",
    )
    total_bytes: Int64 | None = column(
        "Size of the directory's volume; null before Kafka 3.3.", null_if=before("DescribeLogDirs", 4)
    )
    usable_bytes: Int64 | None = column(
        "Free bytes of the directory's volume; null before Kafka 3.3.", null_if=before("DescribeLogDirs", 4)
    )
    is_cordoned: bool | None = column(
        "Whether the directory takes no new replicas (KIP-1066); null if the broker does not return it.",
        null_if=before("DescribeLogDirs", 5),
    )
    problem: str | None = column("Kafka's name of the directory's error; null if there is none.")


def log_dir_rows(answers: Mapping[int, DescribeLogDirsResponse]) -> Iterator[LogDirRow]:
    """One row per directory, ordered by broker and path; answers are by broker."""
    for broker_id, log_dir in _log_dirs(answers):
        yield _log_dir_row(broker_id, log_dir)


def _log_dir_row(broker_id: int, log_dir: DescribeLogDirsResult) -> LogDirRow:
    sizes = [replica.partition_size for topic in log_dir.topics for replica in topic.partitions]
    return LogDirRow(
        broker_id=broker_id,
        log_dir=log_dir.log_dir,
        total_bytes=log_dir.total_bytes if log_dir.total_bytes >= 0 else None,
        usable_bytes=log_dir.usable_bytes if log_dir.usable_bytes >= 0 else None,
        replicas=None if log_dir.error_code else len(sizes),
        size_bytes=None if log_dir.error_code else sum(sizes),
        is_cordoned=None if log_dir.error_code else log_dir.is_cordoned,
        problem=error_code(log_dir.error_code).name if log_dir.error_code else None,
    )


def replica_rows(answers: Mapping[int, DescribeLogDirsResponse]) -> Iterator[ReplicaRow]:
    """One row per replica, ordered by broker, directory, topic and partition; answers are by broker."""
    for broker_id, log_dir in _log_dirs(answers):
        for topic in sorted(log_dir.topics, key=lambda some: some.name):
            for replica in sorted(topic.partitions, key=lambda some: some.partition_index):
                yield ReplicaRow(
                    broker_id=broker_id,
                    log_dir=log_dir.log_dir,
                    topic=topic.name,
                    partition=replica.partition_index,
                    size_bytes=replica.partition_size,
                    offset_lag=replica.offset_lag,
                    is_future=replica.is_future_key,
                )


def _log_dirs(answers: Mapping[int, DescribeLogDirsResponse]) -> Iterator[tuple[int, DescribeLogDirsResult]]:
    for broker_id, response in sorted(answers.items()):
        for log_dir in sorted(response.results, key=lambda result: result.log_dir):
            yield broker_id, log_dir


def stored_replica_rows(
    answers: Mapping[int, DescribeLogDirsResponse], topic_ids: Mapping[str, str | None], cordons: Container[int]
) -> Iterator[StoredReplicaRow]:
    """One row per replica, and one per directory without any, ordered by broker, directory, topic and partition.

    Answers are by broker; `cordons` are the brokers that say whether a directory is cordoned.
    """
    for broker_id, log_dir in _log_dirs(answers):
        replicas: list[_Replica] = sorted(
            (topic.name, replica.partition_index, replica.partition_size, replica.offset_lag, replica.is_future_key)
            for topic in log_dir.topics
            for replica in topic.partitions
        )
        for topic, partition, size_bytes, offset_lag, is_future in replicas or [_NO_REPLICA]:
            yield StoredReplicaRow(
                broker_id=broker_id,
                log_dir=log_dir.log_dir,
                topic=topic,
                topic_id=topic_ids.get(topic) if topic is not None else None,
                partition=partition,
                size_bytes=size_bytes,
                offset_lag=offset_lag,
                is_future=is_future,
                total_bytes=_known(log_dir.total_bytes),
                usable_bytes=_known(log_dir.usable_bytes),
                is_cordoned=log_dir.is_cordoned if broker_id in cordons and not log_dir.error_code else None,
                problem=error_code(log_dir.error_code).name if log_dir.error_code else None,
            )


def _known(size: int) -> int | None:
    return size if size >= 0 else None


def _collect(collection: Collection) -> Collected:
    log_dirs = describe_log_dirs(collection.cluster, sorted(collection.cluster.brokers), collection.deadline)
    rows = stored_replica_rows(log_dirs.answers, collection.topology.topic_ids, _with_cordons(collection))
    return Collected(list(rows), log_dirs.failures)


def _with_cordons(collection: Collection) -> frozenset[int]:
    stats = collection.cluster.request_stats.by_api
    return frozenset(
        broker_id
        for (api, broker_id), asked in stats.items()
        if api == DESCRIBE_LOG_DIRS.name and broker_id is not None and (asked.api_version or 0) >= _WITH_CORDONS
    )


LOG_DIRS = StateTable(
    name="log_dirs",
    row=StoredReplicaRow,
    phase=Phase.DETAILS,
    collect=_collect,
    apis=(DESCRIBE_LOG_DIRS,),
    permissions=(Permission(DESCRIBE, CLUSTER, "the log directories are refused"),),
    required=False,
    may_be_skipped=True,
    added_in="0.2.0",
)
