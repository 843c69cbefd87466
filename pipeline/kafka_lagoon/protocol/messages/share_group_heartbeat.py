"""ShareGroupHeartbeat (api key 76): be a member of a share group (KIP-932).

The coordinator of the group answers. One request joins, stays and leaves, by its member_epoch. Surprises:

- What is null is as in the heartbeat before; the first one, with JOIN, must tell topics: else error 42.
- Members make their ids themselves, of 36 characters at most, and use them for ShareFetch as well.
- A partition has several members, and nothing is to be given up: a null assignment is an unchanged one.
- Errors 110 and 25: join again with the same id. 81: the group is full.
- One topic that we may not describe refuses the whole request (error 29).
- v0 was for early access in 4.0 only. Brokers whose share.version is 0 answer error 35.
"""

from kafka_lagoon.wire.schema import Api, Int16, Int32, String, Uuid, Versions, struct, wire

JOIN, LEAVE = 0, -1  # as member_epoch


@struct
class ShareGroupHeartbeatRequest:
    """A member, and what it subscribes to."""

    group_id: String
    member_id: String
    member_epoch: Int32
    rack_id: String | None = wire(default=None)
    subscribed_topic_names: tuple[String, ...] | None = wire(default=None)


@struct
class ShareHeartbeatTopicPartitions:
    """Some partitions of a topic."""

    topic_id: Uuid
    partitions: tuple[Int32, ...]


@struct
class ShareHeartbeatAssignment:
    """The partitions that the member may acquire records of."""

    topic_partitions: tuple[ShareHeartbeatTopicPartitions, ...]


@struct
class ShareGroupHeartbeatResponse:
    """The member's epoch and assignment, and when to ask again."""

    throttle_time_ms: Int32
    error_code: Int16
    error_message: String | None = wire(default=None)
    member_id: String | None = wire(default=None)
    member_epoch: Int32
    heartbeat_interval_ms: Int32
    assignment: ShareHeartbeatAssignment | None = wire(default=None)


SHARE_GROUP_HEARTBEAT = Api(
    key=76,
    versions=Versions(1, 1),
    flexible=0,
    request=ShareGroupHeartbeatRequest,
    response=ShareGroupHeartbeatResponse,
)
