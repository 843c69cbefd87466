"""Only transactions that hang by the rules of Kafka's own tool are aborted."""

from collections.abc import Callable

import pytest

from kafka_lagoon.admin.transactions import describe_producers
from kafka_lagoon.apply.transaction_aborts import abort_actions
from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.protocol.messages.describe_producers import ProducerState
from kafka_lagoon.protocol.messages.list_transactions import LIST_TRANSACTIONS
from kafka_lagoon.topic_partition import TopicPartition
from tests.admin.conftest import altering_apis, cluster, soon
from tests.admin.test_transactions import transaction
from tests.clock import CLOCK
from tests.fake.cluster import FakeCluster

__all__ = ["altering_apis", "cluster"]  # fixtures of tests/admin
pytestmark = pytest.mark.usefixtures("altering_apis")
PARTITION = TopicPartition("orders", 0)


def producer(start_offset: int = 40, producer_id: int = 7, last_timestamp: int = 0) -> ProducerState:
    return ProducerState(
        producer_id=producer_id,
        producer_epoch=3,
        last_timestamp=last_timestamp,
        coordinator_epoch=-1,
        current_txn_start_offset=start_offset,
    )


def aborted(
    cluster: Cluster, start_offset: int | None = None, producer_id: int | None = None
) -> tuple[list[str], list[str], int]:
    """Return the transactions to abort, the failures, and the number of notes."""
    producers = describe_producers(cluster, [PARTITION], soon())
    aborts = abort_actions(cluster, producers, start_offset, soon(), producer_id=producer_id)
    return [one.resource.name for one in aborts.actions], [one.name for one in aborts.failures], len(aborts.notes)


def test_what_no_coordinator_lists_is_aborted(state: FakeCluster, cluster: Cluster) -> None:
    """A note says that a missing permission looks the same. Producers without an open transaction are passed over."""
    state.producers["orders", 0] = (producer(), producer(-1, 8), producer(50, 9))
    assert aborted(cluster) == (["orders-0 producer 7", "orders-0 producer 9"], [], 1)
    assert aborted(cluster, start_offset=50) == (["orders-0 producer 9"], [], 1)
    assert aborted(cluster, producer_id=7) == (["orders-0 producer 7"], [], 1)
    assert aborted(cluster, start_offset=51) == ([], [], 0)


def test_what_is_alive_is_not_aborted(state: FakeCluster, cluster: Cluster) -> None:
    """A recent transaction, and an old one that its coordinator knows."""
    state.producers["orders", 0] = (producer(last_timestamp=CLOCK.now_ms()),)
    assert aborted(cluster) == ([], ["NOT_HANGING"], 0)
    state.producers["orders", 0] = (producer(),)
    state.transactions = {"a": transaction("a", 1)}
    assert aborted(cluster) == ([], ["NOT_HANGING"], 0)


def test_what_is_not_known_to_hang_is_not_aborted(state: FakeCluster, connect: Callable[[], Cluster]) -> None:
    """A coordinator that does not answer may know the transaction."""
    state.producers["orders", 0] = (producer(),)
    state.missing = {1: {LIST_TRANSACTIONS.key}}
    cluster = connect()
    cluster.refresh(None, soon())
    assert aborted(cluster) == ([], ["UNSUPPORTED_VERSION"], 0)
