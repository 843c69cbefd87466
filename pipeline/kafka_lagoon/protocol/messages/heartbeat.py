"""Heartbeat (api key 12): a member of a classic group is alive.

The coordinator of the group answers; without a heartbeat for its session timeout a member is out. The error tells the
member what to do: 27, the group rebalances, so join again with the same id; 22 and 25, the group went on without it, so
join as a new member; 82, another client has its group_instance_id, so stop.
"""

from kafka_lagoon.wire.schema import Api, Int16, Int32, String, Versions, struct, wire


@struct
class HeartbeatRequest:
    """A member, and the generation that it believes in."""

    group_id: String
    generation_id: Int32
    member_id: String
    group_instance_id: String | None = wire(since=3, default=None)  # KIP-345: static membership


@struct
class HeartbeatResponse:
    """An error code, 0 if the member is still in the group."""

    throttle_time_ms: Int32 = wire(since=1, ignorable=True)
    error_code: Int16


HEARTBEAT = Api(
    key=12,
    versions=Versions(0, 4),
    flexible=4,
    request=HeartbeatRequest,
    response=HeartbeatResponse,
)
