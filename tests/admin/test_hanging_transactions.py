"""Verdicts on open transactions, from messages made by hand."""

from dataclasses import replace

import pytest

from kafka_lagoon.admin.hanging_transactions import MAX_TRANSACTION_TIMEOUT_MS, Verdict, candidates, confirmed, verdict
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
from kafka_lagoon.topic_partition import TopicPartition
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
    "from the first record on": (
        producer(OLD, open_since=0),
        UNKNOWN,
        Verdict(is_hanging=True, evidence="no_transaction"),
    ),
    "no timestamp is long ago": (producer(None), UNKNOWN, Verdict(is_hanging=True, evidence="no_transaction")),
    "listed, then gone": (producer(OLD), LISTED, Verdict(is_hanging=True, evidence="transactional_id_gone")),
    "its coordinator will end it": (
        producer(OLD),
        described(
            TransactionTopic(topic="other", partitions=(3,)), TransactionTopic(topic="orders", partitions=(1, 0))
        ),
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


@pytest.mark.parametrize(
    ("later", "expected"),
    [
        (producer(OLD), Verdict(is_hanging=True, evidence="no_transaction")),
        (producer(OLD, open_since=-1), Verdict(is_hanging=False, evidence="ended")),
        (producer(OLD, open_since=9), Verdict(is_hanging=False, evidence="ended")),
        (producer(OLD, producer_id=8), Verdict(is_hanging=False, evidence="ended")),
        (None, Verdict(None, None, "COORDINATOR_NOT_AVAILABLE")),
    ],
    ids=["still open", "closed", "the next one", "of another producer", "no answer"],
)
def test_what_its_coordinator_ends_meanwhile_does_not_hang(later: ProducerState | None, expected: Verdict) -> None:
    """A transaction hangs if the leader has it before and after its coordinator did not: its timestamps may be old."""
    judged = verdict(ORDERS, producer(OLD), UNKNOWN, NOW_MS)
    failures = {} if later else {ORDERS: UNREACHABLE}
    states = (later,) if later else ()
    answer = DescribeProducersPartitionResponse(partition_index=0, error_code=0, active_producers=states)
    assert confirmed(judged, ORDERS, producer(OLD), Gathered({ORDERS: answer}, {}, failures)) == expected
    alive = Verdict(is_hanging=False, evidence="recent")
    assert confirmed(alive, ORDERS, producer(1), Gathered({}, {}, {})) == alive


def test_only_what_may_hang_is_looked_up() -> None:
    """Only producers with a transaction that has been open for more than 15 minutes are looked up."""
    states = (producer(OLD, 0, producer_id=1), producer(OLD - 1, producer_id=2), producer(OLD, -1, producer_id=3))
    answer = DescribeProducersPartitionResponse(partition_index=0, error_code=0, active_producers=states)
    assert candidates(Gathered({ORDERS: answer}, {}, {}), NOW_MS) == {1}
