"""SyncGroup (api key 14): the leader of a classic group hands out partitions, every member learns its own.

The coordinator of the group answers, and not before the leader has sent the assignments. Surprises:

- All members send it after JoinGroup: the leader with the assignments of everybody, the others with none.
- A member that the leader forgets gets empty bytes, and no error.
- Error 27: another rebalance has begun meanwhile, so join again. 22 and 25: the group went on without the member.
- From v5 on the protocol is checked if it is given; error 23 if the group has chosen another (KIP-559).
"""

from kafka_lagoon.wire.schema import Api, Bytes, Int16, Int32, String, Versions, struct, wire


@struct
class SyncGroupRequestAssignment:
    """The assignment of a member; in groups of consumers an Assignment of `kafka_lagoon.protocol.embedded`."""

    member_id: String
    assignment: Bytes


@struct
class SyncGroupRequest:
    """A member of a generation, and, from its leader, the assignments."""

    group_id: String
    generation_id: Int32
    member_id: String
    group_instance_id: String | None = wire(since=3, default=None)  # KIP-345: static membership
    protocol_type: String | None = wire(since=5, default=None, ignorable=True)
    protocol_name: String | None = wire(since=5, default=None, ignorable=True)
    assignments: tuple[SyncGroupRequestAssignment, ...]


@struct
class SyncGroupResponse:
    """The assignment of the member that asked."""

    throttle_time_ms: Int32 = wire(since=1, ignorable=True)
    error_code: Int16
    protocol_type: String | None = wire(since=5, default=None, ignorable=True)
    protocol_name: String | None = wire(since=5, default=None, ignorable=True)
    assignment: Bytes


SYNC_GROUP = Api(
    key=14,
    versions=Versions(0, 5),
    flexible=4,
    request=SyncGroupRequest,
    response=SyncGroupResponse,
)
