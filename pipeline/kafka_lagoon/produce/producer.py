"""Batches by partition in, where their leaders wrote them, or why not, out.

Guards one rule: a batch is written once. With a producer id a broker knows a repeated batch, so it is sent again until there
is an answer; without one, a batch that may have been written is not sent again, and the failure says so.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from kafka_lagoon.client.cluster import Cluster, TopicPartition
from kafka_lagoon.client.failures import Failure, Scope, failure_of
from kafka_lagoon.client.routes import ByLeader
from kafka_lagoon.client.routing import ShardedRequest, gather
from kafka_lagoon.clock import Deadline, backoff
from kafka_lagoon.errors import BrokerError, PipelineError
from kafka_lagoon.protocol.error_codes import (
    DUPLICATE_SEQUENCE_NUMBER,
    LEADER_NOT_AVAILABLE,
    error_code,
)
from kafka_lagoon.protocol.messages.init_producer_id import INIT_PRODUCER_ID, InitProducerIdRequest
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
from kafka_lagoon.records.encoding import (
    NO_PRODUCER,
    NOT_IDEMPOTENT,
    Producer,
    Record,
    encode_batch,
    next_sequence,
    producer_of,
)
from kafka_lagoon.wire.schema import LATEST, Versions

_FORMAT_2 = Versions(3, LATEST)  # the only format that we write
_NO_ID = bytes(16)
_TRANSACTION_TIMEOUT_MS = 60_000  # not looked at without a transactional id
_MAYBE_WRITTEN = "it may have been written all the same"


@dataclass(frozen=True, slots=True, kw_only=True)
class Produced:
    """Each partition's batch is in `answers`, with where it was written, or in `failures`.

    `refused` are the records that a broker names (since Produce v8): their places in the batch, and what is wrong.
    """

    answers: Mapping[TopicPartition, PartitionProduceResponse]
    failures: Mapping[TopicPartition, Failure]
    refused: Mapping[TopicPartition, Mapping[int, str]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """How batches are written: by topic id where `topic_ids` has one and the broker takes it, else by name.

    `acks`: NO_ACKS has no answer, so nothing is known; LEADER_ACKS is lost if the leader is lost before others have
    it; ALL_ACKS waits for all in-sync replicas, for `timeout_ms` at most.
    """

    acks: int = ALL_ACKS
    timeout_ms: int = 30_000
    topic_ids: Mapping[str, bytes] = field(default_factory=dict)


@dataclass(slots=True)
class Numbering:
    """A producer id, and for each partition the sequence number that comes next. Without an id, no numbers."""

    producer: Producer = NOT_IDEMPOTENT
    _next: dict[TopicPartition, int] = field(default_factory=dict)

    def encode(self, at: TopicPartition, records: Sequence[Record], codec: int) -> bytes:
        """The batch that comes next in a partition."""
        producer = self.producer
        if producer.producer_id != NO_PRODUCER:
            producer = producer._replace(sequence=self._next.get(at, 0))
        return encode_batch(records, codec=codec, producer=producer)

    def written(self, at: TopicPartition, count: int) -> None:
        """So many records were written; one that was refused leaves no gap in the numbers."""
        self._next[at] = next_sequence(self._next.get(at, 0), count)


def new_producer(cluster: Cluster, deadline: Deadline) -> Numbering:
    """A producer id of the cluster's (KIP-98). Brokers before 2.8 want the right to IdempotentWrite on the cluster."""
    request = InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=_TRANSACTION_TIMEOUT_MS)
    pauses = backoff(cluster.settings.retry_backoff_ms, cluster.settings.retry_backoff_max_ms)
    while True:
        given = cluster.ask_any(INIT_PRODUCER_ID, request, deadline)
        code = error_code(given.error_code)
        if not given.error_code:
            return Numbering(Producer(given.producer_id, given.producer_epoch))
        if not code.retriable or not deadline.pause(next(pauses)):
            raise BrokerError(given.error_code, code.name, INIT_PRODUCER_ID.name, "cluster")


def produce(
    cluster: Cluster, batches: Mapping[TopicPartition, bytes], delivery: Delivery, deadline: Deadline
) -> Produced:
    """Write one batch to each partition; `cluster` must know the leaders (`refresh`).

    All batches for one broker go in one request, which brokers take up to socket.request.max.bytes (100 MB). The
    offset is -1 where it is not known: with NO_ACKS, and of a repeated batch that the broker no longer remembers well.
    """
    if delivery.acks == NO_ACKS:
        return _tell_leaders(cluster, batches, delivery, deadline)
    refused: dict[TopicPartition, PartitionProduceResponse] = {}
    sharded = ShardedRequest(
        api=PRODUCE,
        items=list(batches),
        build=lambda items: _request(items, batches, delivery),
        read=lambda response, _: _read(response, delivery, refused),
        within=_versions(batches, delivery),
        once=any(producer_of(batch).producer_id == NO_PRODUCER for batch in batches.values()),
    )
    (found,) = gather(cluster, ByLeader(cluster), [sharded], deadline)
    return Produced(
        answers=found.answers,
        failures={at: _explained(failure, refused.get(at)) for at, failure in found.failures.items()},
        refused={at: _records(one) for at, one in refused.items() if at in found.failures},
    )


def _versions(batches: Mapping[TopicPartition, bytes], delivery: Delivery) -> Versions:
    has_ids = all(at.topic in delivery.topic_ids for at in batches)
    return _FORMAT_2 if has_ids else Versions(_FORMAT_2.lowest, BY_NAME.highest)


def _tell_leaders(
    cluster: Cluster, batches: Mapping[TopicPartition, bytes], delivery: Delivery, deadline: Deadline
) -> Produced:
    """Send each leader its batches and hear nothing of them."""
    answers, failures = dict[TopicPartition, PartitionProduceResponse](), dict[TopicPartition, Failure]()
    led: dict[int | None, list[TopicPartition]] = {}
    for at in batches:
        led.setdefault(cluster.leader_of(at), []).append(at)
    for leader_id, some in led.items():
        refusal = _tell(cluster, leader_id, _request(some, batches, delivery), _versions(batches, delivery), deadline)
        if refusal is None:
            answers |= {at: _unknown(at) for at in some}
        else:
            failures |= {at: failure_of(PRODUCE, Scope.of_partition(*at), refusal, node_id=leader_id) for at in some}
    return Produced(answers=answers, failures=failures)


def _tell(
    cluster: Cluster, leader_id: int | None, request: ProduceRequest, within: Versions, deadline: Deadline
) -> PipelineError | int | None:
    """What kept a request from being sent, None if it is on its way."""
    if leader_id is None:
        return LEADER_NOT_AVAILABLE
    try:
        cluster.brokers[leader_id].send_unanswered(PRODUCE, request, deadline, within)
    except PipelineError as refusal:
        return refusal
    return None


def _unknown(at: TopicPartition) -> PartitionProduceResponse:
    return PartitionProduceResponse(index=at.partition, error_code=0, base_offset=-1, record_errors=())


def _request(
    items: Sequence[TopicPartition], batches: Mapping[TopicPartition, bytes], delivery: Delivery
) -> ProduceRequest:
    topics: dict[str, list[PartitionProduceData]] = {}
    for at in items:
        data = PartitionProduceData(index=at.partition, records=memoryview(batches[at]))
        topics.setdefault(at.topic, []).append(data)
    return ProduceRequest(
        acks=delivery.acks,
        timeout_ms=delivery.timeout_ms,
        topic_data=tuple(
            TopicProduceData(name=name, topic_id=delivery.topic_ids.get(name, _NO_ID), partition_data=tuple(some))
            for name, some in topics.items()
        ),
    )


def _read(
    response: ProduceResponse, delivery: Delivery, refused: dict[TopicPartition, PartitionProduceResponse]
) -> Iterator[tuple[TopicPartition, int, PartitionProduceResponse]]:
    names = {topic_id: name for name, topic_id in delivery.topic_ids.items()}
    for topic in response.responses:
        for one in topic.partition_responses:
            at = TopicPartition(topic.name or names.get(topic.topic_id, ""), one.index)
            if one.error_code:
                refused[at] = one
            # A batch that the broker has, but not among the last five, which it remembers with their offsets.
            yield at, 0 if one.error_code == DUPLICATE_SEQUENCE_NUMBER else one.error_code, one


def _explained(failure: Failure, refused: PartitionProduceResponse | None) -> Failure:
    """A failure with what the broker said of the batch, and whether that may be in the log."""
    told = [failure.message] if failure.message else []
    if refused is not None and refused.error_code == failure.code and refused.error_message:
        told.append(refused.error_message)
    if failure.may_be_done:
        told.append(_MAYBE_WRITTEN)
    return replace(failure, message="; ".join(told) or None)


def _records(refused: PartitionProduceResponse) -> dict[int, str]:
    said = refused.error_message or error_code(refused.error_code).name
    return {one.batch_index: one.batch_index_error_message or said for one in refused.record_errors}
