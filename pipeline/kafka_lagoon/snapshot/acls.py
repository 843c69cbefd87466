"""Makes rows of ACLs. A number that has no name here becomes UNKNOWN_n and is never dropped."""

from collections.abc import Iterator

from kafka_lagoon.admin.acls import AclFilter, describe_acls
from kafka_lagoon.admin.permissions import Permission
from kafka_lagoon.client.failures import Failure
from kafka_lagoon.protocol import acls
from kafka_lagoon.protocol.messages.describe_acls import (
    DESCRIBE_ACLS,
    AclDescription,
    DescribeAclsResource,
    DescribeAclsResponse,
)
from kafka_lagoon.snapshot.collection import Collected, Collection, Collector, Phase
from kafka_lagoon.tables import state_tables
from kafka_lagoon.tables.row_classes import named
from kafka_lagoon.tables.security_rows import AclRow


def acl_rows(response: DescribeAclsResponse) -> Iterator[AclRow]:
    """One row per ACL, ordered by resource, principal, host and operation."""
    rows = [_acl_row(resource, acl) for resource in response.resources for acl in resource.acls]
    yield from sorted(rows, key=_order)


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


def _acl_row(resource: DescribeAclsResource, acl: AclDescription) -> AclRow:
    return AclRow(
        resource_type=named(acls.RESOURCE_TYPES, resource.resource_type),
        resource_name=resource.resource_name,
        pattern_type=named(acls.PATTERN_TYPES, resource.pattern_type),
        principal=acl.principal,
        host=acl.host,
        operation=named(acls.OPERATIONS, acl.operation),
        permission=named(acls.PERMISSION_TYPES, acl.permission_type),
    )


def _order(acl: AclRow) -> tuple[str, ...]:
    return (
        acl.resource_type,
        acl.resource_name,
        acl.pattern_type,
        acl.principal,
        acl.host,
        acl.operation,
        acl.permission,
    )
