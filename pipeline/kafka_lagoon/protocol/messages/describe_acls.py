"""DescribeAcls (api key 29): the access rules that match a filter (KIP-140).

Any broker answers, from what it has heard; a rule that was made a moment ago may be missing. Surprises:

- A cluster without an authorizer answers error 54: everything is allowed there.
- ALL as an operation in the filter finds the rules that say ALL, and no others; ANY finds every rule.
- PREFIXED and LITERAL compare the name as it is written. MATCH asks which rules apply to a name: the wildcard and
  prefixes too.
- A number that the broker does not know matches nothing; 0, UNKNOWN, ends the connection.
- v0 knows no pattern types and answers with literal rules only.
"""

from kafka_lagoon.protocol.acls import LITERAL
from kafka_lagoon.wire.schema import Api, Int8, Int16, Int32, String, Versions, struct, wire


@struct
class DescribeAclsRequest:
    """Conditions on the rules to list; a rule must meet all of them."""

    resource_type_filter: Int8  # of RESOURCE_TYPES, ANY for all
    resource_name_filter: String | None  # null for all
    pattern_type_filter: Int8 = wire(since=1, default=LITERAL)  # KIP-290; before, all were literal
    principal_filter: String | None  # as User:name
    host_filter: String | None  # null for all
    operation: Int8  # ANY for all
    permission_type: Int8  # ANY for all


@struct
class AclDescription:
    """A rule: who may, or may not, do what, and from where."""

    principal: String  # as User:name
    host: String  # an address; WILDCARD for all
    operation: Int8
    permission_type: Int8


@struct
class DescribeAclsResource:
    """The rules for one name, prefix or wildcard."""

    resource_type: Int8
    resource_name: String
    pattern_type: Int8 = wire(since=1, default=LITERAL)
    acls: tuple[AclDescription, ...]


@struct
class DescribeAclsResponse:
    """Rules by resource; needs permission to describe the cluster (error 31 without)."""

    throttle_time_ms: Int32
    error_code: Int16
    error_message: String | None
    resources: tuple[DescribeAclsResource, ...]


DESCRIBE_ACLS = Api(
    key=29,
    versions=Versions(0, 3),
    flexible=2,
    request=DescribeAclsRequest,
    response=DescribeAclsResponse,
)
