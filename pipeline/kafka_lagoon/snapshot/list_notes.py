"""Tells where brokers may have left resources out of a list, as they do without an error for those that we may not describe.

What proves a list to be complete is in snapshot/coverage.py.
"""

from kafka_lagoon.admin.acls import AclFilter, describe_acls
from kafka_lagoon.admin.cluster import describe_cluster
from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.client.failures import Failure
from kafka_lagoon.clock import Deadline
from kafka_lagoon.protocol import acls
from kafka_lagoon.snapshot.acls import acl_rows
from kafka_lagoon.snapshot.coverage import COMPLETE, LISTED_TYPES, UNKNOWN, shows_all, visibility
from kafka_lagoon.tables.security_rows import AclRow


def list_note(cluster: Cluster, api: str, what: str, deadline: Deadline, operations: int | None = None) -> str | None:
    """A note about the list of an API; None if it is proven to be complete.

    `operations` has the authorized operations on the cluster as bits; if it is missing, the cluster is asked for them.
    """
    trusted = visibility(_operations(cluster, deadline) if operations is None else operations).get(api, UNKNOWN)
    if trusted == COMPLETE or (api in LISTED_TYPES and _may_describe_all(cluster, LISTED_TYPES[api], deadline)):
        return None
    perhaps = "perhaps " if trusted == UNKNOWN else ""
    return f"{what}: {perhaps}not all of them: brokers leave out those that we may not describe"


def _operations(cluster: Cluster, deadline: Deadline) -> int:
    described = describe_cluster(cluster, deadline)
    return acls.NOT_ASKED if isinstance(described, Failure) else described.cluster_authorized_operations


def _may_describe_all(cluster: Cluster, resource_type: int, deadline: Deadline) -> bool:
    """True if ACLs prove that we may describe every resource of a type; only these ACLs are read."""
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
