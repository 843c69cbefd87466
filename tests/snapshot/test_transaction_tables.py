"""Tables transactions and producers of a fake cluster: requests, their order, and rows after failures."""

from dataclasses import replace
from typing import Any

import pytest

from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.client.request_stats import RequestStats
from kafka_lagoon.clock import Deadline
from kafka_lagoon.protocol.error_codes import NOT_COORDINATOR, TRANSACTIONAL_ID_NOT_FOUND
from kafka_lagoon.protocol.messages.describe_producers import DESCRIBE_PRODUCERS, DescribeProducersResponse
from kafka_lagoon.protocol.messages.describe_transactions import DESCRIBE_TRANSACTIONS
from kafka_lagoon.protocol.messages.find_coordinator import FIND_COORDINATOR
from kafka_lagoon.protocol.messages.list_transactions import LIST_TRANSACTIONS
from kafka_lagoon.snapshot.chosen_names import ChosenNames, Names
from kafka_lagoon.snapshot.collect import collect
from kafka_lagoon.tables.snapshot_rows import CollectionFailureRow, CoverageRow
from kafka_lagoon.tables.transaction_rows import PartitionProducerRow, TransactionRow
from tests.admin.test_transactions import transaction
from tests.clock import CLOCK
from tests.fake.broker import fake_cluster
from tests.fake.cluster import FakeCluster
from tests.fake.faults import Altered, Fault
from tests.fake.oddities import ODDITIES, every_shape, fails
from tests.short_timeouts import short_timeouts
from tests.snapshot.test_collect import captured, healthy

TRANSACTION_APIS = (LIST_TRANSACTIONS.key, DESCRIBE_TRANSACTIONS.key, DESCRIBE_PRODUCERS.key)


def apis(state: FakeCluster) -> list[int]:
    """Return the APIs of transactions in the order of their requests, without repetitions that follow each other."""
    keys = [key for _, key, _ in state.requests if key in TRANSACTION_APIS]
    return [key for index, key in enumerate(keys) if index == 0 or keys[index - 1] != key]


def test_coordinators_are_asked_again_after_the_leaders() -> None:
    """As in Kafka's tool, a transaction that ended between the two lists does not hang."""
    state = every_shape()
    taken = captured(state)
    lists, describes, producers = TRANSACTION_APIS
    assert apis(state) == [lists, describes, producers, lists, describes, producers]
    assert {(row.producer_id, row.transactional_id, row.evidence) for row in taken.of(PartitionProducerRow)} == {
        (7, "payer", "in_transaction"),
        (8, "idle", None),
        (9, None, "no_transaction"),
    }
    assert [row.transactional_id for row in taken.of(TransactionRow)] == ["idle", "payer"]


def test_a_transaction_that_ends_while_coordinators_answer() -> None:
    """It was open for the leader and is unknown to them, as one that hangs, but the leader no longer has it."""
    state = every_shape()

    def ended(response: DescribeProducersResponse) -> DescribeProducersResponse:
        *others, last = state.producers["other", 1]
        state.producers["other", 1] = (*others, replace(last, current_txn_start_offset=-1))
        return response

    leader_id = state.topics["other"].partitions[1].leader_id
    state.faults.append(Fault(DESCRIBE_PRODUCERS.key, Altered(ended), leader_id))
    (row,) = (row for row in captured(state).of(PartitionProducerRow) if row.producer_id == 9)
    assert (row.open_since_offset, row.is_hanging, row.evidence) == (50, False, "ended")


def test_a_cluster_without_transactions_costs_one_list() -> None:
    """Each broker gets one request, and no request for producers is sent."""
    state = healthy()
    captured(state)
    assert apis(state) == [LIST_TRANSACTIONS.key]
    assert state.count(LIST_TRANSACTIONS.key) == 3


def test_a_transactional_id_that_expires_meanwhile_is_no_failure() -> None:
    """Its row has the values of the list, and the reason why the others are missing."""
    state = every_shape()
    state.transactions["idle"].described.error_code = TRANSACTIONAL_ID_NOT_FOUND
    taken = captured(state)
    (idle, _) = taken.of(TransactionRow)
    assert (idle.state, idle.producer_id, idle.coordinator_id, idle.problem) == (
        "Empty",
        8,
        2,
        "TRANSACTIONAL_ID_NOT_FOUND",
    )
    assert (idle.producer_epoch, idle.timeout_ms, idle.partitions) == (None, None, None)
    assert not [row for row in taken.of(CollectionFailureRow) if "Transactions" in row.api]


def test_what_may_not_be_read_is_a_row_and_a_failure() -> None:
    """Transactions that may not be described have rows with the values of the list; the rest of the snapshot is complete."""
    state = every_shape()
    ODDITIES["commits and transactions that may not be read"](state)
    taken = captured(state)
    problem = "TRANSACTIONAL_ID_AUTHORIZATION_FAILED"
    assert {(row.transactional_id, row.problem) for row in taken.of(TransactionRow)} == {
        ("idle", problem),
        ("payer", problem),
    }
    verdicts = {row.producer_id: (row.is_hanging, row.problem) for row in taken.of(PartitionProducerRow)}
    assert verdicts == {7: (None, problem), 8: (False, None), 9: (True, None)}


def test_a_transactional_id_whose_coordinator_is_refused() -> None:
    """Its partitions are not known, so producers of open transactions may be missing, and their table is not complete."""
    state = every_shape()
    state.transactions["idle"].described.error_code = NOT_COORDINATOR

    def refuse(answer: Any) -> Any:
        return replace(answer, coordinators=tuple(replace(one, error_code=53) for one in answer.coordinators))

    state.faults.append(Fault(FIND_COORDINATOR.key, Altered(refuse), times=1_000))
    taken = captured(state)
    problems = {row.transactional_id: row.problem for row in taken.of(TransactionRow)}
    assert problems == {"idle": "TRANSACTIONAL_ID_AUTHORIZATION_FAILED", "payer": None}
    ended = {one.table_name: one.outcome for one in taken.published.tables or ()}
    assert (ended["transactions"], ended["producers"]) == ("partial", "partial")


def test_a_list_that_fails_is_no_verdict() -> None:
    """If a coordinator has not answered, it may have the transaction, so the verdict is unknown."""
    state = every_shape()
    fails(LIST_TRANSACTIONS)(state)
    taken = captured(state)
    assert not taken.of(TransactionRow)
    verdicts = {row.producer_id: row.is_hanging for row in taken.of(PartitionProducerRow)}
    assert verdicts == {7: None, 8: False, 9: None}


def test_brokers_that_list_no_transactions() -> None:
    """Kafka 2.8 describes producers, but lists no transactions: the verdict is unknown, and there is no failure."""
    state = every_shape()
    state.missing = {node: {LIST_TRANSACTIONS.key, DESCRIBE_TRANSACTIONS.key} for node in (1, 2, 3)}
    taken = captured(state)
    verdicts = {row.producer_id: (row.is_hanging, row.problem) for row in taken.of(PartitionProducerRow)}
    assert verdicts == {7: (None, "UNSUPPORTED_VERSION"), 8: (False, None), 9: (None, "UNSUPPORTED_VERSION")}
    assert not [row for row in taken.of(CollectionFailureRow) if "Transactions" in row.api]
    reasons = {row.not_collected_because for row in taken.of(CoverageRow) if row.api == LIST_TRANSACTIONS.name}
    assert reasons == {"UNSUPPORTED_VERSION"}


@pytest.mark.parametrize("idle_coordinator", [1, 3], ids=["others list some", "others list none"])
def test_brokers_of_which_one_lists_no_transactions(idle_coordinator: int) -> None:
    """During an upgrade the lists of the others are a part of the cluster's; the snapshot needs none of them."""
    state = healthy()
    state.transactions = {"idle": transaction("idle", idle_coordinator), "payer": transaction("payer", 3)}
    state.missing = {3: {LIST_TRANSACTIONS.key, DESCRIBE_TRANSACTIONS.key}}
    taken = captured(state)
    assert {row.transactional_id for row in taken.of(TransactionRow)} == ({"idle"} if idle_coordinator == 1 else set())
    assert {one.table_name: one.outcome for one in taken.published.tables}["transactions"] == "partial"
    failures = [(row.api, row.broker_id, row.error_name) for row in taken.of(CollectionFailureRow)]
    assert failures == [("ListTransactions", 3, "UNSUPPORTED_VERSION")]
    assert taken.published.status == "complete"


def test_the_list_of_transactions_is_complete() -> None:
    """Brokers leave out transactional ids that we may not describe; `coverage` says if the list is complete."""
    rows = [row for row in captured(every_shape()).of(CoverageRow) if row.api == LIST_TRANSACTIONS.name]
    assert {row.visibility for row in rows} == {"complete"}


def test_producers_of_topics_that_are_not_chosen() -> None:
    """Leaders get no request for them, even if a transaction names them."""
    state = every_shape()
    with fake_cluster(state):
        deadline = Deadline.after(CLOCK, 8_000)
        with Cluster.connect(short_timeouts(state), CLOCK, RequestStats(), deadline) as cluster:
            chosen = ChosenNames(topics=Names.of("orders", None), groups=Names.of(None, None))
            taken = collect(cluster, "test", 1_000, deadline, lambda _step, _items: None, chosen=chosen)
    assert not taken.of(PartitionProducerRow)
    assert state.count(DESCRIBE_PRODUCERS.key) == 0
