"""Client quotas of fake brokers."""

import pytest

from kafka_lagoon.admin.quotas import describe_client_quotas
from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.client.failures import Failure
from kafka_lagoon.protocol.messages.describe_client_quotas import DESCRIBE_CLIENT_QUOTAS
from tests.admin.conftest import soon
from tests.fake.cluster import FakeCluster
from tests.security_samples import quotas


@pytest.mark.usefixtures("security_apis")
def test_all_entities_come_with_one_request(state: FakeCluster, cluster: Cluster) -> None:
    """A filter without components matches every entity."""
    state.quotas = (quotas({"user": "a"}, producer_byte_rate=1.0), quotas({"ip": None}, connection_creation_rate=2.0))
    assert describe_client_quotas(cluster, soon()) == state.quotas
    assert state.count(DESCRIBE_CLIENT_QUOTAS.key) == 1


@pytest.mark.usefixtures("security_apis")
def test_a_refusal_is_a_failure_and_no_empty_list(state: FakeCluster, cluster: Cluster) -> None:
    """The answer's entries are null then."""
    state.cluster_operations = 0
    refused = describe_client_quotas(cluster, soon())
    assert isinstance(refused, Failure)
    assert (refused.name, str(refused.scope)) == ("CLUSTER_AUTHORIZATION_FAILED", "client quotas")
