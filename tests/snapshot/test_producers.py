"""Rows of producers, with the verdict on hanging transactions, from messages made by hand."""

from dataclasses import replace

import pytest

from kafka_lagoon.admin.transactions import ProducersTransactions
from kafka_lagoon.client.failures import Failure, Scope, failure_of
from kafka_lagoon.client.routing import Gathered
from kafka_lagoon.protocol.error_codes import COORDINATOR_NOT_AVAILABLE
from kafka_lagoon.protocol.messages.describe_producers import (
    DESCRIBE_PRODUCERS,
    DescribeProducersPartitionResponse,
    ProducerState,
)
from kafka_lagoon.protocol.messages.describe_transactions import TransactionTopic
from kafka_lagoon.snapshot.producers import (
    MAX_TRANSACTION_TIMEOUT_MS,
    Verdict,
    candidates,
    open_partitions,
    partition_producer_rows,
    verdict,
)
from kafka_lagoon.tables.cluster_rows import PartitionOffsetsRow, TopicPartitions
from kafka_lagoon.tables.transaction_rows import TransactionRow
from kafka_lagoon.topic_partition import TopicPartition
from tests.delta.samples import row
from tests.fake.oddities import transaction

NOW_MS = 2_000_000_000_000
ORDERS = TopicPartition("orders", 0)
UNREACHABLE: Failure = failure_of(DESCRIBE_PRODUCERS, Scope.cluster(), COORDINATOR_NOT_AVAILABLE)
UNKNOWN = ProducersTransactions(transactional_ids={}, descriptions={}, list_failures=(), description_failures={})
LISTED = replace(UNKNOWN, transactional_ids={7: "payer"})


def producer(idle_ms: int | None, open_since: int = 5, producer_id: int = 7) -> ProducerState:
    """Make a producer with an open transaction, whose last record has this age."""
    return ProducerState(
        producer_id=producer_id,
        producer_epoch=1,
        last_timestamp=-1 if idle_ms is None else NOW_MS - idle_ms,
        coordinator_epoch=-1,
        current_txn_start_offset=open_since,
    )


def described(*topics: TransactionTopic) -> ProducersTransactions:
    """Describe the producer's transaction with these partitions."""
    return replace(LISTED, descriptions={"payer": transaction("payer", 7, topics)})


OLD = MAX_TRANSACTION_TIMEOUT_MS + 1
CASES = {
    "no open transaction": (producer(OLD, open_since=-1), UNKNOWN, Verdict(is_hanging=False, evidence=None)),
    "as old as is allowed": (producer(OLD - 1), UNKNOWN, Verdict(is_hanging=False, evidence="recent")),
    "no coordinator knows it": (producer(OLD), UNKNOWN, Verdict(is_hanging=True, evidence="no_transaction")),
    "no timestamp is long ago": (producer(None), UNKNOWN, Verdict(is_hanging=True, evidence="no_transaction")),
    "listed, then gone": (producer(OLD), LISTED, Verdict(is_hanging=True, evidence="transactional_id_gone")),
    "its coordinator will end it": (
        producer(OLD),
        described(TransactionTopic(topic="orders", partitions=(1, 0))),
        Verdict(is_hanging=False, evidence="in_transaction"),
    ),
    "in other partitions only": (
        producer(OLD),
        described(TransactionTopic(topic="orders", partitions=(1,)), TransactionTopic(topic="other", partitions=(0,))),
        Verdict(is_hanging=True, evidence="partition_not_in_transaction"),
    ),
    "a coordinator lists nothing": (
        producer(OLD),
        replace(UNKNOWN, list_failures=[UNREACHABLE]),
        Verdict(None, None, "COORDINATOR_NOT_AVAILABLE"),
    ),
    "its coordinator describes nothing": (
        producer(OLD),
        replace(LISTED, description_failures={"payer": UNREACHABLE}),
        Verdict(None, None, "COORDINATOR_NOT_AVAILABLE"),
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_the_rules_of_find_hanging(case: str) -> None:
    """A transaction hangs, does not hang, or is undecided while a coordinator does not answer."""
    state, transactions, expected = CASES[case]
    assert verdict(ORDERS, state, transactions, NOW_MS) == expected


def test_only_what_may_hang_is_looked_up() -> None:
    """Only producers with a transaction that has been open for more than 15 minutes are looked up."""
    states = (producer(OLD, producer_id=1), producer(OLD - 1, producer_id=2), producer(OLD, -1, producer_id=3))
    answer = DescribeProducersPartitionResponse(partition_index=0, error_code=0, active_producers=states)
    assert candidates(Gathered({ORDERS: answer}, {}, {}), NOW_MS) == {1}


def test_partitions_with_an_open_transaction() -> None:
    """The last stable offset is below the high watermark, or a coordinator names the partition; unknown offsets select none."""
    offsets = [
        row(PartitionOffsetsRow, topic="a", partition=index, last_stable_offset=stable, high_watermark=high)
        for index, (stable, high) in enumerate([(4, 5), (5, 5), (None, 5), (4, None)])
    ]
    partitions = (TopicPartitions(topic="b", topic_id=None, partitions=(1, 0)),)
    listed = [
        row(TransactionRow, transactional_id="payer", partitions=partitions),
        row(TransactionRow, transactional_id="refused", problem="NOT_COORDINATOR"),
    ]
    assert open_partitions(offsets, listed) == [("a", 0), ("b", 0), ("b", 1)]


def test_every_producer_is_a_row_and_every_partition_without_answer() -> None:
    """Rows are ordered; values that a leader did not return are null, with a reason."""
    states = (producer(OLD, producer_id=8), producer(None, -1))
    answer = DescribeProducersPartitionResponse(partition_index=0, error_code=0, active_producers=states)
    producers = Gathered({ORDERS: answer}, {}, {TopicPartition("hidden", 3): UNREACHABLE})
    hidden, first, second = partition_producer_rows(producers, UNKNOWN, {7: "payer"}, {"orders": "id"}, NOW_MS)
    assert (hidden.topic, hidden.partition, hidden.problem) == ("hidden", 3, "COORDINATOR_NOT_AVAILABLE")
    assert (hidden.producer_id, hidden.is_hanging, hidden.evidence, hidden.idle_ms) == (None, None, None, None)
    assert (first.producer_id, first.topic_id, first.transactional_id, first.idle_ms) == (7, "id", "payer", None)
    assert (first.open_since_offset, first.is_hanging, first.problem) == (None, False, None)
    assert (second.producer_id, second.transactional_id, second.idle_ms) == (8, None, OLD)
    assert (second.open_since_offset, second.is_hanging, second.evidence) == (5, True, "no_transaction")
