"""Describes the ACLs of a cluster (DescribeAcls, KIP-140); admin/acl_changes.py creates and deletes them.

No ACLs is an answer; no authorizer is a failure, SECURITY_DISABLED.
"""

from dataclasses import replace
from typing import NamedTuple

from kafka_lagoon.client.agreement import ask_two
from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.client.failures import Failure, Scope
from kafka_lagoon.clock import Deadline
from kafka_lagoon.frozen import frozen
from kafka_lagoon.protocol import acls
from kafka_lagoon.protocol.messages.describe_acls import DESCRIBE_ACLS, DescribeAclsRequest, DescribeAclsResponse
from kafka_lagoon.tables.row_classes import named
from kafka_lagoon.wire.schema import LATEST, Versions

WITH_PATTERNS, _LITERAL_ONLY = Versions(1, LATEST), Versions(0, 0)  # KIP-290


class Acl(NamedTuple):
    """An ACL; numbers as in protocol/acls.py, without those that only filters have."""

    resource_type: int
    resource_name: str
    pattern_type: int
    principal: str
    host: str
    operation: int
    permission: int


@frozen
class AclFilter:
    """Conditions on the ACLs to describe; None and ANY match all. Numbers as in protocol/acls.py."""

    resource_type: int = acls.ANY
    resource_name: str | None = None
    pattern_type: int = acls.ANY
    principal: str | None = None
    host: str | None = None
    operation: int = acls.ANY
    permission: int = acls.ANY


def describe_acls(cluster: Cluster, acl_filter: AclFilter, deadline: Deadline) -> DescribeAclsResponse | Failure:
    """ACLs that match the filter, from any broker; before Kafka 2.0 all are literal."""
    answer = _describe(cluster, acl_filter, deadline, WITH_PATTERNS)
    return _describe_literal(cluster, acl_filter, deadline) if _is_too_old(answer) else answer


def _is_too_old(answer: DescribeAclsResponse | Failure) -> bool:
    return isinstance(answer, Failure) and answer.is_too_old


def _describe_literal(cluster: Cluster, acl_filter: AclFilter, deadline: Deadline) -> DescribeAclsResponse | Failure:
    """The answer of brokers that know no pattern types: no prefixes; rules for every name apply to each name, too."""
    pattern_type, name = acl_filter.pattern_type, acl_filter.resource_name
    literal = replace(acl_filter, pattern_type=acls.LITERAL)
    answer = _describe(cluster, literal, deadline, _LITERAL_ONLY)
    if isinstance(answer, Failure) or pattern_type in (acls.ANY, acls.LITERAL):
        return answer
    if pattern_type != acls.MATCH:
        return replace(answer, resources=())
    if name in (None, acls.WILDCARD):
        return answer
    of_all = _describe(cluster, replace(literal, resource_name=acls.WILDCARD), deadline, _LITERAL_ONLY)
    return of_all if isinstance(of_all, Failure) else replace(answer, resources=(*answer.resources, *of_all.resources))


def _describe(
    cluster: Cluster, acl_filter: AclFilter, deadline: Deadline, within: Versions
) -> DescribeAclsResponse | Failure:
    request = DescribeAclsRequest(
        resource_type_filter=acl_filter.resource_type,
        resource_name_filter=acl_filter.resource_name,
        pattern_type_filter=acl_filter.pattern_type,
        principal_filter=acl_filter.principal,
        host_filter=acl_filter.host,
        operation=acl_filter.operation,
        permission_type=acl_filter.permission,
    )
    return ask_two(cluster, DESCRIBE_ACLS, request, Scope.list("ACLs"), deadline, within)


def acls_of(response: DescribeAclsResponse) -> list[Acl]:
    """The described ACLs, each once."""
    several = (
        Acl(
            resource.resource_type,
            resource.resource_name,
            resource.pattern_type,
            acl.principal,
            acl.host,
            acl.operation,
            acl.permission_type,
        )
        for resource in response.resources
        for acl in resource.acls
    )
    return list(dict.fromkeys(several))


def in_words(acl: Acl) -> dict[str, str]:
    """The fields of an ACL with names in place of numbers; a number without a name is UNKNOWN_n."""
    return {
        "resource_type": named(acls.RESOURCE_TYPES, acl.resource_type),
        "resource_name": acl.resource_name,
        "pattern_type": named(acls.PATTERN_TYPES, acl.pattern_type),
        "principal": acl.principal,
        "host": acl.host,
        "operation": named(acls.OPERATIONS, acl.operation),
        "permission": named(acls.PERMISSION_TYPES, acl.permission),
    }
