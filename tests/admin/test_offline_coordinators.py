"""Lists of groups and transactions while partitions of the internal topics have no leader."""

from collections.abc import Callable

import pytest

from kafka_lagoon.admin.groups import list_groups
from kafka_lagoon.admin.transactions import list_transactions, transactions_of_producers
from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.client.failures import Failure
from kafka_lagoon.protocol.messages.list_groups import LIST_GROUPS
from kafka_lagoon.protocol.messages.list_transactions import LIST_TRANSACTIONS
from kafka_lagoon.protocol.messages.metadata import METADATA, NO_LEADER
from tests.admin.conftest import soon
from tests.fake.cluster import FakeCluster, FakeGroup
from tests.fake.faults import Altered, Close, Fault

GROUPS, TRANSACTIONS = "__consumer_offsets", "__transaction_state"


def of_groups(cluster: Cluster) -> list[Failure]:
    """List groups; return the failures."""
    return list(list_groups(cluster, soon()).failures)


def of_transactions(cluster: Cluster) -> list[Failure]:
    """List transactions; return the failures."""
    return list(list_transactions(cluster, soon()).failures.values())


LISTS = pytest.mark.parametrize(
    ("topic", "api", "failures_of"),
    [(GROUPS, LIST_GROUPS, of_groups), (TRANSACTIONS, LIST_TRANSACTIONS, of_transactions)],
    ids=["groups", "transactions"],
)


@LISTS
@pytest.mark.parametrize("leader_id", [NO_LEADER, 9], ids=["none", "a broker without our listener"])
def test_a_partition_without_a_leader(
    state: FakeCluster,
    cluster: Cluster,
    topic: str,
    api: object,
    failures_of: Callable[[Cluster], list[Failure]],
    leader_id: int,
) -> None:
    """No broker lists what is stored in it, and none reports an error: so the list as a whole has failed."""
    state.add_topic(topic, 3)
    state.groups = {"g": FakeGroup(coordinator_id=1)}
    assert not failures_of(cluster)
    state.topics[topic].partitions[1].leader_id = leader_id
    (failure,) = failures_of(cluster)
    assert (failure.api, failure.name, failure.is_required) == (api.name, "COORDINATOR_NOT_AVAILABLE", True)
    assert failure.message.startswith(f"1 of 3 partitions of {topic} have no leader")
    assert str(failure.scope) == "the whole list"
    assert cluster.request_stats.item_counts[api.name, None].failed == 1


@LISTS
def test_the_leaders_are_unknown(
    state: FakeCluster, cluster: Cluster, topic: str, api: object, failures_of: Callable[[Cluster], list[Failure]]
) -> None:
    """The list may be short if no broker answers who leads."""
    state.faults.append(Fault(METADATA.key, Close(), times=100))
    failure = failures_of(cluster)[-1]
    assert (failure.api, failure.name) == (api.name, "CONNECTION_FAILED")
    assert f"the leaders of {topic} are unknown" in failure.message


@LISTS
def test_a_topic_that_we_may_not_describe(
    state: FakeCluster, cluster: Cluster, topic: str, api: object, failures_of: Callable[[Cluster], list[Failure]]
) -> None:
    """Its leaders cannot be known, and the list is believed."""

    def denied(response: object) -> object:
        for described in response.topics:
            described.error_code, described.partitions = 29, ()
        return response

    state.add_topic(topic, 3).partitions[0].leader_id = NO_LEADER
    state.faults.append(Fault(METADATA.key, Altered(denied), times=100))
    assert not failures_of(cluster), api


def test_no_verdict_about_a_producer_whose_coordinator_may_be_offline(state: FakeCluster, cluster: Cluster) -> None:
    """Its transaction may be one that is going on: what no broker lists is not proven to be gone."""
    state.add_topic(TRANSACTIONS, 3).partitions[2].leader_id = NO_LEADER
    transactions = transactions_of_producers(cluster, {7}, soon())
    assert [failure.name for failure in transactions.list_failures] == ["COORDINATOR_NOT_AVAILABLE"]
