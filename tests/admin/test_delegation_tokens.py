"""Delegation tokens of fake brokers."""

import pytest

from kafka_lagoon.admin.delegation_tokens import (
    NOW,
    NewToken,
    create_delegation_tokens,
    describe_delegation_tokens,
    expire_delegation_tokens,
    renew_delegation_tokens,
)
from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.client.failures import Failure
from kafka_lagoon.protocol.messages.create_delegation_token import CREATE_DELEGATION_TOKEN
from tests.admin.conftest import soon
from tests.fake.cluster import FakeCluster
from tests.fake.faults import Close, Fault
from tests.security_samples import token


@pytest.mark.usefixtures("security_apis")
def test_no_secret_comes_out(state: FakeCluster, cluster: Cluster) -> None:
    """The secret of a token is not in the result, although brokers send it with every token."""
    state.tokens = (token("t1", "root"),)
    described = describe_delegation_tokens(cluster, soon())
    assert not isinstance(described, Failure)
    assert [(one.token_id, one.hmac) for one in described] == [("t1", b"")]
    assert "hmac-that-nobody-keeps" not in repr(described)


@pytest.mark.usefixtures("security_apis")
def test_a_cluster_without_tokens(state: FakeCluster, cluster: Cluster) -> None:
    """Disabled tokens are a failure with a name; an empty list is a valid answer."""
    refused = describe_delegation_tokens(cluster, soon())
    assert isinstance(refused, Failure)
    assert refused.name == "DELEGATION_TOKEN_AUTH_DISABLED"
    state.tokens = ()
    assert describe_delegation_tokens(cluster, soon()) == []


@pytest.mark.usefixtures("altering_apis")
def test_create_delegation_tokens_shows_the_secret_once(cluster: Cluster) -> None:
    """The result has the secret of a new token as base64, as clients use it to log in; it is never printed."""
    wanted = NewToken(owner=("User", "alice"), renewers=(("User", "bob"),))
    (created,) = create_delegation_tokens(cluster, [wanted], soon()).answers.values()
    assert (created.owner, created.hmac.reveal()) == ("User:alice", "//4=")
    assert "//4=" not in repr(created)


@pytest.mark.usefixtures("altering_apis")
def test_create_delegation_tokens_never_twice(state: FakeCluster, cluster: Cluster) -> None:
    """A second request would make a second token."""
    state.faults = [Fault(CREATE_DELEGATION_TOKEN.key, Close())]
    (failure,) = create_delegation_tokens(cluster, [NewToken()], soon()).failures.values()
    assert failure.may_be_done
    assert (str(failure.scope), state.count(CREATE_DELEGATION_TOKEN.key)) == ("delegation token", 1)


@pytest.mark.usefixtures("altering_apis")
def test_tokens_are_renewed_and_expired_by_their_ids(state: FakeCluster, cluster: Cluster) -> None:
    """renew_delegation_tokens and expire_delegation_tokens look up the secrets by id; an id that is not listed is a failure."""
    state.tokens = (token("t1", "root"),)
    renewed = renew_delegation_tokens(cluster, {"t1": 1_000, "gone": 5}, soon())
    assert renewed.answers == {"t1": 1_000}
    assert (str(renewed.failures["gone"].scope), renewed.failures["gone"].name) == (
        "delegation token gone",
        "DELEGATION_TOKEN_NOT_FOUND",
    )
    expired = expire_delegation_tokens(cluster, {"t1": NOW}, soon())
    assert expired.answers == {"t1": 7}
    assert state.tokens == ()
    assert "hmac-that-nobody-keeps" not in repr((renewed, expired))


@pytest.mark.usefixtures("altering_apis")
def test_tokens_that_cannot_be_described_are_not_renewed(cluster: Cluster) -> None:
    """Each token has its own failure."""
    failures = renew_delegation_tokens(cluster, {"t1": 1_000, "t2": 1_000}, soon()).failures
    assert {one.name for one in failures.values()} == {"DELEGATION_TOKEN_AUTH_DISABLED"}
    assert [str(one.scope) for one in failures.values()] == ["delegation token t1", "delegation token t2"]
