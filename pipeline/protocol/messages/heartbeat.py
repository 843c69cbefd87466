"""Heartbeat (api key 12): ?"""

from pipeline.wire.schema import Api, Int16, Int32, Route, String, Versions, struct, wire


@struct
class HeartbeatRequest:
    """?"""

    group_id: String
    generation_id: Int32
    member_id: String
    group_instance_id: String | None = wire(since=3, default=None)


@struct
class HeartbeatResponse:
    """?"""

    throttle_time_ms: Int32 = wire(since=1, ignorable=True)
    error_code: Int16


HEARTBEAT = Api(
    key=12,
    versions=Versions(0, 4),
    flexible=4,
    route=Route.COORDINATOR,
    request=HeartbeatRequest,
    response=HeartbeatResponse,
)
