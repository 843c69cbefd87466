"""Brokers in, their disks and the replicas on them out.

Guards one rule: an empty list is not taken for an empty disk. Up to v2 that is how a missing right looks.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from kafka_lagoon.admin.offsets import log_dirs_refusal
from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.client.failures import Failure, Scope, failure_of
from kafka_lagoon.client.routes import ByBroker
from kafka_lagoon.client.routing import Gathered, ShardedRequest, gather
from kafka_lagoon.clock import Deadline
from kafka_lagoon.protocol.error_codes import error_code
from kafka_lagoon.protocol.messages.describe_log_dirs import (
    DESCRIBE_LOG_DIRS,
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
    DescribeLogDirsResult,
)
from kafka_lagoon.row_classes import Int32, Int64, before, column, row

LogDirs = Gathered[int, DescribeLogDirsResponse]


@row
class LogDirRow:
    """Log directories, one row per broker and directory."""

    broker_id: Int32 = column("node.id of the broker.")
    log_dir: str = column("Path of the directory on the broker.")
    total_bytes: Int64 | None = column(
        "Size of its volume; null if the broker is too old to tell (KIP-827).", null_if=before("DescribeLogDirs", 4)
    )
    usable_bytes: Int64 | None = column(
        "What is free of it; null if the broker is too old to tell.", null_if=before("DescribeLogDirs", 4)
    )
    replicas: Int32 | None = column("Replicas in it; null if problem is set.")
    size_bytes: Int64 | None = column("Their bytes; null if problem is set.")
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
    offset_lag: Int64 = column("How far it is behind the high watermark, or behind the replica that it will replace.")
    is_future: bool = column("Whether it will replace the replica in another directory of the broker.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Disks:
    """Brokers' answers by broker, and what could not be read."""

    answers: dict[int, DescribeLogDirsResponse]
    failures: Sequence[Failure]


def describe_log_dirs(cluster: Cluster, broker_ids: Sequence[int], deadline: Deadline) -> Disks:
    """All directories of these brokers. Needs the right to describe the cluster."""
    sharded = ShardedRequest(
        api=DESCRIBE_LOG_DIRS,
        items=broker_ids,
        build=lambda _: DescribeLogDirsRequest(topics=None),
        read=lambda response, items: [(items[0], log_dirs_refusal(response), response)],
        chunk=1,
    )
    found: LogDirs = gather(cluster, ByBroker(cluster), [sharded], deadline)[0]
    broken = [
        failure_of(DESCRIBE_LOG_DIRS, Scope.of_log_dir(broker_id, one.log_dir), one.error_code, node_id=broker_id)
        for broker_id, answer in found.answers.items()
        for one in answer.results
        if one.error_code
    ]
    return Disks(answers=dict(sorted(found.answers.items())), failures=[*found.failures.values(), *broken])


def log_dir_rows(disks: Disks) -> Iterator[LogDirRow]:
    """One row per directory."""
    for broker_id, answer in disks.answers.items():
        for one in sorted(answer.results, key=lambda result: result.log_dir):
            yield _log_dir(broker_id, one)


def _log_dir(broker_id: int, one: DescribeLogDirsResult) -> LogDirRow:
    sizes = [replica.partition_size for topic in one.topics for replica in topic.partitions]
    return LogDirRow(
        broker_id=broker_id,
        log_dir=one.log_dir,
        total_bytes=one.total_bytes if one.total_bytes >= 0 else None,
        usable_bytes=one.usable_bytes if one.usable_bytes >= 0 else None,
        replicas=None if one.error_code else len(sizes),
        size_bytes=None if one.error_code else sum(sizes),
        is_cordoned=None if one.error_code else one.is_cordoned,
        problem=error_code(one.error_code).name if one.error_code else None,
    )


def replica_rows(disks: Disks) -> Iterator[ReplicaRow]:
    """One row per replica, by broker, directory, topic and partition."""
    for broker_id, answer in disks.answers.items():
        for one in sorted(answer.results, key=lambda result: result.log_dir):
            for topic in sorted(one.topics, key=lambda some: some.name):
                for replica in sorted(topic.partitions, key=lambda some: some.partition_index):
                    yield ReplicaRow(
                        broker_id=broker_id,
                        log_dir=one.log_dir,
                        topic=topic.name,
                        partition=replica.partition_index,
                        size_bytes=replica.partition_size,
                        offset_lag=replica.offset_lag,
                        is_future=replica.is_future_key,
                    )
