"""Description of a cluster by fake brokers: brokers, controller, and authorized operations."""

from dataclasses import replace

import pytest

from kafka_lagoon.admin.cluster import NO_CONTROLLER, describe_cluster, identify
from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.client.failures import Failure
from kafka_lagoon.protocol.acls import NOT_ASKED
from kafka_lagoon.protocol.messages.describe_cluster import DESCRIBE_CLUSTER
from tests.admin.conftest import soon
from tests.admin.test_quorum import LOG, NOT_CONTROLLER
from tests.fake.cluster import FakeCluster


@pytest.mark.usefixtures("kraft")
@pytest.mark.parametrize(
    ("log", "controller_id", "problem"),
    [
        (LOG, 3001, None),
        (replace(LOG, leader_id=-1), None, NO_CONTROLLER),
        (replace(LOG, error_code=NOT_CONTROLLER), None, "NOT_CONTROLLER"),
    ],
)
def test_the_leader_of_the_quorum_is_the_controller(
    state: FakeCluster, cluster: Cluster, log: object, controller_id: int | None, problem: str | None
) -> None:
    """With KRaft, metadata name any broker as controller. -1 stands for no controller, and an error hides it."""
    state.quorum = log
    identity = identify(cluster, soon())
    assert (identity.controller_id, identity.controller_problem) == (controller_id, problem)


def test_without_a_quorum_metadata_name_the_controller(state: FakeCluster, cluster: Cluster) -> None:
    """Brokers with ZooKeeper do not offer DescribeQuorum; the controller is known all the same."""
    state.controller_id = 2
    cluster.refresh(None, soon())
    identity = identify(cluster, soon())
    assert (identity.controller_id, identity.controller_problem) == (2, None)
    assert [failure.name for failure in identity.failures] == ["UNSUPPORTED_VERSION"]


@pytest.mark.parametrize("version", [1, 2])
def test_brokers_that_list_no_fenced_ones_are_asked_without(state: FakeCluster, cluster: Cluster, version: int) -> None:
    """DescribeCluster before v2 has no field for fenced brokers; the rest of the description is returned."""
    state.highest[DESCRIBE_CLUSTER.key] = version
    for broker in cluster.brokers.values():
        broker.close()
    described = describe_cluster(cluster, soon())
    assert not isinstance(described, Failure)
    assert {broker.broker_id for broker in described.brokers} == {1, 2, 3}


def test_what_we_may_do_is_unknown_without_a_description(state: FakeCluster, cluster: Cluster) -> None:
    """Brokers before Kafka 2.8 return no authorized operations: no problem, and no proof that permissions are missing."""
    assert identify(cluster, soon()).operations == state.cluster_operations
    for broker in cluster.brokers.values():
        broker.close()
    state.missing = {node: {DESCRIBE_CLUSTER.key} for node in state.addresses}
    identity = identify(cluster, soon())
    assert (identity.described, identity.operations, identity.description_problem) == (None, NOT_ASKED, None)
