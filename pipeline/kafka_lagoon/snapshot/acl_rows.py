"""Makes rows of ACLs. A number that has no name here becomes UNKNOWN_n and is never dropped."""

from collections.abc import Iterator

from kafka_lagoon.protocol import acls
from kafka_lagoon.protocol.messages.describe_acls import (
    AclDescription,
    DescribeAclsResource,
    DescribeAclsResponse,
)
from kafka_lagoon.tables.row_classes import named
from kafka_lagoon.tables.security_rows import AclRow


def acl_rows(response: DescribeAclsResponse) -> Iterator[AclRow]:
    """One row per ACL, ordered by resource, principal, host and operation."""
    rows = [_acl_row(resource, acl) for resource in response.resources for acl in resource.acls]
    yield from sorted(rows, key=_order)


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
