"""Describes, creates and deletes the ACLs of a cluster (DescribeAcls, CreateAcls, DeleteAcls, KIP-140).

No ACLs is an answer; no authorizer is a failure, SECURITY_DISABLED. ACLs are deleted one by one, each by a filter that matches
only this ACL, so that no other ACL is deleted.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from kafka_lagoon.client.agreement import ask_two
from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.client.failures import Failure, Scope
from kafka_lagoon.client.routes import ByController
from kafka_lagoon.client.routing import Gathered, ShardedRequest, gather
from kafka_lagoon.clock import Deadline
from kafka_lagoon.frozen import frozen
from kafka_lagoon.protocol import acls
from kafka_lagoon.protocol.messages.create_acls import CREATE_ACLS, AclCreation, CreateAclsRequest, CreateAclsResponse
from kafka_lagoon.protocol.messages.delete_acls import (
    DELETE_ACLS,
    DeleteAclsFilter,
    DeleteAclsRequest,
    DeleteAclsResponse,
)
from kafka_lagoon.protocol.messages.describe_acls import DESCRIBE_ACLS, DescribeAclsRequest, DescribeAclsResponse
from kafka_lagoon.wire.schema import LATEST, Versions

_WITH_PATTERNS, _LITERAL_ONLY = Versions(1, LATEST), Versions(0, 0)  # KIP-290
_CHUNK = 1_000  # ACLs in one request


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
    answer = _describe(cluster, acl_filter, deadline, _WITH_PATTERNS)
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


def create_acls(cluster: Cluster, wanted: Sequence[Acl], deadline: Deadline) -> Gathered[Acl, None]:
    """Create ACLs; an ACL that exists already is a success. Brokers obey them a moment later."""
    sharded: ShardedRequest[Acl, None] = ShardedRequest(
        api=CREATE_ACLS,
        items=wanted,
        build=lambda items: CreateAclsRequest(creations=tuple(map(_creation, items))),
        read=_read_creations,
        chunk=_CHUNK,
        within=_WITH_PATTERNS,
        once=False,
    )
    return gather(cluster, ByController(cluster, _scope), [sharded], deadline)[0]


def delete_acls(cluster: Cluster, unwanted: Sequence[Acl], deadline: Deadline) -> Gathered[Acl, int]:
    """Delete exactly these ACLs; the answer is 1, or 0 if there was no such ACL any more."""
    sharded: ShardedRequest[Acl, int] = ShardedRequest(
        api=DELETE_ACLS,
        items=unwanted,
        build=lambda items: DeleteAclsRequest(filters=tuple(map(_exactly, items))),
        read=_read_deletions,
        chunk=_CHUNK,
        within=_WITH_PATTERNS,
        once=False,
    )
    return gather(cluster, ByController(cluster, _scope), [sharded], deadline)[0]


def _scope(acl: Acl) -> Scope:
    words = acls.PERMISSION_TYPES, acls.OPERATIONS, acls.RESOURCE_TYPES
    permission, operation, resource_type = (
        names.get(number, str(number))
        for names, number in zip(words, (acl.permission, acl.operation, acl.resource_type), strict=True)
    )
    return Scope.list(f"ACL {permission} {acl.principal} {operation} {resource_type} {acl.resource_name}")


def _creation(acl: Acl) -> AclCreation:
    return AclCreation(
        resource_type=acl.resource_type,
        resource_name=acl.resource_name,
        resource_pattern_type=acl.pattern_type,
        principal=acl.principal,
        host=acl.host,
        operation=acl.operation,
        permission_type=acl.permission,
    )


def _read_creations(response: CreateAclsResponse, items: Sequence[Acl]) -> Iterator[tuple[Acl, int, None, str | None]]:
    """Results are in the order of the request."""
    for acl, result in zip(items, response.results, strict=False):
        yield acl, result.error_code, None, result.error_message


def _exactly(acl: Acl) -> DeleteAclsFilter:
    return DeleteAclsFilter(
        resource_type_filter=acl.resource_type,
        resource_name_filter=acl.resource_name,
        pattern_type_filter=acl.pattern_type,
        principal_filter=acl.principal,
        host_filter=acl.host,
        operation=acl.operation,
        permission_type=acl.permission,
    )


def _read_deletions(response: DeleteAclsResponse, items: Sequence[Acl]) -> Iterator[tuple[Acl, int, int, str | None]]:
    """Results are in the order of the request; a matching ACL may have an error of its own."""
    for acl, result in zip(items, response.filter_results, strict=False):
        matches = result.matching_acls
        codes = (result.error_code, *(match.error_code for match in matches))
        messages = (result.error_message, *(match.error_message for match in matches))
        yield acl, next(filter(None, codes), 0), len(matches), next(filter(None, messages), None)
