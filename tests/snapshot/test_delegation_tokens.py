"""Rows of delegation tokens, from messages made by hand."""

from dataclasses import replace

from kafka_lagoon.client.impossible_values import impossible_value
from kafka_lagoon.protocol.messages.describe_delegation_token import DescribeDelegationTokenResponse
from kafka_lagoon.protocol.messages.expire_delegation_token import ExpireDelegationTokenResponse
from kafka_lagoon.protocol.messages.renew_delegation_token import RenewDelegationTokenResponse
from kafka_lagoon.snapshot.delegation_tokens import delegation_token_rows
from kafka_lagoon.tables.security_rows import DelegationTokenRow
from tests.security_samples import token


def test_every_token_is_a_row() -> None:
    """Tokens are ordered by id, renewers by name; no column has the secret."""
    rows = list(delegation_token_rows([token("t2"), token("t1", "root")]))
    assert rows[0] == DelegationTokenRow(
        token_id="t1",  # noqa: S106  an id
        owner="User:alice",
        requester="User:root",
        renewers=("User:bob", "User:carol"),
        issued_at_ms=1_000,
        expires_at_ms=2_000,
        max_lifetime_at_ms=3_000,
    )
    assert (rows[1].token_id, rows[1].requester) == ("t2", None)


def test_a_life_that_overflows_is_no_impossible_answer() -> None:
    """ZooKeeper's brokers add the largest delegation.token.max.lifetime.ms to the time, which hides no other token."""
    overflown = replace(token("t1"), expiry_timestamp=1_000 - 2**63, max_timestamp=1_000 - 2**63)
    answer = DescribeDelegationTokenResponse(error_code=0, tokens=(overflown, token("t2")))
    assert impossible_value(answer) is None
    for response in (RenewDelegationTokenResponse, ExpireDelegationTokenResponse):
        assert impossible_value(response(error_code=0, expiry_timestamp_ms=1_000 - 2**63, throttle_time_ms=0)) is None
    assert [row.token_id for row in delegation_token_rows(answer.tokens)] == ["t1", "t2"]
