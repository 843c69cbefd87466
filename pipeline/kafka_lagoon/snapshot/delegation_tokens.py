"""Makes rows of delegation tokens: whose they are and until when, never their secrets."""

from collections.abc import Iterable, Iterator

from kafka_lagoon.admin.delegation_tokens import describe_delegation_tokens
from kafka_lagoon.admin.permissions import Permission
from kafka_lagoon.client.failures import Failure
from kafka_lagoon.protocol.acls import DELEGATION_TOKEN, DESCRIBE
from kafka_lagoon.protocol.messages.describe_delegation_token import (
    DESCRIBE_DELEGATION_TOKEN,
    DescribedDelegationToken,
)
from kafka_lagoon.row_classes import Timestamp, before, column, row
from kafka_lagoon.snapshot.state_table import Collected, Collection, Phase, StateTable


@row
class DelegationTokenRow:
    """Delegation tokens that the principal may see, one row per token and snapshot. Their secrets are not kept."""

    token_id: str = column("Id of the token, which is its user name.")
    owner: str = column("Whom it stands for, as type:name.")
    requester: str | None = column(
        "Who asked for it, as type:name; null before Kafka 3.3.", null_if=before("DescribeDelegationToken", 3)
    )
    renewers: tuple[str, ...] = column("Who may renew it besides its owner, as type:name.")
    issued_at_ms: Timestamp = column("When it was made.")
    expires_at_ms: Timestamp = column("When it expires unless it is renewed; expired ones stay listed for a while.")
    max_lifetime_at_ms: Timestamp = column("When it expires for good.")


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


DELEGATION_TOKENS = StateTable(
    name="delegation_tokens",
    row=DelegationTokenRow,
    key=("token_id",),
    phase=Phase.DETAILS,
    collect=_collect,
    apis=(DESCRIBE_DELEGATION_TOKEN,),
    permissions=(Permission(DESCRIBE, DELEGATION_TOKEN, "delegation tokens of others are left out"),),
    required=False,
    may_be_skipped=True,
    when_changed=True,
    added_in="0.2.0",
)
