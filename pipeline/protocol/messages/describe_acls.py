"""DescribeAcls (api key 29): ?"""

from pipeline.wire.schema import Api, Int8, Int16, Int32, Route, String, Versions, struct, wire


@struct
class DescribeAclsRequest:
    """?"""

    resource_type_filter: Int8
    resource_name_filter: String | None
    pattern_type_filter: Int8 = wire(since=1, default=3)
    principal_filter: String | None
    host_filter: String | None
    operation: Int8
    permission_type: Int8


@struct
class AclDescription:
    """?"""

    principal: String
    host: String
    operation: Int8
    permission_type: Int8


@struct
class DescribeAclsResource:
    """?"""

    resource_type: Int8
    resource_name: String
    pattern_type: Int8 = wire(since=1, default=3)
    acls: tuple[AclDescription, ...]


@struct
class DescribeAclsResponse:
    """?"""

    throttle_time_ms: Int32
    error_code: Int16
    error_message: String | None
    resources: tuple[DescribeAclsResource, ...]


DESCRIBE_ACLS = Api(
    key=29,
    versions=Versions(0, 3),
    flexible=2,
    route=Route.ANY,
    request=DescribeAclsRequest,
    response=DescribeAclsResponse,
)
