"""Actions about delegation tokens."""

import pytest

from kafka_lagoon.admin.delegation_tokens import NOW, NewToken
from kafka_lagoon.apply.kinds.tokens import (
    EXPIRE_TOKEN,
    RENEW_TOKEN,
    create_token,
    expire_token,
    parse_principal,
    read_tokens,
    renew_token,
)
from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.client.failures import Failure
from kafka_lagoon.protocol.messages.create_delegation_token import CREATE_DELEGATION_TOKEN
from tests.admin.conftest import soon
from tests.apply.kinds.conftest import CarryOut
from tests.fake.cluster import FakeCluster
from tests.fake.faults import Close, Fault
from tests.security_samples import token

pytestmark = pytest.mark.usefixtures("altering_apis")


def test_principals() -> None:
    """A principal has a type and a name, which may have colons."""
    assert parse_principal("User:CN=a:b") == ("User", "CN=a:b")
    for text in ("alice", "User:", ":alice"):
        with pytest.raises(ValueError, match="User:alice"):
            parse_principal(text)


def test_a_new_token_answers_with_its_secret(state: FakeCluster, carry_out: CarryOut) -> None:
    """The secret is in the values of the result, and not in a text that could be printed by accident."""
    state.tokens = ()
    (result,) = carry_out([create_token(NewToken(owner=("User", "alice")))]).results
    assert result.values is not None
    assert (result.outcome, result.values["token_id"], result.values["hmac"].reveal()) == ("done", "token", "//4=")
    assert "//4=" not in repr(result)
    assert str(result.action.resource) == "delegation_token for User:alice"


def test_whether_a_token_was_created_is_not_guessed(state: FakeCluster, carry_out: CarryOut) -> None:
    """After a lost response the live state cannot prove the creation."""
    state.tokens = ()
    state.faults = [Fault(CREATE_DELEGATION_TOKEN.key, Close())]
    (result,) = carry_out([create_token(NewToken())]).results
    assert result.outcome == "unknown"


def test_tokens_are_renewed_and_expired(state: FakeCluster, cluster: Cluster, carry_out: CarryOut) -> None:
    """Tokens are renewed and expired by their ids; a token that expires at once needs the guard, and is deleted."""
    state.tokens = (token("t1", "root"),)
    tokens = read_tokens(cluster, soon())
    assert not isinstance(tokens, Failure)
    (renewed,) = carry_out([renew_token("t1", tokens["t1"], 1_000)]).results
    assert renewed.values == {"expires_at_ms": 1_000}
    later = expire_token("t1", tokens["t1"], 5_000)
    assert (later.after, later.guards) == ({"expires_in_ms": 5_000}, frozenset())
    now = expire_token("t1", tokens["t1"], NOW)
    assert (now.after, sorted(now.guards)) == (None, ["allow-deletions"])
    carry_out([now])
    assert state.tokens == ()


def test_a_lost_answer_is_decided_by_the_expiry() -> None:
    """Another expiry than before shows that it was changed, and only its absence that a token was deleted at once."""
    before = {"expires_at_ms": 5}
    for kind, changed in ((RENEW_TOKEN, renew_token("t", before, 9)), (EXPIRE_TOKEN, expire_token("t", before, 9))):
        assert [kind.is_done(changed, live) for live in ({"expires_at_ms": 7}, before, None)] == [True, False, False]
    deleted = expire_token("t", before, NOW)
    assert [EXPIRE_TOKEN.is_done(deleted, live) for live in (None, {"expires_at_ms": 7}, before)] == [
        True,
        False,
        False,
    ]
