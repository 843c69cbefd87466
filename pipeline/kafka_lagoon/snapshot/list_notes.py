"""Tells where brokers may have left resources out of a list, as they do without an error for those that we may not describe.

What proves a list to be complete is in snapshot/visibility.py and snapshot/acl_visibility.py.
"""

from collections.abc import Iterable

from kafka_lagoon.admin.cluster import describe_cluster
from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.client.failures import Failure
from kafka_lagoon.clock import Deadline
from kafka_lagoon.protocol import acls
from kafka_lagoon.snapshot.visibility import COMPLETE, LISTED_TYPES, UNKNOWN, complete_without_acls, visibility


def list_note(cluster: Cluster, api: str, what: str, deadline: Deadline, operations: int | None = None) -> str | None:
    """A note about the list of an API; None if it is proven to be complete.

    `operations` has the authorized operations on the cluster as bits; if it is missing, the cluster is asked for them.
    """
    operations = _operations(cluster, deadline) if operations is None else operations
    trusted = visibility(operations, _proven(cluster, api, operations, deadline)).get(api, UNKNOWN)
    if trusted == COMPLETE:
        return None
    perhaps = "perhaps " if trusted == UNKNOWN else ""
    return f"{what}: {perhaps}not all of them: brokers leave out those that we may not describe"


def _operations(cluster: Cluster, deadline: Deadline) -> int:
    described = describe_cluster(cluster, deadline)
    return acls.NOT_ASKED if isinstance(described, Failure) else described.cluster_authorized_operations


def _proven(cluster: Cluster, api: str, operations: int, deadline: Deadline) -> Iterable[str]:
    if api not in LISTED_TYPES:
        return ()
    from kafka_lagoon.admin.acls import AclFilter, describe_acls  # noqa: PLC0415  not needed for named items

    described = describe_acls(cluster, AclFilter(), deadline)
    if isinstance(described, Failure):
        return complete_without_acls(described)
    from kafka_lagoon.snapshot.acl_rows import acl_rows  # noqa: PLC0415  not needed without an authorizer
    from kafka_lagoon.snapshot.acl_visibility import complete_lists  # noqa: PLC0415

    return complete_lists(cluster, operations, list(acl_rows(described)))
