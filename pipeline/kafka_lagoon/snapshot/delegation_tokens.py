"""Makes rows of delegation tokens: owners and times, never secrets."""

from collections.abc import Iterable, Iterator

from kafka_lagoon.admin.delegation_tokens import describe_delegation_tokens
from kafka_lagoon.admin.permissions import Permission
from kafka_lagoon.client.failures import Failure
from kafka_lagoon.protocol.acls import DELEGATION_TOKEN, DESCRIBE
from kafka_lagoon.protocol.messages.describe_delegation_token import (
    DESCRIBE_DELEGATION_TOKEN,
    DescribedDelegationToken,
)
from kafka_lagoon.snapshot.collection import Collected, Collection, Collector, Phase
from kafka_lagoon.tables import state_tables
from kafka_lagoon.tables.security_rows import DelegationTokenRow


def delegation_token_rows(tokens: Iterable[DescribedDelegationToken]) -> Iterator[DelegationTokenRow]:
    """One row per token, ordered by id."""
    for token in sorted(tokens, key=lambda token: token.token_id):
        requester = _principal(token.token_requester_principal_type, token.token_requester_principal_name)
        renewers = (_principal(renewer.principal_type, renewer.principal_name) for renewer in token.renewers)
        yield DelegationTokenRow(
            token_id=token.token_id,
            owner=_principal(token.principal_type, token.principal_name),
            requester=requester if token.token_requester_principal_type else None,
            renewers=tuple(sorted(renewers)),
            issued_at_ms=token.issue_timestamp,
            expires_at_ms=token.expiry_timestamp,
            max_lifetime_at_ms=token.max_timestamp,
        )


def _principal(principal_type: str, name: str) -> str:
    return f"{principal_type}:{name}"


def _collect(collection: Collection) -> Collected:
    tokens = describe_delegation_tokens(collection.cluster, collection.deadline)
    return Collected([], [tokens]) if isinstance(tokens, Failure) else Collected(list(delegation_token_rows(tokens)))


DELEGATION_TOKENS = Collector(
    table=state_tables.DELEGATION_TOKENS,
    phase=Phase.DETAILS,
    collect=_collect,
    apis=(DESCRIBE_DELEGATION_TOKEN,),
    permissions=(Permission(DESCRIBE, DELEGATION_TOKEN, "delegation tokens of others are left out"),),
    required=False,
    may_be_skipped=True,
)
