"""Creates, renews and expires delegation tokens.

Resource `delegation_token`. `create_delegation_token` is named by its owner (`for User:alice`, `for us`): None -> {owner,
renewers, max_lifetime_ms}; -1 is the brokers' own limit. Its answer has token_id and hmac, the secret, which is shown nowhere
else. The others are named by the token's id: `renew_delegation_token` {expires_at_ms} -> {expires_in_ms};
`expire_delegation_token` the same, or -> None for a token that is deleted at once, with DELETIONS.
"""

from collections.abc import Mapping, Sequence

from kafka_lagoon.admin.delegation_tokens import (
    NOW,
    CreatedToken,
    NewToken,
    create_delegation_tokens,
    describe_delegation_tokens,
    expire_delegation_tokens,
    renew_delegation_tokens,
)
from kafka_lagoon.apply.action import Action, ActionKind, Answered, Guard, Resource, State, never
from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.client.failures import Failure
from kafka_lagoon.client.routing import Gathered
from kafka_lagoon.clock import Deadline
from kafka_lagoon.protocol.error_codes import DELEGATION_TOKEN_NOT_FOUND

_TOKEN = "delegation_token"  # noqa: S105  a type of resources
_US = "us"


def parse_principal(text: str) -> tuple[str, str]:
    """Type and name of `User:alice`; ValueError if one is missing."""
    kind, separator, name = text.partition(":")
    if not separator or not kind or not name:
        raise ValueError(f"{text!r} is not a principal like User:alice")
    return kind, name


def create_token(wanted: NewToken) -> Action:
    """The action that creates a token."""
    after = {
        "owner": ":".join(wanted.owner) if wanted.owner else None,
        "renewers": [":".join(one) for one in wanted.renewers],
        "max_lifetime_ms": wanted.max_lifetime_ms,
    }
    resource = Resource(_TOKEN, f"for {after['owner'] or _US}")
    return Action(kind="create_delegation_token", resource=resource, before=None, after=after)


def renew_token(token_id: str, before: State, period_ms: int) -> Action:
    """The action that renews a token for a period from now on."""
    resource = Resource(_TOKEN, token_id)
    return Action(kind="renew_delegation_token", resource=resource, before=before, after={"expires_in_ms": period_ms})


def expire_token(token_id: str, before: State, period_ms: int) -> Action:
    """The action that expires a token after a period, or NOW."""
    return Action(
        kind="expire_delegation_token",
        resource=Resource(_TOKEN, token_id),
        before=before,
        after=None if period_ms < 0 else {"expires_in_ms": period_ms},
        guards=frozenset({Guard.DELETIONS}) if period_ms < 0 else frozenset(),
    )


def read_tokens(cluster: Cluster, deadline: Deadline) -> Mapping[str, State] | Failure:
    """The states of the tokens that the principal may see, by id."""
    tokens = describe_delegation_tokens(cluster, deadline)
    if isinstance(tokens, Failure):
        return tokens
    return {token.token_id: {"expires_at_ms": token.expiry_timestamp} for token in tokens}


def _read(cluster: Cluster, actions: Sequence[Action], deadline: Deadline) -> Mapping[Resource, State | Failure]:
    tokens = read_tokens(cluster, deadline)
    if isinstance(tokens, Failure):
        return {action.resource: tokens for action in actions}
    return {action.resource: tokens.get(action.resource.name) for action in actions}


def _create(
    cluster: Cluster, actions: Sequence[Action], _validate_only: bool, deadline: Deadline
) -> Mapping[Resource, Failure | Answered]:
    resources = {_wanted(action): action.resource for action in actions}
    gathered = create_delegation_tokens(cluster, list(resources), deadline)
    created = {resources[one]: _answered(token) for one, token in gathered.answers.items()}
    return {**created, **{resources[one]: failure for one, failure in gathered.failures.items()}}


def _wanted(action: Action) -> NewToken:
    after = action.after or {}
    owner = after["owner"]
    return NewToken(
        owner=parse_principal(owner) if owner else None,
        renewers=tuple(parse_principal(one) for one in after["renewers"]),
        max_lifetime_ms=after["max_lifetime_ms"],
    )


def _answered(token: CreatedToken) -> Answered:
    return Answered(
        values={
            "token_id": token.token_id,
            "hmac": token.hmac,
            "owner": token.owner,
            "expires_at_ms": token.expires_at_ms,
            "max_lifetime_at_ms": token.max_lifetime_at_ms,
        }
    )


def _renew(
    cluster: Cluster, actions: Sequence[Action], _validate_only: bool, deadline: Deadline
) -> Mapping[Resource, Failure | Answered]:
    periods = {action.resource.name: _period(action) for action in actions}
    return _by_token(renew_delegation_tokens(cluster, periods, deadline))


def _expire(
    cluster: Cluster, actions: Sequence[Action], _validate_only: bool, deadline: Deadline
) -> Mapping[Resource, Failure | Answered]:
    periods = {action.resource.name: _period(action) for action in actions}
    return _by_token(expire_delegation_tokens(cluster, periods, deadline))


def _period(action: Action) -> int:
    return NOW if action.after is None else int(action.after["expires_in_ms"])


def _by_token(gathered: Gathered[str, int]) -> Mapping[Resource, Failure | Answered]:
    expiries = {
        Resource(_TOKEN, one): Answered(values={"expires_at_ms": at_ms}) for one, at_ms in gathered.answers.items()
    }
    return {**expiries, **{Resource(_TOKEN, one): failure for one, failure in gathered.failures.items()}}


def _reads_nothing(
    _cluster: Cluster, actions: Sequence[Action], _deadline: Deadline
) -> Mapping[Resource, State | Failure]:
    """Returns nothing: a token that is to be created does not exist."""
    return {action.resource: None for action in actions}


def _expires_otherwise(action: Action, live: State) -> bool:
    """True if the token has another expiry than before, or has none and none was wanted."""
    if action.after is None:
        return live is None
    return live is not None and live != action.before


CREATE_TOKEN = ActionKind(
    name="create_delegation_token",
    title="create delegation token",
    read=_reads_nothing,
    send=_create,
    is_done=never,  # its owner may have other tokens
)
RENEW_TOKEN = ActionKind(
    name="renew_delegation_token",
    title="renew delegation token",
    read=_read,
    send=_renew,
    is_done=_expires_otherwise,
)
EXPIRE_TOKEN = ActionKind(
    name="expire_delegation_token",
    title="expire delegation token",
    read=_read,
    send=_expire,
    is_done=_expires_otherwise,
    already=frozenset({DELEGATION_TOKEN_NOT_FOUND}),
)
