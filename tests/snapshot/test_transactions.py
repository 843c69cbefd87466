"""Rows of transactions and producers, from messages made by hand."""

from kafka_lagoon.client.intake import Source
from kafka_lagoon.client.routing import Gathered
from kafka_lagoon.protocol.messages.describe_producers import DescribeProducersPartitionResponse, ProducerState
from kafka_lagoon.protocol.messages.describe_transactions import DescribedTransaction, TransactionTopic
from kafka_lagoon.protocol.messages.list_transactions import ListedTransaction, ListTransactionsResponse
from kafka_lagoon.snapshot.transactions import (
    ListedTransactionRow,
    ProducerRow,
    listed_transaction_rows,
    producer_rows,
    transaction_rows,
)
from kafka_lagoon.tables.cluster_rows import TopicPartitions
from kafka_lagoon.tables.transaction_rows import TransactionRow
from kafka_lagoon.topic_partition import TopicPartition


def listing(*names: str, state: str = "Ongoing") -> ListTransactionsResponse:
    """Make a coordinator's list of transactions."""
    listed = tuple(ListedTransaction(transactional_id=name, producer_id=7, transaction_state=state) for name in names)
    return ListTransactionsResponse(error_code=0, unknown_state_filters=(), transaction_states=listed)


def test_every_listed_id_is_a_row() -> None:
    """Rows are ordered by id; an id that two brokers list, because it has moved, has one row."""
    answers = {2: listing("b", "a", state="Empty"), 1: listing("b")}
    assert list(listed_transaction_rows(Gathered(answers, {}, {}))) == [
        ListedTransactionRow(transactional_id="a", state="Empty", producer_id=7, coordinator_id=2),
        ListedTransactionRow(transactional_id="b", state="Empty", producer_id=7, coordinator_id=2),
    ]


def described(start_ms: int, producer_epoch: int = 3) -> DescribedTransaction:
    """Make a transaction of two topics."""
    return DescribedTransaction(
        error_code=0,
        transactional_id="a",
        transaction_state="Ongoing",
        transaction_timeout_ms=60_000,
        transaction_start_time_ms=start_ms,
        producer_id=7,
        producer_epoch=producer_epoch,
        topics=(TransactionTopic(topic="b", partitions=(2, 1)), TransactionTopic(topic="a", partitions=(0,))),
    )


def test_a_described_transaction_is_a_row() -> None:
    """Its duration ends now, by our clock; topics and partitions are ordered."""
    gathered = Gathered({"a": described(1_000)}, {"a": Source(2, 5)}, {})
    assert list(transaction_rows(gathered, 1_500)) == [
        TransactionRow(
            transactional_id="a",
            state="Ongoing",
            producer_id=7,
            producer_epoch=3,
            coordinator_id=2,
            timeout_ms=60_000,
            started_at_ms=1_000,
            duration_ms=500,
            partitions=(
                TopicPartitions(topic="a", topic_id=None, partitions=(0,)),
                TopicPartitions(topic="b", topic_id=None, partitions=(1, 2)),
            ),
            problem=None,
        )
    ]


def test_a_transaction_that_has_not_begun() -> None:
    """A start time of -1 is null, and so is the duration."""
    [row] = transaction_rows(Gathered({"a": described(-1)}, {"a": Source(2, 5)}, {}), 1_500)
    assert (row.started_at_ms, row.duration_ms) == (None, None)


def test_an_id_without_an_epoch() -> None:
    """While __transaction_state cannot be written, a new id stays at epoch -1, which is null."""
    [row] = transaction_rows(Gathered({"a": described(-1, producer_epoch=-1)}, {"a": Source(2, 5)}, {}), 1_500)
    assert (row.producer_epoch, row.problem) == (None, None)


def test_every_producer_is_a_row() -> None:
    """Rows are ordered by partition and producer; -1 is null in each field that may have it."""
    known = ProducerState(
        producer_id=8,
        producer_epoch=1,
        last_sequence=4,
        last_timestamp=5,
        coordinator_epoch=6,
        current_txn_start_offset=9,
    )
    unknown = ProducerState(producer_id=7, producer_epoch=0, coordinator_epoch=-1)
    answer = DescribeProducersPartitionResponse(partition_index=0, error_code=0, active_producers=(known, unknown))
    nulls = dict.fromkeys(("last_sequence", "last_written_at_ms", "coordinator_epoch", "open_since_offset"))
    assert list(producer_rows({TopicPartition("orders", 0): answer})) == [
        ProducerRow(topic="orders", partition=0, producer_id=7, producer_epoch=0, **nulls),
        ProducerRow(
            topic="orders",
            partition=0,
            producer_id=8,
            producer_epoch=1,
            last_sequence=4,
            last_written_at_ms=5,
            coordinator_epoch=6,
            open_since_offset=9,
        ),
    ]
