"""Tells how far the list of an API can be trusted: brokers shorten lists silently for principals without permission."""

from collections.abc import Iterable

from kafka_lagoon.client.failures import Failure
from kafka_lagoon.protocol.acls import DESCRIBE, TOPIC, TRANSACTIONAL_ID, allows
from kafka_lagoon.protocol.error_codes import SECURITY_DISABLED

COMPLETE, FILTERED, UNKNOWN = "complete", "filtered", "unknown"
# The resources that brokers leave out of the answers of an API if the principal may not describe them.
LISTED_TYPES = {
    "Metadata": TOPIC,
    "OffsetFetch": TOPIC,
    "DescribeShareGroupOffsets": TOPIC,
    "ListTransactions": TRANSACTIONAL_ID,
}


def complete_without_acls(failure: Failure) -> Iterable[str]:
    """The APIs of `LISTED_TYPES` whose lists are complete although ACLs cannot be read: without an authorizer all are."""
    return LISTED_TYPES if failure.code == SECURITY_DISABLED else ()


def visibility(cluster_operations: int, proven: Iterable[str]) -> dict[str, str]:
    """Visibility of each list by API, from the operations that the principal may do on the cluster.

    DESCRIBE on the cluster shows all groups. Of other lists the `proven` ones are complete (snapshot/acl_visibility.py).
    Nothing proves that all delegation tokens are shown.
    """
    groups = {True: COMPLETE, False: FILTERED, None: UNKNOWN}[allows(cluster_operations, DESCRIBE)]
    lists = dict.fromkeys((*LISTED_TYPES, "DescribeDelegationToken"), UNKNOWN)
    return {"ListGroups": groups, **lists, **dict.fromkeys(proven, COMPLETE)}
