"""LeaveGroup (api key 13): ?"""

from pipeline.wire.schema import Api, Int16, Int32, Route, String, Versions, struct, wire


@struct
class MemberIdentity:
    """?"""

    member_id: String
    group_instance_id: String | None = wire(default=None)
    reason: String | None = wire(since=5, default=None, ignorable=True)


@struct
class LeaveGroupRequest:
    """?"""

    group_id: String
    member_id: String = wire(until=2)
    members: tuple[MemberIdentity, ...] = wire(since=3)


@struct
class MemberResponse:
    """?"""

    member_id: String
    group_instance_id: String | None
    error_code: Int16


@struct
class LeaveGroupResponse:
    """?"""

    throttle_time_ms: Int32 = wire(since=1, ignorable=True)
    error_code: Int16
    members: tuple[MemberResponse, ...] = wire(since=3)


LEAVE_GROUP = Api(
    key=13,
    versions=Versions(0, 5),
    flexible=4,
    route=Route.COORDINATOR,
    request=LeaveGroupRequest,
    response=LeaveGroupResponse,
)
