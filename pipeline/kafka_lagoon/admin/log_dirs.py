"""Describes the log directories of brokers (DescribeLogDirs, KIP-113): needs DESCRIBE on the cluster.

An answer without directories is CLUSTER_AUTHORIZATION_FAILED: up to v2 brokers have no other way to refuse.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from kafka_lagoon.client.cluster import Cluster, TopicPartition
from kafka_lagoon.client.failures import Failure, Scope, failure_of
from kafka_lagoon.client.routes import ByBroker, ByLeader
from kafka_lagoon.client.routing import Gathered, ShardedRequest, gather
from kafka_lagoon.clock import Deadline
from kafka_lagoon.protocol.error_codes import CLUSTER_AUTHORIZATION_FAILED, LOG_DIR_NOT_FOUND
from kafka_lagoon.protocol.messages.describe_log_dirs import (
    DESCRIBE_LOG_DIRS,
    DescribableLogDirTopic,
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
)

Sizes = Gathered[TopicPartition, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class LogDirs:
    """Answers by broker, in the order of their ids; failures of brokers and of single directories."""

    answers: Mapping[int, DescribeLogDirsResponse]
    failures: Sequence[Failure]


def describe_log_dirs(cluster: Cluster, broker_ids: Sequence[int], deadline: Deadline) -> LogDirs:
    """All log directories of these brokers, with all their replicas."""
    sharded = ShardedRequest(
        api=DESCRIBE_LOG_DIRS,
        items=broker_ids,
        build=lambda _: DescribeLogDirsRequest(topics=None),
        read=lambda response, items: [(items[0], _refusal(response), response)],
        chunk=1,
    )
    gathered: Gathered[int, DescribeLogDirsResponse] = gather(cluster, ByBroker(cluster), [sharded], deadline)[0]
    answers = dict(sorted(gathered.answers.items()))
    return LogDirs(answers=answers, failures=[*gathered.failures.values(), *_broken_directories(answers)])


def _broken_directories(answers: Mapping[int, DescribeLogDirsResponse]) -> Iterator[Failure]:
    for broker_id, response in answers.items():
        for log_dir in response.results:
            if log_dir.error_code:
                scope = Scope.of_log_dir(broker_id, log_dir.log_dir)
                yield failure_of(DESCRIBE_LOG_DIRS, scope, log_dir.error_code, node_id=broker_id)


def replica_sizes(cluster: Cluster, partitions: Sequence[TopicPartition], deadline: Deadline) -> Sizes:
    """Bytes of each partition's log on its leader's disk."""

    def build(items: Sequence[TopicPartition]) -> DescribeLogDirsRequest:
        topics: dict[str, list[int]] = {}
        for item in items:
            topics.setdefault(item.topic, []).append(item.partition)
        wanted = (DescribableLogDirTopic(topic=name, partitions=tuple(some)) for name, some in topics.items())
        return DescribeLogDirsRequest(topics=tuple(wanted))

    sharded = ShardedRequest(api=DESCRIBE_LOG_DIRS, items=list(partitions), build=build, read=_read_sizes)
    return gather(cluster, ByLeader(cluster), [sharded], deadline)[0]


def _read_sizes(
    response: DescribeLogDirsResponse, items: Sequence[TopicPartition]
) -> Iterator[tuple[TopicPartition, int, int | None]]:
    """Every item has an answer: one that is left out would be requested again, and sizes are not worth that."""
    sizes = {
        TopicPartition(topic.name, replica.partition_index): replica.partition_size
        for log_dir in response.results
        for topic in log_dir.topics
        for replica in topic.partitions
        if not replica.is_future_key
    }
    absent = _refusal(response) or LOG_DIR_NOT_FOUND
    for item in items:
        yield item, 0 if item in sizes else absent, sizes.get(item)


def _refusal(response: DescribeLogDirsResponse) -> int:
    return response.error_code or (0 if response.results else CLUSTER_AUTHORIZATION_FAILED)
