"""Tells where brokers may have left resources out of a list, as they do without an error for those that we may not describe.

What proves a list to be complete is in snapshot/visibility.py and snapshot/acl_visibility.py.
"""

from kafka_lagoon.admin.cluster import describe_cluster
from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.client.failures import Failure
from kafka_lagoon.clock import Deadline
from kafka_lagoon.protocol import acls
from kafka_lagoon.snapshot.visibility import COMPLETE, LISTED_TYPES, UNKNOWN, visibility


def list_note(cluster: Cluster, api: str, what: str, deadline: Deadline, operations: int | None = None) -> str | None:
    """A note about the list of an API; None if it is proven to be complete.

    `operations` has the authorized operations on the cluster as bits; if it is missing, the cluster is asked for them.
    """
    trusted = visibility(_operations(cluster, deadline) if operations is None else operations).get(api, UNKNOWN)
    if trusted == COMPLETE or _is_proven_by_acls(cluster, api, deadline):
        return None
    perhaps = "perhaps " if trusted == UNKNOWN else ""
    return f"{what}: {perhaps}not all of them: brokers leave out those that we may not describe"


def _operations(cluster: Cluster, deadline: Deadline) -> int:
    described = describe_cluster(cluster, deadline)
    return acls.NOT_ASKED if isinstance(described, Failure) else described.cluster_authorized_operations


def _is_proven_by_acls(cluster: Cluster, api: str, deadline: Deadline) -> bool:
    if api not in LISTED_TYPES:
        return False
    from kafka_lagoon.snapshot.acl_visibility import may_describe_all  # noqa: PLC0415  not needed by who may do all

    return may_describe_all(cluster, LISTED_TYPES[api], deadline)
