"""Describes, creates, renews and expires delegation tokens (KIP-48).

The secret of a token (`hmac`) is removed from descriptions, so that no caller can keep it. Brokers renew and expire a token by
its secret; the functions take the token's id and look the secret up. Only a new token comes with its secret.
"""

from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from kafka_lagoon.client.agreement import ask_two
from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.client.failures import Failure, Scope, failure_of
from kafka_lagoon.client.routes import ByController
from kafka_lagoon.client.routing import Gathered, ShardedRequest, gather, merged
from kafka_lagoon.clock import Deadline
from kafka_lagoon.frozen import frozen
from kafka_lagoon.protocol.error_codes import (
    DELEGATION_TOKEN_AUTH_DISABLED,
    DELEGATION_TOKEN_NOT_FOUND,
    DELEGATION_TOKEN_REQUEST_NOT_ALLOWED,
)
from kafka_lagoon.protocol.messages.create_delegation_token import (
    CREATE_DELEGATION_TOKEN,
    CreateDelegationTokenRequest,
    CreateDelegationTokenResponse,
    DelegationTokenRenewer,
)
from kafka_lagoon.protocol.messages.describe_delegation_token import (
    DESCRIBE_DELEGATION_TOKEN,
    DescribedDelegationToken,
    DescribeDelegationTokenRequest,
)
from kafka_lagoon.protocol.messages.expire_delegation_token import EXPIRE_DELEGATION_TOKEN, ExpireDelegationTokenRequest
from kafka_lagoon.protocol.messages.renew_delegation_token import RENEW_DELEGATION_TOKEN, RenewDelegationTokenRequest
from kafka_lagoon.secret import Secret
from kafka_lagoon.wire.schema import LATEST, Versions

BROKERS_LIMIT = -1  # as a lifetime or a period: as long as the broker allows
NOW = -1  # as the period after which a token expires: it is deleted
_CAUSES = {
    DELEGATION_TOKEN_REQUEST_NOT_ALLOWED: (
        "only who has logged in gets a token: over SASL, or TLS with a certificate, and not by a token"
    ),
    DELEGATION_TOKEN_AUTH_DISABLED: "the brokers have no delegation.token.secret.key",
}
_WITH_OWNER = Versions(3, LATEST)  # KIP-373


class NewToken(NamedTuple):
    """A token to create: its owner (None: we), its other renewers, and its longest lifetime.

    Principals are (type, name).
    """

    owner: tuple[str, str] | None = None
    renewers: tuple[tuple[str, str], ...] = ()
    max_lifetime_ms: int = BROKERS_LIMIT


@frozen
class CreatedToken:
    """A token that was just created; id and secret are user name and password of SCRAM."""

    token_id: str
    hmac: Secret
    owner: str
    expires_at_ms: int
    max_lifetime_at_ms: int


def describe_delegation_tokens(cluster: Cluster, deadline: Deadline) -> Sequence[DescribedDelegationToken] | Failure:
    """Tokens of all owners, from any broker; brokers leave out those that we may not see."""
    tokens = _describe(cluster, deadline)
    return tokens if isinstance(tokens, Failure) else [replace(token, hmac=b"") for token in tokens]


def _describe(cluster: Cluster, deadline: Deadline) -> Sequence[DescribedDelegationToken] | Failure:
    everybodys = DescribeDelegationTokenRequest(owners=None)
    answer = ask_two(cluster, DESCRIBE_DELEGATION_TOKEN, everybodys, Scope.list("delegation tokens"), deadline)
    return answer if isinstance(answer, Failure) else answer.tokens


def create_delegation_tokens(
    cluster: Cluster, wanted: Sequence[NewToken], deadline: Deadline
) -> Gathered[NewToken, CreatedToken]:
    """Create tokens. An owner other than ourselves needs Kafka 3.3, and permission CREATE_TOKENS on that user."""
    several = [
        ShardedRequest(
            api=CREATE_DELEGATION_TOKEN,
            items=[one],
            build=_creation,
            read=_read_created,
            within=_WITH_OWNER if one.owner else None,
            once=True,
        )
        for one in wanted
    ]
    created = merged(gather(cluster, ByController(cluster, _owner_scope), several, deadline))
    return replace(created, failures={one: _explained(failure) for one, failure in created.failures.items()})


def _explained(failure: Failure) -> Failure:
    """Add the cause to a failure, which brokers leave out."""
    return replace(failure, message=failure.message or _CAUSES.get(failure.code or 0))


def renew_delegation_tokens(cluster: Cluster, periods_ms: Mapping[str, int], deadline: Deadline) -> Gathered[str, int]:
    """Extend the life of tokens, by their ids, to a period from now; the answers are the times of expiry."""
    secrets, failures = _secrets(cluster, list(periods_ms), deadline)
    sharded: ShardedRequest[str, int] = ShardedRequest(
        api=RENEW_DELEGATION_TOKEN,
        items=list(secrets),
        build=lambda items: RenewDelegationTokenRequest(hmac=secrets[items[0]], renew_period_ms=periods_ms[items[0]]),
        read=lambda response, items: [(items[0], response.error_code, response.expiry_timestamp_ms)],
        chunk=1,
        once=False,  # the period counts from a moment later then
    )
    return _with(gather(cluster, ByController(cluster, _token_scope), [sharded], deadline)[0], failures)


def expire_delegation_tokens(cluster: Cluster, periods_ms: Mapping[str, int], deadline: Deadline) -> Gathered[str, int]:
    """Let tokens expire after a period, or NOW, by their ids; the answers are the times of expiry."""
    secrets, failures = _secrets(cluster, list(periods_ms), deadline)
    sharded: ShardedRequest[str, int] = ShardedRequest(
        api=EXPIRE_DELEGATION_TOKEN,
        items=list(secrets),
        build=lambda items: ExpireDelegationTokenRequest(
            hmac=secrets[items[0]], expiry_time_period_ms=periods_ms[items[0]]
        ),
        read=lambda response, items: [(items[0], response.error_code, response.expiry_timestamp_ms)],
        chunk=1,
        once=True,
    )
    return _with(gather(cluster, ByController(cluster, _token_scope), [sharded], deadline)[0], failures)


def _secrets(
    cluster: Cluster, token_ids: Sequence[str], deadline: Deadline
) -> tuple[dict[str, bytes], dict[str, Failure]]:
    """The secrets of tokens, as brokers show them to owners and renewers, and failures of tokens that we do not see."""
    tokens = _describe(cluster, deadline)
    if isinstance(tokens, Failure):
        return {}, {one: replace(tokens, scope=_token_scope(one)) for one in token_ids}
    seen = {token.token_id: token.hmac for token in tokens if token.token_id in token_ids}
    missing = {
        one: failure_of(DESCRIBE_DELEGATION_TOKEN, _token_scope(one), DELEGATION_TOKEN_NOT_FOUND)
        for one in token_ids
        if one not in seen
    }
    return seen, missing


def _with(gathered: Gathered[str, int], failures: Mapping[str, Failure]) -> Gathered[str, int]:
    return Gathered(gathered.answers, gathered.sources, {**failures, **gathered.failures})


def _token_scope(token_id: str) -> Scope:
    return Scope.list(f"delegation token {token_id}")


def _owner_scope(wanted: NewToken) -> Scope:
    return Scope.list(f"delegation token for {':'.join(wanted.owner)}" if wanted.owner else "delegation token")


def _creation(items: Sequence[NewToken]) -> CreateDelegationTokenRequest:
    (wanted,) = items
    owner_type, owner_name = wanted.owner or ("", "")  # the requester; older versions take only these defaults
    return CreateDelegationTokenRequest(
        owner_principal_type=owner_type,
        owner_principal_name=owner_name,
        renewers=tuple(
            DelegationTokenRenewer(principal_type=kind, principal_name=name) for kind, name in wanted.renewers
        ),
        max_lifetime_ms=wanted.max_lifetime_ms,
    )


def _read_created(
    response: CreateDelegationTokenResponse, items: Sequence[NewToken]
) -> Iterator[tuple[NewToken, int, CreatedToken]]:
    token = CreatedToken(
        token_id=response.token_id,
        hmac=Secret(b64encode(response.hmac).decode()),
        owner=f"{response.principal_type}:{response.principal_name}",
        expires_at_ms=response.expiry_timestamp_ms,
        max_lifetime_at_ms=response.max_timestamp_ms,
    )
    yield items[0], response.error_code, token
