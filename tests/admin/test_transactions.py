"""Transactions and producers of fake brokers."""

from dataclasses import replace
from typing import Any

import pytest

from kafka_lagoon.admin.transactions import (
    OpenTransaction,
    abort_transactions,
    describe_producers,
    describe_transactions,
    fence_producers,
    list_transactions,
    transactions_of_producers,
)
from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.clock import Deadline
from kafka_lagoon.integers import MOST_INT32
from kafka_lagoon.protocol.messages import describe_transactions as messages
from kafka_lagoon.protocol.messages.describe_producers import ProducerState
from kafka_lagoon.protocol.messages.find_coordinator import FIND_COORDINATOR, TRANSACTION
from kafka_lagoon.protocol.messages.init_producer_id import INIT_PRODUCER_ID
from kafka_lagoon.protocol.messages.list_transactions import LIST_TRANSACTIONS
from kafka_lagoon.protocol.messages.write_txn_markers import WRITE_TXN_MARKERS
from kafka_lagoon.topic_partition import TopicPartition
from tests.admin.conftest import RequestsOf, soon
from tests.fake.cluster import FakeCluster, FakeTransaction
from tests.fake.faults import Altered, Close, Fault

FORBIDDEN = 53


def transaction(name: str, coordinator_id: int, *, error_code: int = 0, open_for_ms: int = 0) -> FakeTransaction:
    """An open transaction of one partition."""
    described = messages.DescribedTransaction(
        error_code=error_code,
        transactional_id=name,
        transaction_state="Ongoing",
        transaction_timeout_ms=60_000,
        transaction_start_time_ms=1_000,
        producer_id=7,
        producer_epoch=3,
        topics=(messages.TransactionTopic(topic="orders", partitions=(0,)),),
    )
    return FakeTransaction(coordinator_id=coordinator_id, described=described, open_for_ms=open_for_ms)


def test_descriptions_come_from_the_broker_that_listed(state: FakeCluster, cluster: Cluster) -> None:
    """No coordinator is looked up, because FindCoordinator would create the topic of transactions."""
    state.transactions = {"a": transaction("a", 1), "b": transaction("b", 3, error_code=FORBIDDEN)}
    listings = list_transactions(cluster, soon())
    assert sorted(listings.answers) == [1, 2, 3]
    assert cluster.coordinator_of("b", TRANSACTION) == 3
    described = describe_transactions(cluster, ["a", "b"], soon())
    assert described.answers == {"a": state.transactions["a"].described}
    assert described.sources["a"].node_id == 1
    assert {one.name for one in described.failures.values()} == {"TRANSACTIONAL_ID_AUTHORIZATION_FAILED"}
    assert state.count(FIND_COORDINATOR.key) == 0


def test_a_filter_by_duration(state: FakeCluster, cluster: Cluster) -> None:
    """Only transactions that are open for longer are listed. Brokers before ListTransactions v1 get no request."""
    state.transactions = {"a": transaction("a", 1, open_for_ms=10), "b": transaction("b", 1, open_for_ms=1_000)}
    listings = list_transactions(cluster, soon(), longer_than_ms=100)
    assert [one.transactional_id for one in listings.answers[1].transaction_states] == ["b"]
    state.highest[LIST_TRANSACTIONS.key] = 0
    for broker in cluster.brokers.values():
        broker.close()
    too_old = list_transactions(cluster, soon(), longer_than_ms=100)
    assert not too_old.answers
    assert {failure.name for failure in too_old.failures.values()} == {"UNSUPPORTED_VERSION"}


def test_a_broker_that_lists_nothing_is_a_failure(state: FakeCluster, cluster: Cluster) -> None:
    """The transactions that other brokers list stay."""

    def refuse(response: Any) -> Any:
        response.error_code = 31
        return response

    state.faults = [Fault(LIST_TRANSACTIONS.key, Altered(refuse), node_id=2, times=9)]
    listings = list_transactions(cluster, soon())
    assert sorted(listings.answers) == [1, 3]
    assert {item: failure.name for item, failure in listings.failures.items()} == {2: "CLUSTER_AUTHORIZATION_FAILED"}


def test_producers_come_from_the_leaders(state: FakeCluster, cluster: Cluster) -> None:
    """A leader that moved is looked up again."""
    producer = ProducerState(producer_id=7, producer_epoch=1, coordinator_epoch=-1)
    state.producers = {("orders", 0): (producer,)}
    state.topics["orders"].partitions[0].leader_id, state.topics["orders"].partitions[0].leader_epoch = 3, 1
    producers = describe_producers(cluster, [TopicPartition("orders", index) for index in range(2)], soon())
    assert producers.answers[TopicPartition("orders", 0)].active_producers == (producer,)
    assert producers.answers[TopicPartition("orders", 1)].active_producers == ()
    assert producers.sources[TopicPartition("orders", 0)].node_id == 3


@pytest.mark.usefixtures("altering_apis")
def test_abort_transactions_writes_markers_to_the_leaders(state: FakeCluster, cluster: Cluster) -> None:
    """The marker has the epochs that the leader returned, 0 for an unknown coordinator epoch; a moved leader is looked up."""
    first, second = (TopicPartition("orders", index) for index in (0, 1))
    moved = state.topics["orders"].partitions[0]
    moved.leader_id, moved.leader_epoch = 3, 1
    wanted = [OpenTransaction(first, 7, 3, 9), OpenTransaction(second, 8, 0, -1)]
    assert set(abort_transactions(cluster, wanted, soon()).answers) == set(wanted)
    markers = {
        (one.producer_id, one.producer_epoch, one.transaction_result, one.coordinator_epoch, one.topics[0].name)
        for one in state.markers
    }
    assert markers == {(7, 3, False, 9, "orders"), (8, 0, False, 0, "orders")}


@pytest.mark.usefixtures("altering_apis")
def test_a_marker_is_not_written_twice(state: FakeCluster, cluster: Cluster) -> None:
    """A second marker would abort a transaction that the producer has begun since."""
    state.faults = [Fault(WRITE_TXN_MARKERS.key, Close())]
    transaction = OpenTransaction(TopicPartition("orders", 0), 7, 3, 9)
    (failure,) = abort_transactions(cluster, [transaction], soon()).failures.values()
    assert (str(failure.scope), failure.may_be_done) == ("orders-0", True)
    assert state.count(WRITE_TXN_MARKERS.key) == 1


def test_fence_producers_takes_their_ids_over(state: FakeCluster, cluster: Cluster) -> None:
    """While the coordinator aborts an open transaction it returns CONCURRENT_TRANSACTIONS, and the request is repeated."""

    def busy(answer: Any) -> Any:
        return replace(answer, error_code=51)

    cluster.learn_coordinators({"a": 2}, TRANSACTION)
    state.faults = [Fault(INIT_PRODUCER_ID.key, Altered(busy))]
    (answer,) = fence_producers(cluster, {"a": 60_000}, soon()).answers.values()
    assert answer.producer_id >= 0
    assert state.count(INIT_PRODUCER_ID.key, 2) == 2


def test_a_producer_may_be_fenced_whose_transaction_is_not_aborted_in_time(
    state: FakeCluster, cluster: Cluster
) -> None:
    """The coordinator fences the producer first; then it waits, maybe for replicas of a partition, or is found no more."""

    def refused(code: int) -> Any:
        return Altered(lambda answer: replace(answer, error_code=code))

    cluster.learn_coordinators({"a": 2}, TRANSACTION)
    state.faults = [
        Fault(INIT_PRODUCER_ID.key, refused(51)),
        Fault(INIT_PRODUCER_ID.key, refused(14), times=999),
    ]
    (failure,) = fence_producers(cluster, {"a": 60_000}, Deadline.after(cluster.clock, 500)).failures.values()
    assert (failure.code, failure.may_be_done) == (14, True)
    state.faults = [Fault(INIT_PRODUCER_ID.key, refused(14), times=999)]
    (failure,) = fence_producers(cluster, {"a": 60_000}, Deadline.after(cluster.clock, 500)).failures.values()
    assert (failure.code, failure.may_be_done) == (14, False)


def test_a_producer_with_two_phase_commit_is_fenced(cluster: Cluster, requests_of: RequestsOf) -> None:
    """Its timeout is the largest int32, which brokers refuse in a request without two-phase commit (KIP-939)."""
    cluster.learn_coordinators({"a": 2, "b": 2}, TRANSACTION)
    sent = requests_of(INIT_PRODUCER_ID)
    assert len(fence_producers(cluster, {"a": MOST_INT32, "b": 100}, soon()).answers) == 2
    timeouts = {one.transactional_id: one.transaction_timeout_ms for one in sent}
    assert timeouts == {"a": cluster.settings.request_timeout_ms, "b": 100}


def test_a_producer_is_not_fenced_twice(state: FakeCluster, cluster: Cluster) -> None:
    """A second request might fence a producer that has started with the id since."""
    cluster.learn_coordinators({"a": 2}, TRANSACTION)
    state.faults = [Fault(INIT_PRODUCER_ID.key, Close())]
    (failure,) = fence_producers(cluster, {"a": 60_000}, soon()).failures.values()
    assert (str(failure.scope), failure.may_be_done) == ("transaction a", True)


def test_an_id_that_is_forgotten_meanwhile_is_no_failure(state: FakeCluster, cluster: Cluster) -> None:
    """The coordinator has no transaction of its producer any more; other failures leave that open."""
    for code, failed in ((105, []), (53, ["a"])):  # TRANSACTIONAL_ID_NOT_FOUND, TRANSACTIONAL_ID_AUTHORIZATION_FAILED
        state.transactions = {"a": transaction("a", 1, error_code=code)}
        known = transactions_of_producers(cluster, {7}, soon())
        assert (known.transactional_ids, known.descriptions) == ({7: "a"}, {})
        assert list(known.description_failures) == failed


def test_what_is_listed_twice_is_not_believed(state: FakeCluster, cluster: Cluster) -> None:
    """A producer of a partition, and a partition of a transaction, are there once."""
    producer = ProducerState(producer_id=7, producer_epoch=1, coordinator_epoch=-1)
    state.producers = {("orders", 0): (producer, replace(producer, producer_epoch=2))}
    producers = describe_producers(cluster, [TopicPartition("orders", 0)], soon())
    assert [failure.name for failure in producers.failures.values()] == ["PROTOCOL_ERROR"]
    topic = messages.TransactionTopic(topic="orders", partitions=(0, 0))
    state.transactions = {"a": transaction("a", 1)}
    state.transactions["a"].described.topics = (topic,)
    listings = list_transactions(cluster, soon())
    assert listings.answers
    described = describe_transactions(cluster, ["a"], soon())
    assert [failure.name for failure in described.failures.values()] == ["PROTOCOL_ERROR"]
