"""DeleteGroups (api key 42): ?"""

from pipeline.wire.schema import Api, Int16, Int32, Route, String, Versions, struct


@struct
class DeleteGroupsRequest:
    """?"""

    groups_names: tuple[String, ...]


@struct
class DeletableGroupResult:
    """?"""

    group_id: String
    error_code: Int16


@struct
class DeleteGroupsResponse:
    """?"""

    throttle_time_ms: Int32
    results: tuple[DeletableGroupResult, ...]


DELETE_GROUPS = Api(
    key=42,
    versions=Versions(0, 2),
    flexible=2,
    route=Route.COORDINATOR,
    request=DeleteGroupsRequest,
    response=DeleteGroupsResponse,
)
