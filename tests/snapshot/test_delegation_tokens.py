"""Rows of delegation tokens, from messages made by hand."""

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
