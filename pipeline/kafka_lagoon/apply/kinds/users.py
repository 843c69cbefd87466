"""Sets and deletes the passwords of SCRAM users.

Kind `alter_scram`, resource `scram_user`, named `USER MECHANISM`: {iterations} or None -> {iterations}, with the secret
`password`. `delete_scram`: {iterations} -> None, with DELETIONS. A password is neither stored nor shown, and brokers do not
return it: whether one was set that has the iterations of the last one, the live state cannot tell.
"""

from collections.abc import Iterable, Mapping, Sequence

from kafka_lagoon.admin.scram import (
    NewPassword,
    ScramCredential,
    alter_scram_users,
    describe_scram_users,
    undescribed_users,
)
from kafka_lagoon.apply.action import Action, ActionKind, Guard, Resource, State, same_state
from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.client.failures import Failure
from kafka_lagoon.clock import Deadline
from kafka_lagoon.protocol.error_codes import RESOURCE_NOT_FOUND
from kafka_lagoon.protocol.messages.describe_user_scram_credentials import (
    SCRAM_MECHANISMS,
    DescribeUserScramCredentialsResult,
)
from kafka_lagoon.secret import Secret

_PASSWORD = "password"  # noqa: S105  the name of a secret
MECHANISMS = {name: number for number, name in SCRAM_MECHANISMS.items()}


def scram_resource(credential: ScramCredential) -> Resource:
    """The resource of a user's credential."""
    return Resource("scram_user", f"{credential.user} {SCRAM_MECHANISMS[credential.mechanism]}")


def parse_scram_user(name: str) -> ScramCredential:
    """The user and the mechanism of a resource's name; ValueError if one is missing."""
    user, _, mechanism = name.rpartition(" ")
    if not user or mechanism not in MECHANISMS:
        raise ValueError(f"{name!r} is not a user and one of {', '.join(MECHANISMS)}")
    return ScramCredential(user, MECHANISMS[mechanism])


def scram_states(
    described: Sequence[DescribeUserScramCredentialsResult], credentials: Iterable[ScramCredential]
) -> dict[ScramCredential, State | Failure]:
    """The state of each of these credentials: None if it does not exist, and a failure if its user could not be described."""
    refused = undescribed_users(described)
    known = {
        ScramCredential(user.user, one.mechanism): {"iterations": one.iterations}
        for user in described
        for one in user.credential_infos
    }
    return {one: refused.get(one.user) or known.get(one) for one in credentials}


def alter_scram(
    credential: ScramCredential, before: State, iterations: int, password: Secret, source: str | None = None
) -> Action:
    """The action that sets a password."""
    return Action(
        kind="alter_scram",
        resource=scram_resource(credential),
        before=before,
        after={"iterations": iterations},
        secrets={_PASSWORD: password},
        source=source,
    )


def delete_scram(credential: ScramCredential, before: State, source: str | None = None) -> Action:
    """The action that deletes a password."""
    return Action(
        kind="delete_scram",
        resource=scram_resource(credential),
        before=before,
        after=None,
        guards=frozenset({Guard.DELETIONS}),
        source=source,
    )


def _read(cluster: Cluster, actions: Sequence[Action], deadline: Deadline) -> Mapping[Resource, State | Failure]:
    described = describe_scram_users(cluster, deadline)
    if isinstance(described, Failure):
        return {action.resource: described for action in actions}
    credentials = {action.resource: parse_scram_user(action.resource.name) for action in actions}
    states = scram_states(described, credentials.values())
    return {resource: states[one] for resource, one in credentials.items()}


def _send(
    cluster: Cluster, actions: Sequence[Action], _validate_only: bool, deadline: Deadline
) -> Mapping[Resource, Failure]:
    changes = {parse_scram_user(action.resource.name): _new(action) for action in actions}
    gathered = alter_scram_users(cluster, changes, deadline)
    return {scram_resource(one): failure for one, failure in gathered.failures.items()}


def _new(action: Action) -> NewPassword | None:
    return None if action.after is None else NewPassword(action.secrets[_PASSWORD], action.after["iterations"])


def _is_set(action: Action, live: State) -> bool:
    """Returns False if the state is as before, which proves nothing."""
    return same_state(live, action.after) and not same_state(action.before, action.after)


ALTER_SCRAM = ActionKind(
    name="alter_scram",
    title="set password of SCRAM user",
    read=_read,
    send=_send,
    is_done=_is_set,
)
DELETE_SCRAM = ActionKind(
    name="delete_scram",
    title="delete password of SCRAM user",
    read=_read,
    send=_send,
    already=frozenset({RESOURCE_NOT_FOUND}),
)
