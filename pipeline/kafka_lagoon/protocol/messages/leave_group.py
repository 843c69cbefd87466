"""LeaveGroup (api key 13): members of a classic group go, or are removed.

The coordinator of the group answers. Surprises:

- v0 to v2 take one member, in a field of the request itself; v3 and later many, in a list (KIP-345). Each has an error
  of its own then, and the response has one for the whole group only.
- Who may read from the group may remove any member of it: it is how administrators remove static members, by their
  group_instance_id and ANY_MEMBER_ID.
- Static members do not leave when they stop: they come back within their session timeout, or are out by it.
"""

from kafka_lagoon.wire.schema import Api, Int16, Int32, String, Versions, struct, wire

ANY_MEMBER_ID = ""  # whoever has the group_instance_id


@struct
class LeavingMember:
    """A member to remove."""

    member_id: String
    group_instance_id: String | None = wire(default=None)
    reason: String | None = wire(since=5, default=None, ignorable=True)  # KIP-800: for the broker's log


@struct
class LeaveGroupRequest:
    """One member (v0 to v2) or many (v3 and later)."""

    group_id: String
    member_id: String = wire(until=2)
    members: tuple[LeavingMember, ...] = wire(since=3)


@struct
class LeavingMemberResponse:
    """An error code, 0 if the member has left: 25 if it was not in the group, 82 if its ids are not of the same member."""

    member_id: String
    group_instance_id: String | None
    error_code: Int16


@struct
class LeaveGroupResponse:
    """One entry per member (v3 and later)."""

    throttle_time_ms: Int32 = wire(since=1, ignorable=True)
    error_code: Int16
    members: tuple[LeavingMemberResponse, ...] = wire(since=3)


LEAVE_GROUP = Api(
    key=13,
    versions=Versions(0, 5),
    flexible=4,
    request=LeaveGroupRequest,
    response=LeaveGroupResponse,
)
