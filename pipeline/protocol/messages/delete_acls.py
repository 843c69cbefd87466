"""DeleteAcls (api key 31): ?"""

from pipeline.wire.schema import Api, Int8, Int16, Int32, Route, String, Versions, struct, wire


@struct
class DeleteAclsFilter:
    """?"""

    resource_type_filter: Int8
    resource_name_filter: String | None
    pattern_type_filter: Int8 = wire(since=1, default=3)
    principal_filter: String | None
    host_filter: String | None
    operation: Int8
    permission_type: Int8


@struct
class DeleteAclsRequest:
    """?"""

    filters: tuple[DeleteAclsFilter, ...]


@struct
class DeleteAclsMatchingAcl:
    """?"""

    error_code: Int16
    error_message: String | None
    resource_type: Int8
    resource_name: String
    pattern_type: Int8 = wire(since=1, default=3)
    principal: String
    host: String
    operation: Int8
    permission_type: Int8


@struct
class DeleteAclsFilterResult:
    """?"""

    error_code: Int16
    error_message: String | None
    matching_acls: tuple[DeleteAclsMatchingAcl, ...]


@struct
class DeleteAclsResponse:
    """?"""

    throttle_time_ms: Int32
    filter_results: tuple[DeleteAclsFilterResult, ...]


DELETE_ACLS = Api(
    key=31,
    versions=Versions(0, 3),
    flexible=2,
    route=Route.CONTROLLER,
    request=DeleteAclsRequest,
    response=DeleteAclsResponse,
)
