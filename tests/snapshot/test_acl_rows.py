"""Rows of ACLs, from messages made by hand."""

from kafka_lagoon.protocol import acls
from kafka_lagoon.protocol.messages.describe_acls import AclDescription, DescribeAclsResource, DescribeAclsResponse
from kafka_lagoon.snapshot.acl_rows import acl_rows
from kafka_lagoon.tables.security_rows import AclRow


def resource(
    name: str, *descriptions: AclDescription, resource_type: int = acls.TOPIC, pattern_type: int = acls.LITERAL
) -> DescribeAclsResource:
    """Make the ACLs of one resource."""
    return DescribeAclsResource(
        resource_type=resource_type, resource_name=name, pattern_type=pattern_type, acls=descriptions
    )


def acl(principal: str, operation: int = acls.READ, permission_type: int = acls.ALLOW) -> AclDescription:
    """Make an ACL for every host."""
    return AclDescription(principal=principal, host="*", operation=operation, permission_type=permission_type)


def test_every_acl_is_a_row_with_kafkas_names() -> None:
    """Each value is in its own column, so that two that are swapped are noticed."""
    response = DescribeAclsResponse(
        error_code=0, resources=(resource("o", acl("User:a", acls.WRITE, acls.DENY), pattern_type=acls.PREFIXED),)
    )
    assert list(acl_rows(response)) == [
        AclRow(
            resource_type="TOPIC",
            resource_name="o",
            pattern_type="PREFIXED",
            principal="User:a",
            host="*",
            operation="WRITE",
            permission="DENY",
        )
    ]


def test_rows_are_ordered() -> None:
    """Rows are ordered by resource, then by principal, whatever the order of the response."""
    resources = (resource("b", acl("User:b"), acl("User:a")), resource("a", acl("User:c")))
    rows = acl_rows(DescribeAclsResponse(error_code=0, resources=resources))
    assert [(row.resource_name, row.principal) for row in rows] == [("a", "User:c"), ("b", "User:a"), ("b", "User:b")]


def test_an_acl_that_is_listed_twice_is_one_row() -> None:
    """Within a resource, and where the resource itself is listed twice."""
    twice = resource("a", acl("User:a"), acl("User:a"))
    [row] = acl_rows(DescribeAclsResponse(error_code=0, resources=(twice, twice)))
    assert (row.resource_name, row.principal) == ("a", "User:a")


def test_numbers_without_a_name_are_kept() -> None:
    """An operation of a newer broker is UNKNOWN_n, and its ACL has a row."""
    newer = resource("x", acl("User:a", 99, 98), resource_type=97, pattern_type=96)
    [row] = acl_rows(DescribeAclsResponse(error_code=0, resources=(newer,)))
    names = (row.resource_type, row.pattern_type, row.operation, row.permission)
    assert names == ("UNKNOWN_97", "UNKNOWN_96", "UNKNOWN_99", "UNKNOWN_98")
