"""SCRAM users of fake brokers."""

import pytest

from kafka_lagoon.admin.scram import describe_scram_users
from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.client.failures import Failure
from tests.admin.conftest import soon
from tests.fake.cluster import FakeCluster
from tests.security_samples import scram_user


@pytest.mark.usefixtures("security_apis")
def test_all_users_are_described(state: FakeCluster, cluster: Cluster) -> None:
    """No name in the request is everybody."""
    state.scram_users = (scram_user("a", 1, 2), scram_user("b", 1))
    assert describe_scram_users(cluster, soon()) == state.scram_users


@pytest.mark.usefixtures("security_apis")
def test_a_refusal_is_a_failure_and_no_empty_list(state: FakeCluster, cluster: Cluster) -> None:
    """It says that the principal may not see them, not that there are none."""
    state.cluster_operations = 0
    refused = describe_scram_users(cluster, soon())
    assert isinstance(refused, Failure)
    assert (refused.name, str(refused.scope)) == ("CLUSTER_AUTHORIZATION_FAILED", "SCRAM users")
