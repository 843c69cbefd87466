"""Creates and deletes ACLs.

Resource `acl`, named by one line (`ALLOW User:alice READ topic LITERAL orders from *`). The state of an ACL is all of it, with
the names that Kafka has: resource_type, resource_name, pattern_type, principal, host, operation, permission. `create_acl`
goes from None to it, `delete_acl` back, which takes DELETIONS.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from kafka_lagoon.admin.acl_changes import create_acls, delete_acls
from kafka_lagoon.admin.acls import Acl, AclFilter, acls_of, describe_acls
from kafka_lagoon.apply.action import Action, ActionKind, Guard, Resource, State
from kafka_lagoon.apply.kinds.names import quoted
from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.client.failures import Failure
from kafka_lagoon.client.routing import Gathered
from kafka_lagoon.clock import Deadline
from kafka_lagoon.protocol import acls
from kafka_lagoon.protocol.acls import OPERATIONS, PATTERN_TYPES, PERMISSION_TYPES, RESOURCE_TYPES

CREATE, DELETE = "create_acl", "delete_acl"
# Values that an ACL may have; filters have more.
CREATABLE = {
    "resource_type": {name: number for number, name in RESOURCE_TYPES.items() if number >= acls.TOPIC},
    "pattern_type": {PATTERN_TYPES[number]: number for number in (acls.LITERAL, acls.PREFIXED)},
    "operation": {name: number for number, name in OPERATIONS.items() if number >= acls.ALL},
    "permission": {PERMISSION_TYPES[number]: number for number in (acls.ALLOW, acls.DENY)},
}


def acl_state(acl: Acl) -> dict[str, str]:
    """An ACL with the names of its numbers; KeyError for a number without a name."""
    return {
        "resource_type": RESOURCE_TYPES[acl.resource_type],
        "resource_name": acl.resource_name,
        "pattern_type": PATTERN_TYPES[acl.pattern_type],
        "principal": acl.principal,
        "host": acl.host,
        "operation": OPERATIONS[acl.operation],
        "permission": PERMISSION_TYPES[acl.permission],
    }


def has_names(acl: Acl) -> bool:
    """True if all numbers of an ACL have names; a newer release may have others."""
    fields = ("resource_type", "pattern_type", "operation", "permission")
    return all(getattr(acl, field) in CREATABLE[field].values() for field in fields)


def acl_of(state: Mapping[str, Any]) -> Acl:
    """The ACL of a state; KeyError for an unknown name."""
    return Acl(
        resource_type=CREATABLE["resource_type"][state["resource_type"]],
        resource_name=state["resource_name"],
        pattern_type=CREATABLE["pattern_type"][state["pattern_type"]],
        principal=state["principal"],
        host=state["host"],
        operation=CREATABLE["operation"][state["operation"]],
        permission=CREATABLE["permission"][state["permission"]],
    )


def acl_line(acl: Acl) -> str:
    """An ACL on one line; different ACLs have different lines."""
    state = acl_state(acl)
    return (
        f"{state['permission']} {quoted(acl.principal)} {state['operation']} {state['resource_type'].lower()} "
        f"{state['pattern_type']} {quoted(acl.resource_name)} from {quoted(acl.host)}"
    )


def acl_resource(acl: Acl) -> Resource:
    """The resource of an ACL's actions."""
    return Resource("acl", acl_line(acl))


def create_acl(acl: Acl, source: str | None = None) -> Action:
    """The action that creates an ACL."""
    return Action(kind=CREATE, resource=acl_resource(acl), before=None, after=acl_state(acl), source=source)


def delete_acl(acl: Acl, source: str | None = None) -> Action:
    """The action that deletes an ACL."""
    return Action(
        kind=DELETE,
        resource=acl_resource(acl),
        before=acl_state(acl),
        after=None,
        guards=frozenset({Guard.DELETIONS}),
        source=source,
    )


def _acl(action: Action) -> Acl:
    return acl_of(action.after or action.before or {})


def _read(cluster: Cluster, actions: Sequence[Action], deadline: Deadline) -> Mapping[Resource, State | Failure]:
    response = describe_acls(cluster, AclFilter(), deadline)
    if isinstance(response, Failure):
        return {action.resource: response for action in actions}
    live = set(acls_of(response))
    requested = {action.resource: _acl(action) for action in actions}
    return {resource: acl_state(acl) if acl in live else None for resource, acl in requested.items()}


def _create(
    cluster: Cluster,
    actions: Sequence[Action],
    _validate_only: bool,
    deadline: Deadline,
) -> Mapping[Resource, Failure]:
    return _failures(create_acls(cluster, list(map(_acl, actions)), deadline))


def _delete(
    cluster: Cluster,
    actions: Sequence[Action],
    _validate_only: bool,
    deadline: Deadline,
) -> Mapping[Resource, Failure]:
    return _failures(delete_acls(cluster, list(map(_acl, actions)), deadline))


def _failures(gathered: Gathered[Acl, Any]) -> Mapping[Resource, Failure]:
    return {acl_resource(acl): failure for acl, failure in gathered.failures.items()}


CREATE_ACL = ActionKind(name=CREATE, title="create ACL", read=_read, send=_create)
DELETE_ACL = ActionKind(name=DELETE, title="delete ACL", read=_read, send=_delete)
