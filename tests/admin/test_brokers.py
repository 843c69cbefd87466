"""Brokers that a fake cluster forgets."""

import pytest

from kafka_lagoon.admin.brokers import registered_brokers, unregister_brokers
from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.protocol.messages.unregister_broker import UNREGISTER_BROKER
from tests.admin.conftest import soon
from tests.fake.cluster import FakeCluster
from tests.fake.faults import Close, Fault

pytestmark = pytest.mark.usefixtures("topic_apis")


def test_unregister_brokers(state: FakeCluster, cluster: Cluster) -> None:
    """Each broker has a request; after a lost answer it is not sent again, for the broker may have come back."""
    assert unregister_brokers(cluster, [7, 8], soon()) == {}
    assert state.count(UNREGISTER_BROKER.key) == 2
    state.faults.append(Fault(UNREGISTER_BROKER.key, Close()))
    failure = unregister_brokers(cluster, [7], soon())[7]
    assert (str(failure.scope), failure.may_be_done) == ("broker 7", True)
    assert state.count(UNREGISTER_BROKER.key) == 3


def test_registered_brokers(cluster: Cluster) -> None:
    """Brokers are listed by id, with whether they are fenced."""
    assert registered_brokers(cluster, soon()) == {1: False, 2: False, 3: False}
