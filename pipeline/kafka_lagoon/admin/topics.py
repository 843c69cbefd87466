"""Describes, creates, extends and deletes topics, and deletes records of partitions (CreateTopics, DeleteRecords, ...).

Success means that the controller has decided; other brokers may have older metadata for a moment. After a timeout the request
may have been carried out or not: callers describe the topic before they decide.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from kafka_lagoon.client.agreement import agreed_metadata
from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.client.failures import Failure, Scope, failure_of
from kafka_lagoon.client.routes import ByController, ByLeader
from kafka_lagoon.client.routing import ShardedRequest, gather
from kafka_lagoon.clock import Deadline
from kafka_lagoon.errors import PipelineError
from kafka_lagoon.protocol.error_codes import UNKNOWN_TOPIC_OR_PARTITION
from kafka_lagoon.protocol.messages.create_partitions import (
    CREATE_PARTITIONS,
    CreatePartitionsRequest,
    CreatePartitionsTopic,
)
from kafka_lagoon.protocol.messages.create_topics import CREATE_TOPICS, CreatableTopic, CreateTopicsRequest
from kafka_lagoon.protocol.messages.delete_records import (
    DELETE_RECORDS,
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteRecordsTopic,
)
from kafka_lagoon.protocol.messages.delete_topics import (
    DELETE_TOPICS,
    DeleteTopicsRequest,
    DeleteTopicState,
)
from kafka_lagoon.protocol.messages.metadata import METADATA, MetadataTopic
from kafka_lagoon.topic_partition import TopicPartition
from kafka_lagoon.wire.primitives import uuid_bytes
from kafka_lagoon.wire.schema import LATEST, Versions

_BY_ID, _BY_NAME = Versions(6, LATEST), Versions(0, 5)  # KIP-516: of DeleteTopics
_RECORDS = 5_000  # of the metadata log that a request may cause; the controller refuses more than 10,000 (KAFKA-14996)
_TOPICS = 1_000  # in one request that deletes


def describe_topics(
    cluster: Cluster, names: Sequence[str], deadline: Deadline
) -> Mapping[str, MetadataTopic | Failure | None]:
    """The topics of these names, None for a topic that does not exist; the cluster learns their leaders.

    Two brokers describe them, and a third one where they differ.
    """
    if not names:
        return {}
    try:
        topics = agreed_metadata(cluster, set(names), deadline).topics
    except PipelineError as error:
        return {name: failure_of(METADATA, Scope.of_topic(name), error) for name in names}
    return {topic.name: _described(topic) for topic in topics if topic.name is not None}


def _described(topic: MetadataTopic) -> MetadataTopic | Failure | None:
    if topic.error_code == UNKNOWN_TOPIC_OR_PARTITION:
        return None
    if topic.error_code:
        return failure_of(METADATA, Scope.of_topic(topic.name), topic.error_code)
    return topic


def create_topics(
    cluster: Cluster, topics: Sequence[CreatableTopic], deadline: Deadline, *, validate_only: bool = False
) -> Mapping[str, Failure]:
    """Create topics, and return the failures. With `validate_only` brokers check, and create nothing."""
    by_name = {topic.name: topic for topic in topics}
    most = max((topic.num_partitions + len(topic.assignments) + len(topic.configs) for topic in topics), default=0)
    timeout_ms = cluster.settings.request_timeout_ms
    sharded: ShardedRequest[str, None] = ShardedRequest(
        api=CREATE_TOPICS,
        items=list(by_name),
        build=lambda names: CreateTopicsRequest(
            topics=tuple(by_name[name] for name in names), timeout_ms=timeout_ms, validate_only=validate_only
        ),
        read=lambda response, _: [
            (topic.name, topic.error_code, None, topic.error_message) for topic in response.topics
        ],
        chunk=_chunk(most),
        within=Versions(1, LATEST) if validate_only else None,  # v0 would create them
        once=not validate_only,
    )
    return gather(cluster, ByController(cluster, Scope.of_topic), [sharded], deadline)[0].failures


def _chunk(records_each: int) -> int:
    return max(1, _RECORDS // max(1, records_each))


def delete_topics(cluster: Cluster, topics: Mapping[str, str | None], deadline: Deadline) -> Mapping[str, Failure]:
    """Delete topics by name and id, and return the failures; with the id, a topic re-created meanwhile is safe.

    The id is None where brokers give none (before Kafka 2.8).
    """
    by_id = _delete_topics(cluster, {name: topic_id for name, topic_id in topics.items() if topic_id is not None})
    by_name = _delete_topics(cluster, {name: None for name, topic_id in topics.items() if topic_id is None})
    gathered = gather(cluster, ByController(cluster, Scope.of_topic), [by_id, by_name], deadline)
    return {**gathered[0].failures, **gathered[1].failures}


def _delete_topics(cluster: Cluster, topics: Mapping[str, str | None]) -> ShardedRequest[str, None]:
    ids = {name: uuid_bytes(topic_id) for name, topic_id in topics.items() if topic_id is not None}
    names = {topic_id: name for name, topic_id in ids.items()}

    def build(items: Sequence[str]) -> DeleteTopicsRequest:
        states = tuple(DeleteTopicState(topic_id=ids[name]) for name in items) if ids else ()
        timeout_ms = cluster.settings.request_timeout_ms
        return DeleteTopicsRequest(topics=states, topic_names=() if ids else tuple(items), timeout_ms=timeout_ms)

    def name_of(result: Any) -> str:
        return names.get(result.topic_id, "") if ids else result.name  # the answer to an id may leave the name out

    return ShardedRequest(
        api=DELETE_TOPICS,
        items=list(topics),
        build=build,
        read=lambda response, _: [
            (name_of(result), result.error_code, None, result.error_message) for result in response.responses
        ],
        chunk=_TOPICS,
        within=_BY_ID if ids else _BY_NAME,
        once=True,
    )


def create_partitions(
    cluster: Cluster, topics: Sequence[CreatePartitionsTopic], deadline: Deadline, *, validate_only: bool = False
) -> Mapping[str, Failure]:
    """Extend topics to a total number of partitions, and return the failures."""
    by_name = {topic.name: topic for topic in topics}
    timeout_ms = cluster.settings.request_timeout_ms
    sharded: ShardedRequest[str, None] = ShardedRequest(
        api=CREATE_PARTITIONS,
        items=list(by_name),
        build=lambda names: CreatePartitionsRequest(
            topics=tuple(by_name[name] for name in names), timeout_ms=timeout_ms, validate_only=validate_only
        ),
        read=lambda response, _: [
            (topic.name, topic.error_code, None, topic.error_message) for topic in response.results
        ],
        chunk=_chunk(max((topic.count for topic in topics), default=0)),
        once=not validate_only,
    )
    return gather(cluster, ByController(cluster, Scope.of_topic), [sharded], deadline)[0].failures


def delete_records(
    cluster: Cluster, offsets: Mapping[TopicPartition, int], deadline: Deadline
) -> Mapping[TopicPartition, Failure]:
    """Delete the records before these offsets (HIGH_WATERMARK: all), and return the failures.

    The leaders must be known: see `describe_topics`.
    """

    def build(partitions: Sequence[TopicPartition]) -> DeleteRecordsRequest:
        topics: dict[str, list[DeleteRecordsPartition]] = {}
        for topic, partition in partitions:
            offset = offsets[TopicPartition(topic, partition)]
            requested = DeleteRecordsPartition(partition_index=partition, offset=offset)
            topics.setdefault(topic, []).append(requested)
        return DeleteRecordsRequest(
            topics=tuple(DeleteRecordsTopic(name=name, partitions=tuple(some)) for name, some in topics.items()),
            timeout_ms=cluster.settings.request_timeout_ms,
        )

    # Repeated, an offset has the same effect; HIGH_WATERMARK would delete newer records, too.
    sharded: ShardedRequest[TopicPartition, None] = ShardedRequest(
        api=DELETE_RECORDS, items=list(offsets), build=build, read=_read_deleted, once=True
    )
    return gather(cluster, ByLeader(cluster), [sharded], deadline)[0].failures


def _read_deleted(
    response: DeleteRecordsResponse, _: Sequence[TopicPartition]
) -> Iterator[tuple[TopicPartition, int, None]]:
    for topic in response.topics:
        for partition in topic.partitions:
            yield TopicPartition(topic.name, partition.partition_index), partition.error_code, None
