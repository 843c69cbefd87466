"""Creates and deletes ACLs (CreateAcls, DeleteAcls, KIP-140).

ACLs are deleted one by one, each by a filter that matches only this ACL, so that no other ACL is deleted.
"""

from collections.abc import Iterator, Sequence

from kafka_lagoon.admin.acls import WITH_PATTERNS, Acl
from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.client.failures import Scope
from kafka_lagoon.client.routes import ByController
from kafka_lagoon.client.routing import Gathered, ShardedRequest, gather
from kafka_lagoon.clock import Deadline
from kafka_lagoon.protocol import acls
from kafka_lagoon.protocol.messages.create_acls import CREATE_ACLS, AclCreation, CreateAclsRequest, CreateAclsResponse
from kafka_lagoon.protocol.messages.delete_acls import (
    DELETE_ACLS,
    DeleteAclsFilter,
    DeleteAclsRequest,
    DeleteAclsResponse,
)

_CHUNK = 1_000  # ACLs in one request


def create_acls(cluster: Cluster, wanted: Sequence[Acl], deadline: Deadline) -> Gathered[Acl, None]:
    """Create ACLs; an ACL that exists already is a success. Brokers obey them a moment later."""
    sharded: ShardedRequest[Acl, None] = ShardedRequest(
        api=CREATE_ACLS,
        items=wanted,
        build=lambda items: CreateAclsRequest(creations=tuple(map(_creation, items))),
        read=_read_creations,
        chunk=_CHUNK,
        within=WITH_PATTERNS,
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
        within=WITH_PATTERNS,
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
