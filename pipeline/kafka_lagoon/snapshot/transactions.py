"""Makes rows of transactions, and of the producers that partitions have."""

from collections.abc import Iterator, Mapping, Sequence

from kafka_lagoon.admin.transactions import Descriptions, Listings
from kafka_lagoon.client.failures import Failure
from kafka_lagoon.protocol.messages.describe_producers import NO_TIMESTAMP, DescribeProducersPartitionResponse
from kafka_lagoon.protocol.messages.describe_transactions import DescribedTransaction
from kafka_lagoon.tables.cluster_rows import TopicPartitions
from kafka_lagoon.tables.row_classes import ALWAYS, Int32, Int64, Timestamp, column, known, row
from kafka_lagoon.tables.transaction_rows import TransactionRow
from kafka_lagoon.topic_partition import TopicPartition


@row
class ListedTransactionRow:
    """Transactional ids that coordinators know, one row each."""

    transactional_id: str = column("transactional.id of the producer.")
    state: str = column("State as Kafka spells it, e.g. Ongoing.")
    producer_id: Int64 = column("Id of the producer.")
    coordinator_id: Int32 = column("Broker that coordinates the transaction.")


@row
class ProducerRow:
    """Producers that a partition's leader remembers, one row per partition and producer."""

    topic: str = column("Name of the topic.")
    partition: Int32 = column("Partition number.")
    producer_id: Int64 = column("Id of the producer.")
    producer_epoch: Int32 = column("Its epoch.")
    last_sequence: Int32 | None = column(
        "Sequence number of the producer's last record; null if the broker does not know it.", null_if=ALWAYS
    )
    last_written_at_ms: Timestamp | None = column(
        "Timestamp of the producer's last record; null if the broker does not know it.", null_if=ALWAYS
    )
    coordinator_epoch: Int32 | None = column(
        "Epoch of the coordinator that ended the producer's last transaction; null if none has ended.", null_if=ALWAYS
    )
    open_since_offset: Int64 | None = column(
        "First offset of the producer's open transaction; null if there is none.", null_if=ALWAYS
    )


def listed_transaction_rows(listings: Listings) -> Iterator[ListedTransactionRow]:
    """One row per transactional id, ordered by id. If an id moved meanwhile, the coordinator with the highest id counts."""
    listed = {
        transaction.transactional_id: (transaction, node_id)
        for node_id, response in sorted(listings.answers.items())
        for transaction in response.transaction_states
    }
    for transactional_id, (transaction, node_id) in sorted(listed.items()):
        yield ListedTransactionRow(
            transactional_id=transactional_id,
            state=transaction.transaction_state,
            producer_id=transaction.producer_id,
            coordinator_id=node_id,
        )


def transaction_rows(descriptions: Descriptions, now_ms: int) -> Iterator[TransactionRow]:
    """One row per described transactional id, ordered by id."""
    for transactional_id, transaction in sorted(descriptions.answers.items()):
        yield _transaction_row(transaction, descriptions.sources[transactional_id].node_id, now_ms)


def undescribed_rows(
    listed: Sequence[ListedTransactionRow], failures: Mapping[str, Failure]
) -> Iterator[TransactionRow]:
    """One row per listed transactional id that could not be described, with the reason."""
    for listing in listed:
        if listing.transactional_id in failures:
            yield TransactionRow(
                transactional_id=listing.transactional_id,
                state=listing.state,
                producer_id=listing.producer_id,
                producer_epoch=None,
                coordinator_id=listing.coordinator_id,
                timeout_ms=None,
                started_at_ms=None,
                duration_ms=None,
                partitions=None,
                problem=failures[listing.transactional_id].name,
            )


def _transaction_row(transaction: DescribedTransaction, coordinator_id: int, now_ms: int) -> TransactionRow:
    started_at_ms = known(transaction.transaction_start_time_ms)
    return TransactionRow(
        transactional_id=transaction.transactional_id,
        state=transaction.transaction_state,
        producer_id=transaction.producer_id,
        producer_epoch=known(transaction.producer_epoch),
        coordinator_id=coordinator_id,
        timeout_ms=transaction.transaction_timeout_ms,
        started_at_ms=started_at_ms,
        duration_ms=None if started_at_ms is None else now_ms - started_at_ms,
        partitions=tuple(
            TopicPartitions(topic=topic.topic, topic_id=None, partitions=tuple(sorted(topic.partitions)))
            for topic in sorted(transaction.topics, key=lambda some: some.topic)
        ),
        problem=None,
    )


def producer_rows(answers: Mapping[TopicPartition, DescribeProducersPartitionResponse]) -> Iterator[ProducerRow]:
    """One row per partition and producer, ordered by topic, partition and producer id."""
    for topic_partition, answer in sorted(answers.items()):
        for producer in sorted(answer.active_producers, key=lambda some: some.producer_id):
            yield ProducerRow(
                topic=topic_partition.topic,
                partition=topic_partition.partition,
                producer_id=producer.producer_id,
                producer_epoch=producer.producer_epoch,
                last_sequence=known(producer.last_sequence),
                last_written_at_ms=known_time(producer.last_timestamp),
                coordinator_epoch=known(producer.coordinator_epoch),
                open_since_offset=known(producer.current_txn_start_offset),
            )


def known_time(timestamp_ms: int) -> int | None:
    """The timestamp of a record, or None for Kafka's -1: brokers take others before 1970 from producers."""
    return None if timestamp_ms == NO_TIMESTAMP else timestamp_ms
