"""Actions that abort hanging transactions and fence producers."""

from dataclasses import replace

import pytest

from kafka_lagoon.apply.kinds.transactions import (
    ABORT_TRANSACTION,
    abort_transaction,
    fence_producer,
    parse_transaction,
    read_open_transactions,
    read_transactional_ids,
    transaction_resource,
)
from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.client.failures import Failure
from kafka_lagoon.errors import PlanOutdated
from kafka_lagoon.protocol.messages.describe_producers import ProducerState
from kafka_lagoon.protocol.messages.find_coordinator import TRANSACTION
from kafka_lagoon.protocol.messages.list_transactions import LIST_TRANSACTIONS
from kafka_lagoon.protocol.messages.write_txn_markers import WRITE_TXN_MARKERS
from kafka_lagoon.topic_partition import TopicPartition
from tests.admin.conftest import soon
from tests.admin.test_transactions import transaction
from tests.apply.kinds.conftest import CarryOut
from tests.fake.cluster import FakeCluster
from tests.fake.faults import Altered, Close, Fault

pytestmark = pytest.mark.usefixtures("altering_apis")
PARTITION = TopicPartition("orders", 0)


def producer(start_offset: int = 40) -> ProducerState:
    return ProducerState(producer_id=7, producer_epoch=3, coordinator_epoch=-1, current_txn_start_offset=start_offset)


def test_names_are_read_back() -> None:
    """A topic's name may look like the other parts of the line."""
    for partition in (PARTITION, TopicPartition("a-1.b", 2)):
        assert parse_transaction(transaction_resource(partition, 7).name) == (partition, 7)


def test_a_hanging_transaction_is_aborted(state: FakeCluster, cluster: Cluster, carry_out: CarryOut) -> None:
    """The state has the values for the marker; a producer without an open transaction has no state."""
    state.producers["orders", 0] = (producer(),)
    states, failures = read_open_transactions(cluster, [PARTITION], soon())
    assert (list(states.values()), failures) == (
        [{"producer_epoch": 3, "start_offset": 40, "coordinator_epoch": -1}],
        {},
    )
    assert [result.outcome for result in carry_out([abort_transaction(PARTITION, producer())]).results] == ["done"]
    (marker,) = state.markers
    assert (marker.producer_id, marker.producer_epoch, marker.coordinator_epoch) == (7, 3, 0)


def test_a_transaction_that_is_another_one_now(state: FakeCluster, carry_out: CarryOut) -> None:
    """No marker is written, because it would end the transaction that has begun since."""
    state.producers["orders", 0] = (producer(90),)
    with pytest.raises(PlanOutdated):
        carry_out([abort_transaction(PARTITION, producer())])
    assert state.markers == []


def test_a_lost_answer_is_decided_by_the_partition(state: FakeCluster, carry_out: CarryOut) -> None:
    """The transaction is no longer open, so the action is done, and no second marker is sent."""
    state.producers["orders", 0] = (producer(),)
    state.faults = [Fault(WRITE_TXN_MARKERS.key, Close(sent=1))]
    (result,) = carry_out([abort_transaction(PARTITION, producer())]).results
    assert (result.outcome, state.count(WRITE_TXN_MARKERS.key)) == ("done", 1)


def test_producers_are_fenced(state: FakeCluster, cluster: Cluster, carry_out: CarryOut) -> None:
    """The state has the timeout of the id; an id that no coordinator lists has no state."""
    state.transactions = {"a": transaction("a", 1)}
    states = read_transactional_ids(cluster, ["a", "gone"], soon())
    assert states == {"a": {"producer_id": 7, "transaction_timeout_ms": 60_000}, "gone": None}
    cluster.learn_coordinators({"a": 1}, TRANSACTION)
    before = states["a"]
    assert isinstance(before, dict)
    (result,) = carry_out([fence_producer("a", before)]).results
    assert (result.outcome, sorted(result.values or ())) == ("done", ["producer_epoch", "producer_id"])


def test_what_cannot_be_read_is_not_over(state: FakeCluster, cluster: Cluster) -> None:
    """A transaction of a partition that is not described, and an id that a broker may have, are failures; another one is over."""
    action = abort_transaction(PARTITION, producer())
    before = {"producer_epoch": 3, "start_offset": 40, "coordinator_epoch": -1}
    assert [ABORT_TRANSACTION.is_done(action, live) for live in (None, {**before, "start_offset": 90}, before)] == [
        True,
        True,
        False,
    ]
    absent = abort_transaction(TopicPartition("absent", 0), producer())
    assert isinstance(ABORT_TRANSACTION.read(cluster, [absent], soon())[absent.resource], Failure)
    refused = Altered(lambda answer: replace(answer, error_code=29))
    state.faults = [Fault(LIST_TRANSACTIONS.key, refused, node_id=2, times=9)]
    state.transactions = {"a": transaction("a", 1)}
    states = read_transactional_ids(cluster, ["a", "gone"], soon())
    assert isinstance(states["a"], dict)
    assert isinstance(states["gone"], Failure)
