"""Answers DescribeAcls from the ACLs of a fake cluster; a cluster without any sequence of ACLs has no authorizer."""

from typing import Any

from kafka_lagoon.protocol.acls import ALLOW, ANY, DESCRIBE, LITERAL, MATCH, TOPIC, WILDCARD
from kafka_lagoon.protocol.messages import describe_acls
from tests.fake.cluster import FakeCluster

SECURITY_DISABLED = 54
# Who is in the group shows in no setting: so it may be that we see all topics because of this ACL, or some because of another.
OF_SOMEBODY = describe_acls.DescribeAclsResource(
    resource_type=TOPIC,
    resource_name=WILDCARD,
    pattern_type=LITERAL,
    acls=(
        describe_acls.AclDescription(
            principal="Group:somebody", host=WILDCARD, operation=DESCRIBE, permission_type=ALLOW
        ),
    ),
)


def _describe_acls(state: FakeCluster, _node: int, _version: int, request: Any) -> Any:
    if state.acls is None:
        return describe_acls.DescribeAclsResponse(
            error_code=SECURITY_DISABLED, error_message="No Authorizer is configured.", resources=()
        )
    matching = (resource for resource in state.acls if _is_of(resource, request))
    return describe_acls.DescribeAclsResponse(error_code=0, resources=tuple(matching))


def _names(resource: Any, request: Any) -> bool:
    """Compare names as brokers do: MATCH also finds ACLs for every name; prefixes are not compared here."""
    is_for_all = request.pattern_type_filter == MATCH and resource.resource_name == WILDCARD
    return is_for_all or request.resource_name_filter in (None, resource.resource_name)


def _is_of(resource: Any, request: Any) -> bool:
    return request.resource_type_filter in (ANY, resource.resource_type) and _names(resource, request)


ANSWERS = ((describe_acls.DESCRIBE_ACLS, _describe_acls),)
