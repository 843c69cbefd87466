"""Tells how far the list of an API can be trusted: brokers shorten lists silently for principals without permission."""

from kafka_lagoon.protocol.acls import (
    ALTER,
    ALTER_CONFIGS,
    CLUSTER_ACTION,
    CREATE,
    DESCRIBE,
    DESCRIBE_CONFIGS,
    IDEMPOTENT_WRITE,
    TOPIC,
    TRANSACTIONAL_ID,
    allows,
)

COMPLETE, FILTERED, UNKNOWN = "complete", "filtered", "unknown"
# The resources that brokers leave out of the answers of an API if the principal may not describe them.
LISTED_TYPES = {"Metadata": TOPIC, "OffsetFetch": TOPIC, "ListTransactions": TRANSACTIONAL_ID}
_ALL_CLUSTER_OPERATIONS = (
    CREATE,
    ALTER,
    DESCRIBE,
    CLUSTER_ACTION,
    DESCRIBE_CONFIGS,
    ALTER_CONFIGS,
    IDEMPOTENT_WRITE,
)


def visibility(cluster_operations: int) -> dict[str, str]:
    """Visibility of each list by API, from the operations that the principal may do on the cluster.

    DESCRIBE on the cluster shows all groups. Whoever may do every operation on it is taken for a super user, to whom all topics
    are shown; everybody may where there is no authorizer. docs/permissions.md names those of whom that is not true. For others
    ACLs may prove it (snapshot/acl_visibility.py). Nothing proves that all delegation tokens are shown.
    """
    groups = {True: COMPLETE, False: FILTERED, None: UNKNOWN}[allows(cluster_operations, DESCRIBE)]
    topics = COMPLETE if all(allows(cluster_operations, one) for one in _ALL_CLUSTER_OPERATIONS) else UNKNOWN
    return {"ListGroups": groups, **dict.fromkeys(LISTED_TYPES, topics), "DescribeDelegationToken": UNKNOWN}
