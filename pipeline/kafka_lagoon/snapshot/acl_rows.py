"""Makes rows of ACLs. A number that has no name here becomes UNKNOWN_n and is never dropped."""

from collections.abc import Iterator

from kafka_lagoon.admin.acls import Acl, acls_of
from kafka_lagoon.protocol import acls
from kafka_lagoon.protocol.messages.describe_acls import DescribeAclsResponse
from kafka_lagoon.tables.row_classes import named
from kafka_lagoon.tables.security_rows import AclRow


def acl_rows(response: DescribeAclsResponse) -> Iterator[AclRow]:
    """One row per ACL, also if a broker lists it twice; ordered by resource, principal, host and operation."""
    yield from sorted(map(_acl_row, acls_of(response)), key=_order)


def _acl_row(acl: Acl) -> AclRow:
    return AclRow(
        resource_type=named(acls.RESOURCE_TYPES, acl.resource_type),
        resource_name=acl.resource_name,
        pattern_type=named(acls.PATTERN_TYPES, acl.pattern_type),
        principal=acl.principal,
        host=acl.host,
        operation=named(acls.OPERATIONS, acl.operation),
        permission=named(acls.PERMISSION_TYPES, acl.permission),
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
