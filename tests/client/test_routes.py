"""Routes: the broker of an item, the scope of its failures, and the request that looks it up again."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.client.failures import Scope
from kafka_lagoon.client.routes import ByAny, ByBroker, ByController, ByCoordinator, ByLeader
from kafka_lagoon.clock import Deadline
from kafka_lagoon.protocol.messages.api_versions import API_VERSIONS
from kafka_lagoon.protocol.messages.describe_cluster import DESCRIBE_CLUSTER
from kafka_lagoon.protocol.messages.find_coordinator import (
    FIND_COORDINATOR,
    GROUP,
    TRANSACTION,
    Coordinator,
    FindCoordinatorResponse,
)
from kafka_lagoon.protocol.messages.metadata import METADATA
from kafka_lagoon.topic_partition import TopicPartition
from tests.clock import CLOCK
from tests.fake.cluster import FakeCluster, FakeGroup
from tests.fake.faults import Altered, Fault

Connect = Callable[[], Cluster]
ORDERS = TopicPartition("orders", 0)


def soon() -> Deadline:
    """A deadline that does not pass in a test."""
    return Deadline.after(CLOCK, 2_000)


def by_any(cluster: Cluster) -> ByAny:
    """Make a route whose scopes do not matter."""
    return ByAny(cluster, Scope.topic)


def requests(state: FakeCluster, refresh: Callable[[], None]) -> list[int]:
    """Return the APIs of the requests that a refresh sends, without those that open a connection."""
    before = len(state.requests)
    refresh()
    return [key for _, key, _ in state.requests[before:] if key not in (API_VERSIONS.key, DESCRIBE_CLUSTER.key)]


def test_partitions_go_to_their_leaders(state: FakeCluster, connect: Connect) -> None:
    """The leader is unknown before metadata; a refresh requests the affected topics, once for all."""
    route = ByLeader(connect())
    assert route.node_of(ORDERS) is None
    others = [TopicPartition("orders", partition) for partition in range(3)]
    assert requests(state, lambda: route.refresh(others, soon())) == [METADATA.key]
    assert [route.node_of(partition) for partition in others] == [1, 2, 3]
    assert route.scope_of(ORDERS) == Scope.of_partition("orders", 0)


def test_groups_go_to_their_coordinators(state: FakeCluster, connect: Connect) -> None:
    """The coordinator is unknown before it was listed or looked up; one request looks up all groups."""
    state.groups = {name: FakeGroup(coordinator_id=node) for node, name in enumerate(("a", "b", "c"), 1)}
    route = ByCoordinator(connect())
    assert route.node_of("a") is None
    assert requests(state, lambda: route.refresh(["a", "b"], soon())) == [METADATA.key, FIND_COORDINATOR.key]
    assert [route.node_of(group_id) for group_id in "abc"] == [1, 2, None]
    assert route.scope_of("a") == Scope.group("a")


def test_coordinators_that_are_refused(state: FakeCluster, connect: Connect) -> None:
    """An id without permission fails for good; a coordinator that is not there yet is looked up again."""
    refused = FindCoordinatorResponse(
        coordinators=tuple(
            Coordinator(key=key, node_id=-1, error_code=code)
            for key, code in (("denied", 30), ("loading", 14), ("new", 15))
        )
    )
    state.faults.append(Fault(FIND_COORDINATOR.key, Altered(lambda _: refused), times=1_000))
    failures = ByCoordinator(connect()).refresh(["denied", "loading", "new"], soon())
    assert {key: one.name for key, one in failures.items()} == {"denied": "GROUP_AUTHORIZATION_FAILED"}


def test_any_broker_and_then_another(state: FakeCluster, connect: Connect) -> None:
    """After each failure the next broker is chosen, but none that cannot be reached or failed last time while there is another."""
    cluster = connect()
    route = ByAny(cluster, lambda _: Scope.cluster())

    def chosen() -> int | None:
        route.refresh(["x"], soon())
        return route.node_of("x")

    assert [route.node_of("x"), *(chosen() for _ in range(3))] == [1, 2, 3, 1]
    cluster.unreachable.add(cluster.brokers[2].address)
    assert [chosen() for _ in range(3)] == [3, 1, 3]
    cluster.unreachable.add(cluster.brokers[1].address)
    assert chosen() == 3
    for node_id in (1, 2):
        cluster.unreachable.learn(cluster.brokers[node_id].address, [None], 0, 0)
    cluster.brokers[2].failing = True
    assert [chosen() for _ in range(3)] == [1, 3, 1]
    assert requests(state, lambda: route.refresh(["x"], soon())) == [METADATA.key]


def test_a_broker_that_is_behind(state: FakeCluster, connect: Connect) -> None:
    """After a leader, coordinator or controller turned out to be wrong, another broker is asked than the one that named it."""
    state.groups, state.controller_id = {"a": FakeGroup(coordinator_id=2)}, 3
    is_behind = Altered(lambda metadata: replace(metadata, topics=(), controller_id=1))
    state.faults += [
        Fault(METADATA.key, is_behind, node_id=1, times=1_000),
        Fault(FIND_COORDINATOR.key, Altered(lambda answer: replace(answer, coordinators=())), node_id=1, times=1_000),
    ]
    cluster = connect()
    routes: list[tuple[Any, Any, int]] = [
        (ByLeader(cluster), ORDERS, 1),
        (ByCoordinator(cluster), "a", 2),
        (ByController(cluster), "x", 3),
    ]
    for route, item, node_id in routes:
        cluster.refresh((), soon())
        assert cluster.answered_by == cluster.brokers[1].address
        route.refresh([item], soon())
        assert route.node_of(item) == node_id


def test_a_controller_that_fails_and_that_others_stand_in_for(state: FakeCluster, connect: Connect) -> None:
    """Under KRaft metadata name any broker as the controller; without KRaft they go on naming the one that fails."""
    state.controller_id = 2
    cluster = connect()
    cluster.brokers[2].failing = True
    route = ByController(cluster)
    state.faults.append(Fault(METADATA.key, Altered(lambda metadata: replace(metadata, controller_id=2)), times=3))
    state.controller_id = 3
    assert requests(state, lambda: route.refresh(["x"], soon())) == [METADATA.key] * 4
    assert route.node_of("x") == 3
    state.controller_id = 2
    assert set(requests(state, lambda: route.refresh(["x"], soon()))) == {METADATA.key}
    assert route.node_of("x") == 2


def test_kinds_of_coordinators_are_apart(connect: Connect) -> None:
    """A transactional id with the name of a group has its own coordinator."""
    cluster = connect()
    cluster.learn_coordinators({"same": 1})
    cluster.learn_coordinators({"same": 3}, TRANSACTION)
    assert ByCoordinator(cluster, GROUP).node_of("same") == 1
    assert ByCoordinator(cluster, TRANSACTION).node_of("same") == 3
    assert ByCoordinator(cluster, TRANSACTION).scope_of("same") == Scope.transaction("same")


def test_changes_go_to_the_controller(state: FakeCluster, connect: Connect) -> None:
    """The controller is the broker that current metadata name."""
    route = ByController(connect())
    assert route.node_of("anything") == 1
    state.controller_id = 3
    assert requests(state, lambda: route.refresh(["anything"], soon())) == [METADATA.key]
    assert route.node_of("anything") == 3
    assert route.scope_of("anything") == Scope.cluster()


def test_brokers_go_to_themselves(state: FakeCluster, connect: Connect) -> None:
    """Brokers are routed to as long as metadata list them."""
    route = ByBroker(connect())
    assert (route.node_of(2), route.node_of(9)) == (2, None)
    del state.addresses[2]
    assert requests(state, lambda: route.refresh([2], soon())) == [METADATA.key]
    assert route.node_of(2) is None
    assert route.scope_of(2) == Scope.broker(2)


@pytest.mark.parametrize(
    ("route", "item"), [(ByLeader, ORDERS), (ByCoordinator, "g"), (ByController, "x"), (ByBroker, 0), (by_any, "x")]
)
def test_broker_0_is_a_broker(state: FakeCluster, connect: Connect, route: Any, item: Any) -> None:
    """Kafka numbers brokers from 0."""
    cluster = connect()
    state.addresses = {node_id - 1: address for node_id, address in state.addresses.items()}
    state.controller_id = state.topics["orders"].partitions[0].leader_id = 0
    state.groups["g"] = FakeGroup(coordinator_id=0)
    cluster.refresh(None, soon())
    cluster.find_coordinators(["g"], soon())
    assert route(cluster).node_of(item) == 0


@pytest.mark.parametrize(("route", "item"), [(ByLeader, ORDERS), (ByCoordinator, "g"), (ByController, "x")])
def test_a_broker_that_is_gone_is_no_target(state: FakeCluster, connect: Connect, route: Any, item: Any) -> None:
    """No request is sent to a leader, coordinator or controller that metadata no longer list."""
    cluster = connect()
    cluster.refresh(None, soon())
    cluster.learn_coordinators({"g": 1})
    assert route(cluster).node_of(item) == 1
    del state.addresses[1]
    cluster.refresh((), soon())
    assert route(cluster).node_of(item) is None
