"""Sends encoded batches to the leaders of their partitions, and returns their offsets or failures.

A batch is written once. With a producer id brokers recognize a batch that is sent again, so it is sent until there is an
answer. Without a producer id, a batch that may have been written is not sent again, and its failure says `may_be_done`.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace

from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.client.failures import Failure, Scope, failure_of
from kafka_lagoon.client.routes import ByLeader
from kafka_lagoon.client.routing import ShardedRequest, gather
from kafka_lagoon.clock import Deadline
from kafka_lagoon.errors import PipelineError
from kafka_lagoon.frozen import frozen
from kafka_lagoon.produce.transaction_requests import explain
from kafka_lagoon.produce.transactions import Transaction
from kafka_lagoon.protocol.error_codes import (
    DUPLICATE_SEQUENCE_NUMBER,
    LEADER_NOT_AVAILABLE,
    error_code,
)
from kafka_lagoon.protocol.messages.produce import (
    ALL_ACKS,
    BY_NAME,
    NO_ACKS,
    PRODUCE,
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from kafka_lagoon.records.encoding import NO_PRODUCER, producer_of
from kafka_lagoon.topic_partition import TopicPartition
from kafka_lagoon.wire.primitives import NO_ID
from kafka_lagoon.wire.schema import LATEST, Versions

_FORMAT_2 = Versions(3, LATEST)  # the only format that we write
_MAYBE_WRITTEN = "it may have been written all the same"


@frozen
class Delivery:
    """Options of requests: batches are sent by topic id where `topic_ids` has one and the broker takes it, else by name.

    `acks`: with NO_ACKS there is no answer, so nothing is known; with LEADER_ACKS a batch is lost if the leader is lost
    before others have it; ALL_ACKS waits for all in-sync replicas, for `timeout_ms` at most. Batches of a `transaction`
    carry its producer, and their partitions are added to it before (produce/transactions.py).
    """

    acks: int = ALL_ACKS
    timeout_ms: int = 30_000
    topic_ids: Mapping[str, bytes] = field(default_factory=dict)
    transaction: Transaction | None = None


@frozen
class SendResult:
    """Each partition's batch is in `answers`, with its base offset, or in `failures`.

    `refused` are the records that a broker names (since Produce v8): their positions in the batch, and the reasons.
    """

    answers: Mapping[TopicPartition, PartitionProduceResponse]
    failures: Mapping[TopicPartition, Failure]
    refused: Mapping[TopicPartition, Mapping[int, str]] = field(default_factory=dict)


def send_batches(
    cluster: Cluster, batches: Mapping[TopicPartition, bytes], delivery: Delivery, deadline: Deadline
) -> SendResult:
    """Write one batch to each partition; `cluster` must know the leaders (`refresh`).

    All batches for one broker go in one request, which brokers take up to socket.request.max.bytes (100 MB). The offset is
    -1 where it is not known: with NO_ACKS, and of a repeated batch whose offset the broker no longer remembers.
    """
    if delivery.acks == NO_ACKS:
        return _send_unanswered(cluster, batches, delivery, deadline)
    refused: dict[TopicPartition, PartitionProduceResponse] = {}
    appended: set[TopicPartition] = set()
    sharded = ShardedRequest(
        api=PRODUCE,
        items=list(batches),
        build=lambda partitions: produce_request(partitions, batches, delivery),
        read=lambda response, partitions: _read(response, partitions, delivery, refused, appended),
        within=produce_versions(batches, delivery),
        once=any(producer_of(batch).producer_id == NO_PRODUCER for batch in batches.values()),
    )
    (gathered,) = gather(cluster, ByLeader(cluster), [sharded], deadline)
    return SendResult(
        answers=gathered.answers,
        failures={
            partition: explained(
                replace(failure, may_be_done=failure.may_be_done or partition in appended),
                refused.get(partition),
                delivery.transaction,
            )
            for partition, failure in gathered.failures.items()
        },
        refused={
            partition: refused_records(response)
            for partition, response in refused.items()
            if partition in gathered.failures
        },
    )


def produce_versions(partitions: Iterable[TopicPartition], delivery: Delivery) -> Versions:
    """The versions of Produce that carry format 2, name these partitions' topics as we can, and suit the transaction."""
    has_ids = all(partition.topic in delivery.topic_ids for partition in partitions)
    allowed = delivery.transaction.versions(PRODUCE) if delivery.transaction else _FORMAT_2
    return allowed if has_ids else Versions(allowed.lowest, min(allowed.highest, BY_NAME.highest))


def _send_unanswered(
    cluster: Cluster, batches: Mapping[TopicPartition, bytes], delivery: Delivery, deadline: Deadline
) -> SendResult:
    """Send each leader its batches, with acks that brokers do not answer."""
    answers, failures = dict[TopicPartition, PartitionProduceResponse](), dict[TopicPartition, Failure]()
    by_leader: dict[int | None, list[TopicPartition]] = {}
    for partition in batches:
        by_leader.setdefault(cluster.leader_of(partition), []).append(partition)
    for leader_id, partitions in by_leader.items():
        request, within = produce_request(partitions, batches, delivery), produce_versions(batches, delivery)
        refusal = send_unanswered(cluster, leader_id, request, within, deadline)
        if refusal is None:
            answers |= {partition: without_offset(partition) for partition in partitions}
        else:
            failures |= {
                partition: failure_of(PRODUCE, Scope.of_partition(*partition), refusal, node_id=leader_id)
                for partition in partitions
            }
    return SendResult(answers=answers, failures=failures)


def send_unanswered(
    cluster: Cluster, leader_id: int | None, request: ProduceRequest, within: Versions | None, deadline: Deadline
) -> PipelineError | int | None:
    """Send a request that is not answered; returns the error if it could not be sent."""
    if leader_id is None:
        return LEADER_NOT_AVAILABLE
    try:
        cluster.brokers[leader_id].send_unanswered(PRODUCE, request, deadline, within)
    except PipelineError as refusal:
        return refusal
    return None


def without_offset(partition: TopicPartition) -> PartitionProduceResponse:
    """An answer for NO_ACKS, to which brokers send none."""
    return PartitionProduceResponse(index=partition.partition, error_code=0, base_offset=-1, record_errors=())


def produce_request(
    partitions: Sequence[TopicPartition], batches: Mapping[TopicPartition, bytes | memoryview], delivery: Delivery
) -> ProduceRequest:
    """A batch for each of these partitions; it must go to their leader."""
    topics: dict[str, list[PartitionProduceData]] = {}
    for partition in partitions:
        data = PartitionProduceData(index=partition.partition, records=memoryview(batches[partition]))
        topics.setdefault(partition.topic, []).append(data)
    return ProduceRequest(
        transactional_id=delivery.transaction.transactional_id if delivery.transaction else None,
        acks=delivery.acks,
        timeout_ms=delivery.timeout_ms,
        topic_data=tuple(
            TopicProduceData(name=name, topic_id=delivery.topic_ids.get(name, NO_ID), partition_data=tuple(some))
            for name, some in topics.items()
        ),
    )


def _read(
    response: ProduceResponse,
    partitions: Iterable[TopicPartition],
    delivery: Delivery,
    refused: dict[TopicPartition, PartitionProduceResponse],
    appended: set[TopicPartition],
) -> Iterator[tuple[TopicPartition, int, PartitionProduceResponse]]:
    for partition, code, answer in read_answers(response, partitions, delivery):
        if answer.error_code:
            refused[partition] = answer
            appended.update([partition] if is_appended(answer) else ())
        yield partition, code, answer


def read_answers(
    response: ProduceResponse, partitions: Iterable[TopicPartition], delivery: Delivery
) -> Iterator[tuple[TopicPartition, int, PartitionProduceResponse]]:
    """The answer about each of these partitions; the code is 0 for a batch that is in the log."""
    topics = {partition.topic for partition in partitions}
    names = {delivery.topic_ids[name]: name for name in topics if name in delivery.topic_ids}
    for topic in response.responses:
        for answer in topic.partition_responses:
            partition = TopicPartition(topic.name or names.get(topic.topic_id, ""), answer.index)
            # The broker has the batch, but not among the last five, whose offsets it remembers.
            is_duplicate = answer.error_code == DUPLICATE_SEQUENCE_NUMBER
            yield partition, 0 if is_duplicate else answer.error_code, answer


def is_appended(answer: PartitionProduceResponse) -> bool:
    """True if the batch is in the leader's log, although the answer has an error.

    A leader that waits for the replicas, and is not the leader any more, answers NOT_LEADER_OR_FOLLOWER; the offset of the
    batch stays in the answer (DelayedProduce of Kafka). The new leader may have the batch.
    """
    return answer.base_offset >= 0


def explained(failure: Failure, refused: PartitionProduceResponse | None, transaction: Transaction | None) -> Failure:
    """Add the broker's message about the batch to a failure, and the remark that it may have been written."""
    reason = explain(failure.code, transaction.timeout_ms) if transaction else None
    messages = [text for text in (failure.message, reason) if text]
    if refused is not None and refused.error_code == failure.code and refused.error_message:
        messages.append(refused.error_message)
    if failure.may_be_done:
        messages.append(_MAYBE_WRITTEN)
    return replace(failure, message="; ".join(messages) or None)


def refused_records(refused: PartitionProduceResponse) -> dict[int, str]:
    """The records that a broker names, by their positions in the batch, and its reasons."""
    default = refused.error_message or error_code(refused.error_code).name
    return {record.batch_index: record.batch_index_error_message or default for record in refused.record_errors}
