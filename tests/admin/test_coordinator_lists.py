"""Lists of groups and transactions while partitions of the internal topics have no leader or change it, and after restarts."""

from collections.abc import Callable
from typing import Any

import pytest

from kafka_lagoon.admin.groups import list_groups
from kafka_lagoon.admin.transactions import list_transactions, transactions_of_producers
from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.client.failures import Failure
from kafka_lagoon.protocol.error_codes import GROUP_AUTHORIZATION_FAILED, NOT_COORDINATOR
from kafka_lagoon.protocol.messages.api_versions import API_VERSIONS
from kafka_lagoon.protocol.messages.describe_groups import DESCRIBE_GROUPS
from kafka_lagoon.protocol.messages.describe_transactions import DESCRIBE_TRANSACTIONS
from kafka_lagoon.protocol.messages.find_coordinator import TRANSACTION
from kafka_lagoon.protocol.messages.list_groups import LIST_GROUPS
from kafka_lagoon.protocol.messages.list_transactions import LIST_TRANSACTIONS
from kafka_lagoon.protocol.messages.metadata import METADATA, NO_LEADER
from tests.admin.conftest import soon
from tests.admin.test_transactions import transaction
from tests.fake.cluster import FakeCluster, FakeGroup
from tests.fake.faults import Altered, Close, Fault, Hang, Slow

GROUPS, TRANSACTIONS = "__consumer_offsets", "__transaction_state"


def of_groups(cluster: Cluster) -> list[Failure]:
    """List groups; return the failures."""
    return list(list_groups(cluster, soon()).failures)


def of_transactions(cluster: Cluster) -> list[Failure]:
    """List transactions; return the failures."""
    return list(list_transactions(cluster, soon()).failures.values())


def group_ids(cluster: Cluster) -> tuple[list[str], list[str]]:
    """List groups; return their ids and the names of the failures."""
    listings = list_groups(cluster, soon())
    assert {group_id: cluster.coordinator_of(group_id) for group_id in listings.groups} == {
        group_id: listing.node_id for group_id, listing in listings.groups.items()
    }
    return sorted(listings.groups), [failure.name for failure in listings.failures]


def transactional_ids(cluster: Cluster) -> tuple[list[str], list[str]]:
    """List transactions; return each id as often as it is listed, and the names of the failures."""
    listings = list_transactions(cluster, soon())
    listed = [
        (one.transactional_id, node_id)
        for node_id, response in listings.answers.items()
        for one in response.transaction_states
    ]
    assert all(cluster.coordinator_of(one, TRANSACTION) == node_id for one, node_id in listed)
    return sorted(one for one, _ in listed), [failure.name for failure in listings.failures.values()]


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


MOVES = pytest.mark.parametrize(
    ("topic", "api", "listed"),
    [(GROUPS, LIST_GROUPS, group_ids), (TRANSACTIONS, LIST_TRANSACTIONS, transactional_ids)],
    ids=["groups", "transactions"],
)
Listed = Callable[[Cluster], tuple[list[str], list[str]]]


def hand_over(state: FakeCluster, topic: str, api: Any, times: int = 1) -> None:
    """Broker 1 coordinates "stays". Brokers 1 and 2 hand "moves" over while they list, and neither of them lists it."""
    partition = state.add_topic(topic, 2).partitions[1]
    partition.leader_id = 2
    state.groups = {"stays": FakeGroup(coordinator_id=1), "moves": FakeGroup(coordinator_id=2)}
    state.transactions = {"stays": transaction("stays", 1), "moves": transaction("moves", 2)}

    def without_moves(response: Any) -> Any:
        if api is LIST_GROUPS:
            response.groups = tuple(one for one in response.groups if one.group_id == "stays")
        else:
            listed = response.transaction_states
            response.transaction_states = tuple(one for one in listed if one.transactional_id == "stays")
        return response

    def moved(response: Any) -> Any:
        partition.leader_id, partition.leader_epoch = 3 - partition.leader_id, partition.leader_epoch + 1
        state.groups["moves"].coordinator_id = state.transactions["moves"].coordinator_id = partition.leader_id
        return without_moves(response)

    state.faults = [Fault(api.key, Altered(without_moves), 1, times), Fault(api.key, Altered(moved), 2, times)]


@MOVES
def test_a_coordinator_that_moves_during_the_list(
    state: FakeCluster, cluster: Cluster, topic: str, api: Any, listed: Listed
) -> None:
    """The list is requested once more, and both lists together are complete; what is in both is listed once."""
    hand_over(state, topic, api)
    assert listed(cluster) == (["moves", "stays"], [])
    assert state.count(api.key) == 2 * len(state.addresses)


@MOVES
def test_a_coordinator_that_moves_again_during_the_second_list(
    state: FakeCluster, cluster: Cluster, topic: str, api: Any, listed: Listed
) -> None:
    """The list may be short, and has failed."""
    hand_over(state, topic, api, times=2)
    assert listed(cluster) == (["stays"], ["COORDINATOR_MOVED"])
    assert cluster.request_stats.item_counts[api.name, None].failed == 1


@MOVES
def test_a_coordinator_that_does_not_move(
    state: FakeCluster, cluster: Cluster, topic: str, api: Any, listed: Listed
) -> None:
    """The list is requested once, and the leaders three times: of two brokers before the list, and of another one after it."""
    hand_over(state, topic, api, times=0)
    before = state.count(METADATA.key)
    assert listed(cluster) == (["moves", "stays"], [])
    assert (state.count(api.key), state.count(METADATA.key) - before) == (len(state.addresses), 3)


@MOVES
def test_a_broker_that_leaves_during_the_list(
    state: FakeCluster, cluster: Cluster, topic: str, api: Any, listed: Listed
) -> None:
    """Who takes over from it may have listed nothing of it yet, so the list is requested once more."""
    hand_over(state, topic, api, times=0)

    def without_3(response: Any) -> Any:
        response.brokers = tuple(broker for broker in response.brokers if broker.node_id != 3)
        return response

    state.faults += [Fault(METADATA.key, Slow(0), times=2), Fault(METADATA.key, Altered(without_3), times=1_000)]
    ids, failures = listed(cluster)
    assert (ids, set(failures)) == (["moves", "stays"], {"BROKER_NOT_AVAILABLE"})
    assert state.count(api.key, 1) == 2


@MOVES
def test_a_coordinator_that_moves_and_fails(
    state: FakeCluster, cluster: Cluster, topic: str, api: Any, listed: Listed
) -> None:
    """A partition that has no leader after the second list has failed it, as after the first."""
    hand_over(state, topic, api)

    def leaderless(response: Any) -> Any:
        state.topics[topic].partitions[0].leader_id = NO_LEADER
        return response

    state.faults.append(Fault(api.key, Altered(leaderless), 3))
    assert listed(cluster)[1] == ["COORDINATOR_NOT_AVAILABLE"]


@MOVES
def test_a_broker_whose_leaders_are_old(
    state: FakeCluster, cluster: Cluster, topic: str, api: Any, listed: Listed
) -> None:
    """Brokers that agree before and after both lists are believed: no coordinator has moved."""

    def old(response: Any) -> Any:
        for partition in response.topics[0].partitions:
            partition.leader_id, partition.leader_epoch = 3, partition.leader_epoch - 1
        return response

    hand_over(state, topic, api, times=0)
    state.topics[topic].partitions[1].leader_epoch = 7
    state.faults.append(Fault(METADATA.key, Slow(0), times=2))
    state.faults.append(Fault(METADATA.key, Altered(old)))
    assert listed(cluster) == (["moves", "stays"], [])
    assert state.count(api.key) == 2 * len(state.addresses)


@MOVES
def test_the_leaders_are_unknown_after_the_list(
    state: FakeCluster, cluster: Cluster, topic: str, api: Any, listed: Listed
) -> None:
    """The earlier list stays, and is not requested again."""
    hand_over(state, topic, api, times=0)
    state.faults += [Fault(METADATA.key, Slow(0), times=2), Fault(METADATA.key, Close(), times=100)]
    assert listed(cluster) == (["moves", "stays"], ["CONNECTION_FAILED"])
    assert state.count(api.key) == len(state.addresses)


DESCRIBED = {LIST_GROUPS: DESCRIBE_GROUPS, LIST_TRANSACTIONS: DESCRIBE_TRANSACTIONS}


def refuse(state: FakeCluster, api: Any, code: int, times: int, node_id: int = 2) -> None:
    """A broker refuses so many descriptions, and lists nothing for as long."""

    def refused(response: Any) -> Any:
        for described in response.groups if api is LIST_GROUPS else response.transaction_states:
            described.error_code = code
        return response

    def listing(response: Any) -> Any:
        if refusal.times:
            setattr(response, "groups" if api is LIST_GROUPS else "transaction_states", ())
        return response

    refusal = Fault(DESCRIBED[api].key, Altered(refused), node_id, times)
    state.faults += [refusal, Fault(api.key, Altered(listing), node_id, 1_000)]


@MOVES
def test_a_leader_that_does_not_coordinate_yet(
    state: FakeCluster, cluster: Cluster, topic: str, api: Any, listed: Listed
) -> None:
    """It would list nothing and report no error: it is waited for, and no other leader is asked again meanwhile."""
    hand_over(state, topic, api, times=0)
    refuse(state, api, NOT_COORDINATOR, times=3)
    assert listed(cluster) == (["moves", "stays"], [])
    assert state.count(api.key) == len(state.addresses)
    described = DESCRIBED[api].key
    assert (state.count(described, 1), state.count(described, 2)) == (2, 4)  # the first once more, as it may deny


@MOVES
def test_a_leader_that_does_not_describe(
    state: FakeCluster, cluster: Cluster, topic: str, api: Any, listed: Listed
) -> None:
    """It denies nothing, and the others are waited for."""
    hand_over(state, topic, api, times=0)
    state.faults.append(Fault(DESCRIBED[api].key, Close(), 1, 1_000))
    refuse(state, api, NOT_COORDINATOR, times=3)
    assert listed(cluster) == (["moves", "stays"], [])


@MOVES
def test_a_new_leader_that_never_coordinates(
    state: FakeCluster, connect: Callable[..., Cluster], topic: str, api: Any, listed: Listed
) -> None:
    """The second list may be short, as the first one is, and has failed."""
    cluster = connect(default_api_timeout_ms=400)
    hand_over(state, topic, api)
    state.faults.append(Fault(DESCRIBED[api].key, Slow(0), 1, 2))  # before the first list
    refuse(state, api, NOT_COORDINATOR, times=1_000, node_id=1)
    assert listed(cluster)[1] == ["NOT_COORDINATOR"]


@MOVES
def test_a_leader_that_never_coordinates(
    state: FakeCluster, connect: Callable[..., Cluster], topic: str, api: Any, listed: Listed
) -> None:
    """The list may be short, and has failed."""
    cluster = connect(default_api_timeout_ms=400)
    hand_over(state, topic, api, times=0)
    refuse(state, api, NOT_COORDINATOR, times=1_000)
    assert listed(cluster) == (["stays"], ["NOT_COORDINATOR"])
    assert cluster.request_stats.item_counts[api.name, None].failed == 1


def test_descriptions_that_are_denied(state: FakeCluster, cluster: Cluster) -> None:
    """Brokers log each that they deny: only the first is requested, and the list is believed."""
    hand_over(state, GROUPS, LIST_GROUPS, times=0)
    stays, moves = state.topics[GROUPS].partitions
    stays.leader_id, moves.leader_id = 2, 3
    refuse(state, LIST_GROUPS, GROUP_AUTHORIZATION_FAILED, times=1)
    assert group_ids(cluster) == (["moves", "stays"], [])
    assert state.count(DESCRIBE_GROUPS.key) == 1


@MOVES
def test_a_broker_that_is_silent(
    state: FakeCluster, connect: Callable[..., Cluster], topic: str, api: Any, listed: Listed
) -> None:
    """The list does not wait for it as long again: each request tries one connection."""
    hand_over(state, topic, api, times=0)
    cluster = connect(default_api_timeout_ms=4_000, socket_connection_setup_timeout_ms=100)
    state.faults.append(Fault(API_VERSIONS.key, Hang(), 2, 1_000))
    assert listed(cluster)[0] == ["stays"]
    assert state.count(API_VERSIONS.key, 2) < 8
