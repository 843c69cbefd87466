"""Numbers batches with a producer id (KIP-98), so that brokers recognize a batch that is sent again and write it once."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.clock import Deadline, backoff
from kafka_lagoon.errors import BrokerError
from kafka_lagoon.protocol.error_codes import error_code
from kafka_lagoon.protocol.messages.init_producer_id import INIT_PRODUCER_ID, InitProducerIdRequest
from kafka_lagoon.records.encoding import (
    NO_PRODUCER,
    NOT_IDEMPOTENT,
    Producer,
    Record,
    encode_batch,
    next_sequence,
)
from kafka_lagoon.topic_partition import TopicPartition

_TRANSACTION_TIMEOUT_MS = 60_000  # ignored without a transactional id


@dataclass(slots=True)
class SequenceNumbers:
    """A producer id and the next sequence number of each partition; without an id, batches have no numbers.

    `attributes` are those of all batches: TRANSACTIONAL where they belong to a transaction.
    """

    producer: Producer = NOT_IDEMPOTENT
    attributes: int = 0
    _next: dict[TopicPartition, int] = field(default_factory=dict)

    def encode(self, partition: TopicPartition, records: Sequence[Record], codec: int) -> bytes:
        """The next batch of a partition."""
        producer = self.producer
        if producer.producer_id != NO_PRODUCER:
            producer = producer._replace(sequence=self._next.get(partition, 0))
        return encode_batch(records, codec=codec, producer=producer, attributes=self.attributes)

    def advance(self, partition: TopicPartition, count: int) -> None:
        """Count records that were written. A refused batch is not counted, so it leaves no gap in the numbers."""
        self._next[partition] = next_sequence(self._next.get(partition, 0), count)


def init_producer_id(cluster: Cluster, deadline: Deadline) -> SequenceNumbers:
    """Sequence numbers with a new producer id. Brokers before 2.8 require IdempotentWrite on the cluster for it."""
    request = InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=_TRANSACTION_TIMEOUT_MS)
    pauses = backoff(cluster.settings.retry_backoff_ms, cluster.settings.retry_backoff_max_ms)
    while True:
        response = cluster.ask_any(INIT_PRODUCER_ID, request, deadline)
        code = error_code(response.error_code)
        if not response.error_code:
            return SequenceNumbers(Producer(response.producer_id, response.producer_epoch))
        if not code.retriable or not deadline.pause(next(pauses)):
            raise BrokerError(response.error_code, code.name, INIT_PRODUCER_ID.name, "cluster")
