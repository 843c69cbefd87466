"""Unregistration and listing of the brokers of a fake cluster."""

from dataclasses import replace

import pytest

from kafka_lagoon.admin.brokers import registered_brokers, unregister_brokers
from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.client.failures import Failure
from kafka_lagoon.protocol.messages.describe_cluster import DESCRIBE_CLUSTER
from kafka_lagoon.protocol.messages.unregister_broker import UNREGISTER_BROKER
from tests.admin.conftest import soon
from tests.fake.cluster import FakeCluster
from tests.fake.faults import Altered, Close, Fault

pytestmark = pytest.mark.usefixtures("topic_apis")


def test_unregister_brokers(state: FakeCluster, cluster: Cluster) -> None:
    """Each broker has a request. After a lost response it is not sent again, because the broker may have registered again."""
    assert unregister_brokers(cluster, [7, 8], soon()) == {}
    assert state.count(UNREGISTER_BROKER.key) == 2
    state.faults.append(Fault(UNREGISTER_BROKER.key, Close()))
    failure = unregister_brokers(cluster, [7], soon())[7]
    assert (str(failure.scope), failure.may_be_done) == ("broker 7", True)
    assert state.count(UNREGISTER_BROKER.key) == 3


def test_registered_brokers(cluster: Cluster) -> None:
    """Brokers are listed by id, with their fencing state."""
    assert registered_brokers(cluster, soon()) == {1: False, 2: False, 3: False}


def test_brokers_that_cannot_list_fenced_ones(state: FakeCluster, cluster: Cluster) -> None:
    """Old brokers do not offer it, which is no failure; a broker that answers UNSUPPORTED_VERSION is one."""
    state.faults.append(Fault(DESCRIBE_CLUSTER.key, Altered(lambda response: replace(response, error_code=35))))
    answer = registered_brokers(cluster, soon())
    assert isinstance(answer, Failure)
    assert answer.code == 35
    state.highest[DESCRIBE_CLUSTER.key] = 1
    for broker in cluster.brokers.values():
        broker.close()
    assert registered_brokers(cluster, soon()) is None
