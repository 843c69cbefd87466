"""Asks the leaders where leader epochs end in their logs (OffsetForLeaderEpoch); the answers are kept by column."""

from array import array
from collections.abc import Iterable, Mapping, Sequence

from kafka_lagoon.admin.answer_columns import AnswerColumns, AnswersByPartition, Form, PartitionOrder
from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.client.routes import ByLeader
from kafka_lagoon.client.routing import Gathered, ShardedRequest, gather
from kafka_lagoon.clock import Deadline
from kafka_lagoon.protocol.error_codes import UNKNOWN_TOPIC_ID
from kafka_lagoon.protocol.messages.offset_for_leader_epoch import (
    CONSUMER_REPLICA_ID,
    OFFSET_FOR_LEADER_EPOCH,
    EpochEndOffset,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
    OffsetForLeaderTopicResult,
)
from kafka_lagoon.topic_partition import TopicPartition
from kafka_lagoon.wire.columns import Lists, Structs

EpochEnds = Gathered[TopicPartition, EpochEndOffset]
_FORM = Form(
    topics=OffsetForLeaderTopicResult,
    answers=EpochEndOffset,
    topic="topic",
    partition="partition",
    kept={"leader_epoch": "i", "end_offset": "q"},
)


def epoch_ends(cluster: Cluster, leader_epochs: Mapping[TopicPartition, int], deadline: Deadline) -> EpochEnds:
    """The end of the largest leader epoch up to the given epoch in the leader's log; -1 and -1 if the leader knows none.

    Brokers before Kafka 2.0 do not return that epoch: -1 beside an offset. The epochs belong to the present topic ids; a
    topic that turns out to be re-created is UNKNOWN_TOPIC_ID.
    """
    return several_epoch_ends(cluster, [leader_epochs], deadline)[0]


def several_epoch_ends(
    cluster: Cluster, several: Iterable[Mapping[TopicPartition, int]], deadline: Deadline
) -> list[EpochEnds]:
    """`epoch_ends` of several epochs of the same partitions, pipelined: each is a request of its own to every leader.

    A mapping of a million partitions is not needed any more when the next one is made.
    """
    orders_and_epochs = [(PartitionOrder(list(one)), array("i", one.values())) for one in several]
    sharded_requests = [_request(cluster, order, epochs) for order, epochs in orders_and_epochs]
    gathered = gather(cluster, ByLeader(cluster), sharded_requests, deadline)
    for order, _ in orders_and_epochs:
        order.forget_chunks()
    return gathered


def _request(
    cluster: Cluster, order: PartitionOrder, leader_epochs: "array[int]"
) -> ShardedRequest[TopicPartition, EpochEndOffset]:
    topic_ids, changes = {topic: cluster.topics.id_of(topic) for topic in order.topics}, cluster.topics.id_changes

    def build(items: Sequence[TopicPartition]) -> OffsetForLeaderEpochRequest:
        chunk = order.chunk(items)
        columns = {
            "partition": chunk.partitions,
            "current_leader_epoch": array("i", map(cluster.topics.leader_epoch_of, chunk.by_topic)),
            "leader_epoch": array("i", map(leader_epochs.__getitem__, chunk.places)),
        }
        partitions = Lists(chunk.counts, Structs.of(OffsetForLeaderPartition, columns))
        topics = Structs.of(OffsetForLeaderTopic, {"topic": chunk.topics, "partitions": partitions})
        return OffsetForLeaderEpochRequest(replica_id=CONSUMER_REPLICA_ID, topics=topics)

    def codes_of(topics: Iterable[str]) -> Mapping[str, int]:
        if cluster.topics.id_changes == changes:  # spares a comparison for each partition of large clusters
            return {}
        return {topic: UNKNOWN_TOPIC_ID for topic in topics if not cluster.topics.may_be(topic, topic_ids.get(topic))}

    return ShardedRequest(
        api=OFFSET_FOR_LEADER_EPOCH,
        items=order.partitions,
        build=build,
        intake=AnswerColumns[EpochEndOffset](order, _FORM, codes_of),
        has_distinct_items=True,
    )


def end_columns(
    answers: Mapping[TopicPartition, EpochEndOffset], partitions: Sequence[TopicPartition]
) -> tuple[Sequence[int], Sequence[int]]:
    """The leader epoch and the end offset of each partition; -1 and -1 where there is no answer."""
    if isinstance(answers, AnswersByPartition) and answers.columns.order.partitions == partitions:
        columns = answers.columns.columns
        return columns["leader_epoch"], columns["end_offset"]
    ends = [answers.get(partition) for partition in partitions]
    return [end.leader_epoch if end else -1 for end in ends], [end.end_offset if end else -1 for end in ends]
