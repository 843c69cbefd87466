"""Describes the ACLs of a cluster (DescribeAcls, KIP-140).

No ACLs is an answer; no authorizer is a failure, SECURITY_DISABLED.
"""

from dataclasses import dataclass

from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.client.failures import Failure, Scope
from kafka_lagoon.client.routing import ask_cluster
from kafka_lagoon.clock import Deadline
from kafka_lagoon.protocol import acls
from kafka_lagoon.protocol.messages.describe_acls import DESCRIBE_ACLS, DescribeAclsRequest, DescribeAclsResponse
from kafka_lagoon.wire.schema import LATEST, Versions

_WITH_PATTERNS = Versions(1, LATEST)  # KIP-290


@dataclass(frozen=True, slots=True, kw_only=True)
class AclFilter:
    """What an ACL must have to be described; None and ANY match all. Numbers as in protocol/acls.py."""

    resource_type: int = acls.ANY
    resource_name: str | None = None
    pattern_type: int = acls.ANY
    principal: str | None = None
    host: str | None = None
    operation: int = acls.ANY
    permission: int = acls.ANY


def describe_acls(cluster: Cluster, acl_filter: AclFilter, deadline: Deadline) -> DescribeAclsResponse | Failure:
    """ACLs that match the filter, from any broker."""
    request = DescribeAclsRequest(
        resource_type_filter=acl_filter.resource_type,
        resource_name_filter=acl_filter.resource_name,
        pattern_type_filter=acl_filter.pattern_type,
        principal_filter=acl_filter.principal,
        host_filter=acl_filter.host,
        operation=acl_filter.operation,
        permission_type=acl_filter.permission,
    )
    return ask_cluster(cluster, DESCRIBE_ACLS, request, Scope.list("ACLs"), deadline, _WITH_PATTERNS)
