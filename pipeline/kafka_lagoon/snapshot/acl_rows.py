"""Makes rows of ACLs. A number that has no name here becomes UNKNOWN_n and is never dropped."""

from collections.abc import Iterator

from kafka_lagoon.admin.acls import acls_of, in_words
from kafka_lagoon.protocol.messages.describe_acls import DescribeAclsResponse
from kafka_lagoon.tables.security_rows import AclRow


def acl_rows(response: DescribeAclsResponse) -> Iterator[AclRow]:
    """One row per ACL, also if a broker lists it twice; ordered by resource, principal, host and operation."""
    yield from sorted((AclRow(**in_words(acl)) for acl in acls_of(response)), key=_order)


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
