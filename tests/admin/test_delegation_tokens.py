"""Delegation tokens of fake brokers."""

import pytest

from kafka_lagoon.admin.delegation_tokens import describe_delegation_tokens
from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.client.failures import Failure
from tests.admin.conftest import soon
from tests.fake.cluster import FakeCluster
from tests.security_samples import token


@pytest.mark.usefixtures("security_apis")
def test_no_secret_comes_out(state: FakeCluster, cluster: Cluster) -> None:
    """The broker sends the secret of every token that we may see."""
    state.tokens = (token("t1", "root"),)
    described = describe_delegation_tokens(cluster, soon())
    assert not isinstance(described, Failure)
    assert [(one.token_id, one.hmac) for one in described] == [("t1", b"")]
    assert "hmac-that-nobody-keeps" not in repr(described)


@pytest.mark.usefixtures("security_apis")
def test_a_cluster_without_tokens(state: FakeCluster, cluster: Cluster) -> None:
    """Tokens that are switched off are a failure with a name, none is an answer."""
    refused = describe_delegation_tokens(cluster, soon())
    assert isinstance(refused, Failure)
    assert refused.name == "DELEGATION_TOKEN_AUTH_DISABLED"
    state.tokens = ()
    assert describe_delegation_tokens(cluster, soon()) == []
