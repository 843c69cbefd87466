"""Transactions and producers of fake brokers."""

from typing import Any

from kafka_lagoon.admin.transactions import describe_producers, describe_transactions, list_transactions
from kafka_lagoon.client.cluster import Cluster, TopicPartition
from kafka_lagoon.protocol.messages import describe_transactions as messages
from kafka_lagoon.protocol.messages.describe_producers import ProducerState
from kafka_lagoon.protocol.messages.find_coordinator import FIND_COORDINATOR, TRANSACTION
from kafka_lagoon.protocol.messages.list_transactions import LIST_TRANSACTIONS
from tests.admin.conftest import soon
from tests.fake.cluster import FakeCluster, FakeTransaction
from tests.fake.faults import Altered, Fault

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
    """No coordinator is looked up: FindCoordinator would create the topic that transactions are kept in."""
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
    """Only transactions that are open for longer; brokers before ListTransactions v1 cannot filter, and are not asked."""
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
    """The lists of the others stay."""

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
