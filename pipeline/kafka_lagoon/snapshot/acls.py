"""Collects the ACLs of a snapshot."""

from kafka_lagoon.admin.acls import AclFilter, describe_acls
from kafka_lagoon.admin.permissions import Permission
from kafka_lagoon.client.failures import Failure
from kafka_lagoon.protocol import acls
from kafka_lagoon.protocol.messages.describe_acls import DESCRIBE_ACLS
from kafka_lagoon.snapshot.acl_rows import acl_rows
from kafka_lagoon.snapshot.collection import Collected, Collection, Collector, Phase
from kafka_lagoon.tables import state_tables


def _collect(collection: Collection) -> Collected:
    response = describe_acls(collection.cluster, AclFilter(), collection.deadline)
    return Collected([], [response]) if isinstance(response, Failure) else Collected(list(acl_rows(response)))


# Not required: a snapshot of a principal that may see topics and groups only is complete without the ACLs.
ACLS = Collector(
    table=state_tables.ACLS,
    phase=Phase.DETAILS,
    collect=_collect,
    apis=(DESCRIBE_ACLS,),
    permissions=(Permission(acls.DESCRIBE, acls.CLUSTER, "the ACLs are refused"),),
    required=False,
    may_be_skipped=True,
)
