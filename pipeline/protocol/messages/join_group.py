"""JoinGroup (api key 11): ?"""

from pipeline.wire.schema import Api, Bool, Bytes, Int16, Int32, Route, String, Versions, struct, wire


@struct
class JoinGroupRequestProtocol:
    """?"""

    name: String
    metadata: Bytes


@struct
class JoinGroupRequest:
    """?"""

    group_id: String
    session_timeout_ms: Int32
    rebalance_timeout_ms: Int32 = wire(since=1, default=-1, ignorable=True)
    member_id: String
    group_instance_id: String | None = wire(since=5, default=None)
    protocol_type: String
    protocols: tuple[JoinGroupRequestProtocol, ...]
    reason: String | None = wire(since=8, default=None, ignorable=True)


@struct
class JoinGroupResponseMember:
    """?"""

    member_id: String
    group_instance_id: String | None = wire(since=5, default=None, ignorable=True)
    metadata: Bytes


@struct
class JoinGroupResponse:
    """?"""

    throttle_time_ms: Int32 = wire(since=2, ignorable=True)
    error_code: Int16
    generation_id: Int32 = wire(default=-1)
    protocol_type: String | None = wire(since=7, default=None, ignorable=True)
    protocol_name: String | None = wire(nullable_since=7)
    leader: String
    skip_assignment: Bool = wire(since=9)
    member_id: String
    members: tuple[JoinGroupResponseMember, ...]


JOIN_GROUP = Api(
    key=11,
    versions=Versions(0, 9),
    flexible=6,
    route=Route.COORDINATOR,
    request=JoinGroupRequest,
    response=JoinGroupResponse,
)
