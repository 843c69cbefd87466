"""SyncGroup (api key 14): ?"""

from pipeline.wire.schema import Api, Bytes, Int16, Int32, Route, String, Versions, struct, wire


@struct
class SyncGroupRequestAssignment:
    """?"""

    member_id: String
    assignment: Bytes


@struct
class SyncGroupRequest:
    """?"""

    group_id: String
    generation_id: Int32
    member_id: String
    group_instance_id: String | None = wire(since=3, default=None)
    protocol_type: String | None = wire(since=5, default=None, ignorable=True)
    protocol_name: String | None = wire(since=5, default=None, ignorable=True)
    assignments: tuple[SyncGroupRequestAssignment, ...]


@struct
class SyncGroupResponse:
    """?"""

    throttle_time_ms: Int32 = wire(since=1, ignorable=True)
    error_code: Int16
    protocol_type: String | None = wire(since=5, default=None, ignorable=True)
    protocol_name: String | None = wire(since=5, default=None, ignorable=True)
    assignment: Bytes


SYNC_GROUP = Api(
    key=14,
    versions=Versions(0, 5),
    flexible=4,
    route=Route.COORDINATOR,
    request=SyncGroupRequest,
    response=SyncGroupResponse,
)
