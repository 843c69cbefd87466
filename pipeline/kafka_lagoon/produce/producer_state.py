"""Keeps the producer of each partition, and the sequence number of the next record there."""

from dataclasses import dataclass, field

from kafka_lagoon.records.encoding import NO_PRODUCER, NOT_IDEMPOTENT, Producer, next_sequence
from kafka_lagoon.topic_partition import TopicPartition


@dataclass(slots=True)
class ProducerState:
    """The `producer` of all partitions, each of which begins at its sequence number, except those in `partitions`.

    If it is None, other partitions are not written to. These are plain values: another process that gets the partitions of a
    state can continue with the same producers. Without a producer id batches have no numbers, and brokers do not recognize
    a batch that is sent again.
    """

    producer: Producer | None = NOT_IDEMPOTENT
    partitions: dict[TopicPartition, Producer] = field(default_factory=dict)

    @property
    def is_idempotent(self) -> bool:
        """True if all batches have a producer id."""
        producers = [self.producer, *self.partitions.values()]
        return all(one.producer_id != NO_PRODUCER for one in producers if one)

    def of(self, partition: TopicPartition) -> Producer:
        """The producer of the next batch of a partition; LookupError if it is not to be written to."""
        producer = self.partitions.get(partition, self.producer)
        if producer is None:
            raise LookupError(f"no producer writes to {partition}")
        return producer

    def advance(self, partition: TopicPartition, count: int) -> None:
        """Count records that have got their numbers."""
        producer = self.of(partition)
        if producer.producer_id != NO_PRODUCER:
            sequence = next_sequence(producer.sequence, count)
            self.partitions[partition] = producer._replace(sequence=sequence)
