"""Describes the log directories of brokers, and moves replicas between them (KIP-113).

Needs DESCRIBE on the cluster, and ALTER to move. An answer without directories is CLUSTER_AUTHORIZATION_FAILED: up to v2
brokers have no other way to refuse.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from kafka_lagoon.admin.repeated_items import names_any_twice
from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.client.failures import Failure, Scope, failure_of
from kafka_lagoon.client.routes import ByBroker, ByLeader
from kafka_lagoon.client.routing import Gathered, ShardedRequest, gather
from kafka_lagoon.clock import Deadline
from kafka_lagoon.errors import Contradiction
from kafka_lagoon.frozen import frozen
from kafka_lagoon.protocol.error_codes import (
    CLUSTER_AUTHORIZATION_FAILED,
    KAFKA_STORAGE_ERROR,
    LOG_DIR_NOT_FOUND,
    REPLICA_NOT_AVAILABLE,
)
from kafka_lagoon.protocol.messages.alter_replica_log_dirs import (
    ALTER_REPLICA_LOG_DIRS,
    AlterReplicaLogDir,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirsResponse,
    AlterReplicaLogDirTopic,
)
from kafka_lagoon.protocol.messages.describe_log_dirs import (
    DESCRIBE_LOG_DIRS,
    DescribableLogDirTopic,
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
    DescribeLogDirsTopic,
)
from kafka_lagoon.topic_partition import TopicPartition
from kafka_lagoon.wire.columns import by_column

Sizes = Gathered[TopicPartition, int]


class Replica(NamedTuple):
    """A partition's replica on one broker."""

    topic: str
    partition: int
    broker_id: int


@frozen
class ReplicaPlace:
    """The directory of a replica, and the directory that it is being moved to; None where there is none."""

    log_dir: str | None
    future_log_dir: str | None


@frozen
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
        read=lambda response, items: [
            (items[0], _refusal(response) or (Contradiction() if _contradicts_itself(response) else 0), response)
        ],
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
    sharded = ShardedRequest(api=DESCRIBE_LOG_DIRS, items=list(partitions), build=_of_partitions, read=_read_sizes)
    return gather(cluster, ByLeader(cluster), [sharded], deadline)[0]


def _of_partitions(items: Sequence[TopicPartition | Replica]) -> DescribeLogDirsRequest:
    topics: dict[str, list[int]] = {}
    for item in items:
        topics.setdefault(item.topic, []).append(item.partition)
    wanted = (DescribableLogDirTopic(topic=name, partitions=tuple(some)) for name, some in topics.items())
    return DescribeLogDirsRequest(topics=tuple(wanted))


def _read_sizes(
    response: DescribeLogDirsResponse, items: Sequence[TopicPartition]
) -> Iterator[tuple[TopicPartition, int, int | None]]:
    """Every item has an answer: an omitted item would be requested again, and sizes are not worth that."""
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


def _contradicts_itself(response: DescribeLogDirsResponse) -> bool:
    """True if a directory, or a replica in it, is listed twice."""
    several = [by_column(log_dir.topics, DescribeLogDirsTopic) for log_dir in response.results]
    is_repeated = len({log_dir.log_dir for log_dir in response.results}) < len(response.results)
    return is_repeated or any(names_any_twice(topics, [len(topics)], "is_future_key") for topics in several)


class _ByReplica:
    """Routes to the brokers that have the replicas."""

    unroutable_code, unroutable_rounds = ByBroker.unroutable_code, ByBroker.unroutable_rounds

    def __init__(self, cluster: Cluster) -> None:
        self._brokers = ByBroker(cluster)

    def node_of(self, item: Replica) -> int | None:
        """The broker, while it is in the metadata."""
        return self._brokers.node_of(item.broker_id)

    def scope_of(self, item: Replica) -> Scope:
        """The partition, and the broker of its replica."""
        return Scope.of_partition(item.topic, item.partition, f"on broker {item.broker_id}")

    def refresh(self, items: Sequence[Replica], deadline: Deadline) -> Mapping[Any, Failure]:
        """Ask for the brokers that exist now."""
        return self._brokers.refresh([item.broker_id for item in items], deadline)


def replica_places(
    cluster: Cluster, replicas: Sequence[Replica], deadline: Deadline
) -> Gathered[Replica, ReplicaPlace]:
    """The directory of each of these replicas, from its broker; LOG_DIR_NOT_FOUND where the broker does not have it."""
    sharded = ShardedRequest(api=DESCRIBE_LOG_DIRS, items=list(replicas), build=_of_partitions, read=_read_places)
    return gather(cluster, _ByReplica(cluster), [sharded], deadline)[0]


def _read_places(
    response: DescribeLogDirsResponse, items: Sequence[Replica]
) -> Iterator[tuple[Replica, int, ReplicaPlace | None]]:
    places = {
        (topic.name, replica.partition_index, replica.is_future_key): log_dir.log_dir
        for log_dir in response.results
        for topic in log_dir.topics
        for replica in topic.partitions
    }
    absent = _refusal(response) or LOG_DIR_NOT_FOUND
    for item in items:
        log_dir, future = (places.get((item.topic, item.partition, is_future)) for is_future in (False, True))
        if log_dir is None and future is None:
            yield item, absent, None
        else:
            yield item, 0, ReplicaPlace(log_dir=log_dir, future_log_dir=future)


def move_replicas(cluster: Cluster, targets: Mapping[Replica, str], deadline: Deadline) -> Mapping[Replica, Failure]:
    """Begin to move replicas to other directories of their brokers, and return the failures.

    A move is complete once the copy has caught up and taken over; a second request cancels it or changes the target.
    """

    def build(items: Sequence[Replica]) -> AlterReplicaLogDirsRequest:
        paths: dict[str, dict[str, list[int]]] = {}
        for item in items:
            paths.setdefault(targets[item], {}).setdefault(item.topic, []).append(item.partition)
        return AlterReplicaLogDirsRequest(
            dirs=tuple(
                AlterReplicaLogDir(
                    path=path,
                    topics=tuple(
                        AlterReplicaLogDirTopic(name=name, partitions=tuple(some)) for name, some in topics.items()
                    ),
                )
                for path, topics in paths.items()
            )
        )

    sharded: ShardedRequest[Replica, None] = ShardedRequest(
        api=ALTER_REPLICA_LOG_DIRS,
        items=list(targets),
        build=build,
        read=_read_moved,
        once=False,  # the target is absolute, so a second request has the same effect
        final=frozenset({REPLICA_NOT_AVAILABLE, KAFKA_STORAGE_ERROR}),
    )
    return gather(cluster, _ByReplica(cluster), [sharded], deadline)[0].failures


def _read_moved(response: AlterReplicaLogDirsResponse, items: Sequence[Replica]) -> Iterator[tuple[Replica, int, None]]:
    broker_id = items[0].broker_id  # that of all of them, because a request is about the replicas of one broker
    for topic in response.results:
        for result in topic.partitions:
            yield Replica(topic.topic_name, result.partition_index, broker_id), result.error_code, None
