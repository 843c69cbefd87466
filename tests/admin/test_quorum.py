"""The metadata quorum of fake brokers."""

from dataclasses import replace

import pytest

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
def test_any_broker_answers(state: FakeCluster, cluster: Cluster) -> None:
    """With the metadata log as the leader of the quorum sees it."""
    state.quorum = LOG
    response = describe_quorum(cluster, soon())
    assert not isinstance(response, Failure)
    assert list(quorum_partitions(response)) == [LOG]
    assert list(quorum_failures(response)) == []


@pytest.mark.usefixtures("kraft")
def test_an_error_inside_the_answer_is_a_failure(state: FakeCluster, cluster: Cluster) -> None:
    """The answer as a whole has error 0, its partition has not."""
    state.quorum = replace(LOG, error_code=NOT_CONTROLLER)
    response = describe_quorum(cluster, soon())
    assert not isinstance(response, Failure)
    assert [failure.name for failure in quorum_failures(response)] == ["NOT_CONTROLLER"]


def test_brokers_on_zookeeper_have_no_quorum(cluster: Cluster) -> None:
    """They do not offer the API."""
    refused = describe_quorum(cluster, soon())
    assert isinstance(refused, Failure)
    assert refused.name == "UNSUPPORTED_VERSION"
