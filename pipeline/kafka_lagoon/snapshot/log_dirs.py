"""Makes rows of log directories and of the replicas in them."""

from collections.abc import Iterator, Mapping

from kafka_lagoon.protocol.error_codes import error_code
from kafka_lagoon.protocol.messages.describe_log_dirs import DescribeLogDirsResponse, DescribeLogDirsResult
from kafka_lagoon.row_classes import Int32, Int64, before, column, row


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
