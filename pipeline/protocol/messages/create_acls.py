"""CreateAcls (api key 30): ?"""

from pipeline.wire.schema import Api, Int8, Int16, Int32, Route, String, Versions, struct, wire


@struct
class AclCreation:
    """?"""

    resource_type: Int8
    resource_name: String
    resource_pattern_type: Int8 = wire(since=1, default=3)
    principal: String
    host: String
    operation: Int8
    permission_type: Int8


@struct
class CreateAclsRequest:
    """?"""

    creations: tuple[AclCreation, ...]


@struct
class AclCreationResult:
    """?"""

    error_code: Int16
    error_message: String | None


@struct
class CreateAclsResponse:
    """?"""

    throttle_time_ms: Int32
    results: tuple[AclCreationResult, ...]


CREATE_ACLS = Api(
    key=30,
    versions=Versions(0, 3),
    flexible=2,
    route=Route.CONTROLLER,
    request=CreateAclsRequest,
    response=CreateAclsResponse,
)
