"""JoinGroup (api key 11): become a member of a classic group, or stay one while it rebalances.

The coordinator of the group answers. If the group rebalances, that is when every member has joined or the largest
`rebalance_timeout_ms` has passed; a new group waits for others, at first group.initial.rebalance.delay.ms (3 s).
Surprises:

- From v4 on the first request of a new member is error 79 and brings the id to join with (KIP-394). Static members, who
  have a group_instance_id (v5, KIP-345), and earlier versions are let in at once.
- Only the leader, i.e. the member whose id is `leader`, gets the list of members. It assigns the partitions and sends them
  with SyncGroup, in which everybody learns its own.
- Protocols are in order of preference. The coordinator takes one that all members support; if there is none, or if
  protocol_type is not that of the group, the newcomer is error 23. What is in their metadata it does not read.
- A static member that joins without its member id takes the place of whoever has its group_instance_id; the other one
  is fenced (error 82) from then on.
- A session timeout outside of the broker's bounds is error 26, a full group 81.
- A KIP-848 group takes classic consumers in as well, while it is being migrated.
"""

from kafka_lagoon.wire.schema import Api, Bool, Bytes, Int16, Int32, String, Versions, struct, wire

NO_MEMBER_ID = ""  # of who joins for the first time
SESSION_TIMEOUT = -1  # as rebalance_timeout_ms: v0 knows session_timeout_ms only, which then bounds both
NO_GENERATION = -1  # beside an error
CONSUMER_PROTOCOL = "consumer"  # protocol_type of groups whose metadata are those of `kafka_lagoon.protocol.embedded`


@struct
class JoinGroupRequestProtocol:
    """A way of assigning that the member supports, and what the leader is to know of the member (its subscription)."""

    name: String
    metadata: Bytes


@struct
class JoinGroupRequest:
    """A member that joins, and its timeouts: between heartbeats, and while the group rebalances."""

    group_id: String
    session_timeout_ms: Int32
    rebalance_timeout_ms: Int32 = wire(since=1, default=SESSION_TIMEOUT, ignorable=True)  # KIP-62
    member_id: String
    group_instance_id: String | None = wire(since=5, default=None)
    protocol_type: String
    protocols: tuple[JoinGroupRequestProtocol, ...]
    reason: String | None = wire(since=8, default=None, ignorable=True)  # KIP-800: for the broker's log


@struct
class JoinGroupResponseMember:
    """A member, and what it sent under the protocol that was chosen."""

    member_id: String
    group_instance_id: String | None = wire(since=5, default=None, ignorable=True)
    metadata: Bytes


@struct
class JoinGroupResponse:
    """The generation that begins, and the member's id in it."""

    throttle_time_ms: Int32 = wire(since=2, ignorable=True)
    error_code: Int16
    generation_id: Int32 = wire(default=NO_GENERATION)
    protocol_type: String | None = wire(since=7, default=None, ignorable=True)  # KIP-559
    protocol_name: String | None = wire(nullable_since=7)  # beside an error null, or empty up to v6
    leader: String
    skip_assignment: Bool = wire(since=9)  # KIP-814: the group keeps its assignment, though a static leader is back
    member_id: String
    members: tuple[JoinGroupResponseMember, ...]


JOIN_GROUP = Api(
    key=11,
    versions=Versions(0, 9),
    flexible=6,
    request=JoinGroupRequest,
    response=JoinGroupResponse,
)
