"""The metadata quorum of fake brokers."""

from dataclasses import replace

import pytest

from kafka_lagoon.admin.cluster import NO_CONTROLLER, identify
from kafka_lagoon.admin.quorum import describe_quorum, quorum_failures, quorum_partitions
from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.client.failures import Failure
from kafka_lagoon.protocol.messages.describe_quorum import QuorumPartition
from tests.admin.conftest import soon
from tests.fake.cluster import FakeCluster

NOT_CONTROLLER = 41
LOG = QuorumPartition(
    partition_index=0,
    error_code=0,
    leader_id=3001,
    leader_epoch=7,
    high_watermark=10,
    current_voters=(),
    observers=(),
)


@pytest.mark.usefixtures("kraft")
def test_the_leader_of_the_quorum_is_the_controller(state: FakeCluster, cluster: Cluster) -> None:
    """Metadata name any broker as controller under KRaft; the quorum's leader counts."""
    state.quorum = LOG
    response = describe_quorum(cluster, soon())
    assert not isinstance(response, Failure)
    assert list(quorum_partitions(response)) == [LOG]
    assert list(quorum_failures(response)) == []
    assert identify(cluster, soon()).controller_id == 3001


@pytest.mark.usefixtures("kraft")
def test_a_quorum_without_a_leader(state: FakeCluster, cluster: Cluster) -> None:
    """-1 is no controller, and the reason says so."""
    state.quorum = replace(LOG, leader_id=-1)
    identity = identify(cluster, soon())
    assert (identity.controller_id, identity.controller_problem) == (None, NO_CONTROLLER)


@pytest.mark.usefixtures("kraft")
def test_an_error_inside_the_answer_is_a_failure(state: FakeCluster, cluster: Cluster) -> None:
    """The answer as a whole has error 0, its partition has not; the controller is unknown then."""
    state.quorum = replace(LOG, error_code=NOT_CONTROLLER)
    response = describe_quorum(cluster, soon())
    assert not isinstance(response, Failure)
    assert [failure.name for failure in quorum_failures(response)] == ["NOT_CONTROLLER"]
    identity = identify(cluster, soon())
    assert (identity.controller_id, identity.controller_problem) == (None, "NOT_CONTROLLER")


def test_without_a_quorum_metadata_name_the_controller(state: FakeCluster, cluster: Cluster) -> None:
    """Brokers on ZooKeeper do not offer DescribeQuorum; that is a failure of its own and hides nothing."""
    state.controller_id = 2
    cluster.refresh(None, soon())
    refused = describe_quorum(cluster, soon())
    assert isinstance(refused, Failure)
    assert refused.name == "UNSUPPORTED_VERSION"
    identity = identify(cluster, soon())
    assert (identity.controller_id, identity.controller_problem) == (2, None)
