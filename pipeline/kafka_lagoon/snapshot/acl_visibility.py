"""Decides by the ACLs of a cluster whether brokers may have left resources of a type out of their lists."""

from collections.abc import Collection

from kafka_lagoon.admin.acl_commands import implied
from kafka_lagoon.admin.acls import AclFilter, describe_acls
from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.client.failures import Failure
from kafka_lagoon.clock import Deadline
from kafka_lagoon.protocol import acls
from kafka_lagoon.snapshot.acl_rows import acl_rows
from kafka_lagoon.tables.security_rows import AclRow

_LITERAL = acls.PATTERN_TYPES[acls.LITERAL]
_ALLOW, _DENY = acls.PERMISSION_TYPES[acls.ALLOW], acls.PERMISSION_TYPES[acls.DENY]
_DESCRIBING = frozenset(acls.OPERATIONS[one] for one in implied(acls.DESCRIBE))
_DENYING = (acls.OPERATIONS[acls.DESCRIBE], acls.OPERATIONS[acls.ALL])


def may_describe_all(cluster: Cluster, resource_type: int, deadline: Deadline) -> bool:
    """True if the ACLs of the cluster prove it for our principal; only ACLs of this type of resources are read."""
    principal = cluster.settings.principal()
    if principal is None:
        return False
    for_all = AclFilter(
        resource_type=resource_type, resource_name=acls.WILDCARD, pattern_type=acls.LITERAL, permission=acls.ALLOW
    )
    known: list[AclRow] = []
    for acl_filter in (for_all, AclFilter(resource_type=resource_type, permission=acls.DENY)):
        answer = describe_acls(cluster, acl_filter, deadline)
        if isinstance(answer, Failure):
            return False
        known += acl_rows(answer)
    return shows_all(known, resource_type, principal)


def shows_all(known: Collection[AclRow], resource_type: int, principal: str | None) -> bool:
    """True if the ACLs of a cluster prove that a principal may describe every resource of a type.

    Brokers may know the principal by a group, too: so a denial counts unless it is for another user.
    """
    kind = acls.RESOURCE_TYPES[resource_type]
    of_type = [acl for acl in known if acl.resource_type == kind]
    if principal is None or any(_may_deny(acl, principal) for acl in of_type):
        return False
    return any(_allows_all(acl, principal) for acl in of_type)


def _may_deny(acl: AclRow, principal: str) -> bool:
    is_of_another = acl.principal.startswith("User:") and acl.principal not in (principal, acls.EVERYBODY)
    return acl.permission == _DENY and acl.operation in _DENYING and not is_of_another


def _allows_all(acl: AclRow, principal: str) -> bool:
    is_for_all = (acl.resource_name, acl.pattern_type, acl.host) == (acls.WILDCARD, _LITERAL, acls.WILDCARD)
    is_ours = acl.principal in (principal, acls.EVERYBODY)
    return is_for_all and is_ours and acl.permission == _ALLOW and acl.operation in _DESCRIBING
