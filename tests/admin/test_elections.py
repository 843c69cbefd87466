"""Elections by fake brokers."""

from collections.abc import Callable

import pytest

from kafka_lagoon.admin.elections import elect_leaders
from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.protocol.messages.elect_leaders import ELECT_LEADERS, PREFERRED, UNCLEAN
from kafka_lagoon.topic_partition import TopicPartition
from tests.admin.conftest import soon
from tests.fake.cluster import FakeCluster

pytestmark = pytest.mark.usefixtures("topic_apis")
ORDERS = [TopicPartition("orders", number) for number in range(3)]


def test_elect_leaders(state: FakeCluster, cluster: Cluster) -> None:
    """A partition with its preferred leader is a success; if that replica is down, the request is not repeated."""
    partitions = state.topics["orders"].partitions
    partitions[1].leader_id = 3
    partitions[2].replicas = (9, 1)
    failures = elect_leaders(cluster, ORDERS, PREFERRED, soon())
    assert [(one.partition, failure.name, failure.message) for one, failure in failures.items()] == [
        (2, "PREFERRED_LEADER_NOT_AVAILABLE", "The preferred leader was not available.")
    ]
    assert partitions[1].leader_id == 2
    assert state.count(ELECT_LEADERS.key) == 1


def test_brokers_without_unclean_elections(state: FakeCluster, connect: Callable[[], Cluster]) -> None:
    """Version 0 knows only preferred elections: for an unclean election nothing is sent."""
    state.highest[ELECT_LEADERS.key] = 0
    cluster = connect()
    assert {one.name for one in elect_leaders(cluster, ORDERS, UNCLEAN, soon()).values()} == {"UNSUPPORTED_VERSION"}
    assert state.count(ELECT_LEADERS.key) == 0
    assert elect_leaders(cluster, ORDERS, PREFERRED, soon()) == {}
