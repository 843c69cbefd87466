"""A filter in, the access rules that match it out.

Guards one rule: a number that has no name here is shown as a number, never dropped; and no rules is not "no authorizer",
which is a failure (SECURITY_DISABLED).
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.client.failures import Failure, Scope
from kafka_lagoon.client.routing import ask_cluster
from kafka_lagoon.clock import Deadline
from kafka_lagoon.protocol import acls
from kafka_lagoon.protocol.messages.describe_acls import DESCRIBE_ACLS, DescribeAclsRequest, DescribeAclsResponse
from kafka_lagoon.row_classes import column, row
from kafka_lagoon.wire.schema import LATEST, Versions

_WITH_PATTERNS = Versions(1, LATEST)  # KIP-290


@dataclass(frozen=True, slots=True, kw_only=True)
class AclFilter:
    """What a rule must have; None and ANY are all. Numbers as in protocol/acls.py."""

    resource_type: int = acls.ANY
    resource_name: str | None = None
    pattern_type: int = acls.ANY
    principal: str | None = None
    host: str | None = None
    operation: int = acls.ANY
    permission: int = acls.ANY


@row
class AclRow:
    """Access rules, one row each."""

    resource_type: str = column("TOPIC, GROUP, CLUSTER, TRANSACTIONAL_ID, DELEGATION_TOKEN or USER.")
    resource_name: str = column("Name or prefix; * with LITERAL is every name.")
    pattern_type: str = column("LITERAL or PREFIXED.")
    principal: str = column("Who, as type:name; User:* is everybody.")
    host: str = column("From which address; * is every one.")
    operation: str = column("What, as Kafka names it.")
    permission: str = column("ALLOW or DENY.")


def describe_acls(cluster: Cluster, chosen: AclFilter, deadline: Deadline) -> DescribeAclsResponse | Failure:
    """The answer of any broker; SECURITY_DISABLED where there is no authorizer."""
    request = DescribeAclsRequest(
        resource_type_filter=chosen.resource_type,
        resource_name_filter=chosen.resource_name,
        pattern_type_filter=chosen.pattern_type,
        principal_filter=chosen.principal,
        host_filter=chosen.host,
        operation=chosen.operation,
        permission_type=chosen.permission,
    )
    return ask_cluster(cluster, DESCRIBE_ACLS, request, Scope.list("access rules"), deadline, _WITH_PATTERNS)


def acl_rows(told: DescribeAclsResponse) -> Iterator[AclRow]:
    """One row per rule, by resource, principal, host and operation."""
    found = [
        AclRow(
            resource_type=named(acls.RESOURCE_TYPES, resource.resource_type),
            resource_name=resource.resource_name,
            pattern_type=named(acls.PATTERN_TYPES, resource.pattern_type),
            principal=one.principal,
            host=one.host,
            operation=named(acls.OPERATIONS, one.operation),
            permission=named(acls.PERMISSION_TYPES, one.permission_type),
        )
        for resource in told.resources
        for one in resource.acls
    ]
    yield from sorted(found, key=_order)


def named(names: Mapping[int, str], number: int) -> str:
    """The name of a number; UNKNOWN_n for one that is newer than we."""
    return names.get(number, f"UNKNOWN_{number}")


def _order(one: AclRow) -> tuple[str, ...]:
    return (
        one.resource_type,
        one.resource_name,
        one.pattern_type,
        one.principal,
        one.host,
        one.operation,
        one.permission,
    )
