"""Makes rows of the producers of partitions, with the verdict on their open transactions."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from kafka_lagoon.admin.hanging_transactions import Verdict, confirmed, verdict
from kafka_lagoon.admin.transactions import Producers, ProducersTransactions
from kafka_lagoon.integers import MOST_INT64
from kafka_lagoon.protocol.messages.describe_producers import ProducerState
from kafka_lagoon.snapshot.transactions import known_time
from kafka_lagoon.tables.cluster_rows import PartitionOffsetsRow
from kafka_lagoon.tables.row_classes import known
from kafka_lagoon.tables.row_columns import column_of
from kafka_lagoon.tables.transaction_rows import PartitionProducerRow, TransactionRow
from kafka_lagoon.topic_partition import TopicPartition


def open_partitions(
    offsets: Sequence[PartitionOffsetsRow], transactions: Iterable[TransactionRow]
) -> list[TopicPartition]:
    """Partitions with an open transaction, according to their offsets or to its coordinator."""
    columns = (column_of(offsets, name) for name in ("topic", "partition", "last_stable_offset", "high_watermark"))
    held_back = {
        TopicPartition(topic, partition)
        for topic, partition, stable, high in zip(*columns, strict=True)
        if stable is not None and high is not None and stable < high
    }
    written = {
        TopicPartition(topic.topic, partition)
        for row in transactions
        for topic in row.partitions or ()
        if topic.topic is not None
        for partition in topic.partitions
    }
    return sorted(held_back | written)


def hanging_partitions(producers: Producers, transactions: ProducersTransactions, now_ms: int) -> list[TopicPartition]:
    """Partitions with a transaction that seems to hang."""
    return [
        partition
        for partition, answer in sorted(producers.answers.items())
        if any(verdict(partition, one, transactions, now_ms).is_hanging for one in answer.active_producers)
    ]


def partition_producer_rows(
    producers: Producers,
    again: Producers,
    transactions: ProducersTransactions,
    transactional_ids: Mapping[int, str],
    topic_ids: Mapping[str, str | None],
    now_ms: int,
) -> Iterator[PartitionProducerRow]:
    """One row per partition and producer, and one per partition without an answer, ordered.

    `again` are later answers about the partitions with a transaction that seems to hang. `transactional_ids` has the
    transactional ids that are known, by producer id.
    """
    for partition in sorted(producers.answers.keys() | producers.failures.keys()):
        topic_id = topic_ids.get(partition.topic)
        if partition in producers.failures:
            yield _unanswered(partition, topic_id, producers.failures[partition].name)
            continue
        for producer in sorted(producers.answers[partition].active_producers, key=lambda some: some.producer_id):
            judged = confirmed(verdict(partition, producer, transactions, now_ms), partition, producer, again)
            yield _row(partition, topic_id, producer, transactional_ids.get(producer.producer_id), judged, now_ms)


def _row(
    partition: TopicPartition,
    topic_id: str | None,
    producer: ProducerState,
    transactional_id: str | None,
    judged: Verdict,
    now_ms: int,
) -> PartitionProducerRow:
    last_written_at_ms = known_time(producer.last_timestamp)
    return PartitionProducerRow(
        topic=partition.topic,
        topic_id=topic_id,
        partition=partition.partition,
        producer_id=producer.producer_id,
        producer_epoch=producer.producer_epoch,
        last_sequence=known(producer.last_sequence),
        last_written_at_ms=last_written_at_ms,
        coordinator_epoch=known(producer.coordinator_epoch),
        open_since_offset=known(producer.current_txn_start_offset),
        transactional_id=transactional_id,
        idle_ms=_idle_ms(last_written_at_ms, now_ms),
        is_hanging=judged.is_hanging,
        evidence=judged.evidence,
        problem=judged.problem,
    )


def _idle_ms(last_written_at_ms: int | None, now_ms: int) -> int | None:
    """The age of the last record; None also if it has more than 64 bits, as Kafka 2.8 takes any timestamp from producers."""
    idle_ms = None if last_written_at_ms is None else now_ms - last_written_at_ms
    return None if idle_ms is None or idle_ms > MOST_INT64 else idle_ms


def _unanswered(partition: TopicPartition, topic_id: str | None, problem: str) -> PartitionProducerRow:
    return PartitionProducerRow(
        topic=partition.topic,
        topic_id=topic_id,
        partition=partition.partition,
        producer_id=None,
        producer_epoch=None,
        last_sequence=None,
        last_written_at_ms=None,
        coordinator_epoch=None,
        open_since_offset=None,
        transactional_id=None,
        idle_ms=None,
        is_hanging=None,
        evidence=None,
        problem=problem,
    )
