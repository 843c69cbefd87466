"""ConsumerGroupHeartbeat (api key 68): be a member of a KIP-848 group, whose assignments the broker itself makes.

The coordinator of the group answers. One request joins, stays and leaves, by its member_epoch. Surprises:

- What is null, or UNCHANGED, is as in the heartbeat before. The first one, with JOIN, must tell the rebalance timeout,
  topics by name or by expression, and no partitions at all: else error 42.
- From v1 on members make their ids themselves, and keep them for life (KIP-1082).
- A null assignment is an unchanged one, not an empty one. What it takes away another member gets once topic_partitions
  no longer has it.
- Errors 110 and 25: drop all partitions and join again with the same id. 111: the instance_id is still somebody's. 112:
  no such assignor. 128: no such expression (RE2). 81: the group is full.
- One topic that we may not describe refuses the whole request (error 29). Topics of an expression are left out instead.
- Brokers 3.x answer error 35 while the new coordinator is switched off.
"""

from kafka_lagoon.wire.schema import Api, Int16, Int32, String, Uuid, Versions, struct, wire

JOIN, LEAVE, LEAVE_FOR_NOW = 0, -1, -2  # as member_epoch; for now is for static members, whose partitions wait for them
UNCHANGED = -1  # as rebalance_timeout_ms


@struct
class ConsumerHeartbeatTopicPartitions:
    """Some partitions of a topic."""

    topic_id: Uuid
    partitions: tuple[Int32, ...]


@struct
class ConsumerGroupHeartbeatRequest:
    """A member, what it subscribes to, and what it owns."""

    group_id: String
    member_id: String
    member_epoch: Int32
    instance_id: String | None = wire(default=None)  # KIP-345: static membership
    rack_id: String | None = wire(default=None)
    rebalance_timeout_ms: Int32 = wire(default=UNCHANGED)  # to give up what it must
    subscribed_topic_names: tuple[String, ...] | None = wire(default=None)
    subscribed_topic_regex: String | None = wire(since=1, default=None)
    server_assignor: String | None = wire(default=None)  # null: what most members want, or the default
    topic_partitions: tuple[ConsumerHeartbeatTopicPartitions, ...] | None = wire(default=None)


@struct
class ConsumerHeartbeatAssignment:
    """The partitions that the member may read now."""

    topic_partitions: tuple[ConsumerHeartbeatTopicPartitions, ...]


@struct
class ConsumerGroupHeartbeatResponse:
    """The member's epoch and assignment, and when to ask again."""

    throttle_time_ms: Int32
    error_code: Int16
    error_message: String | None = wire(default=None)
    member_id: String | None = wire(default=None)
    member_epoch: Int32 = wire(least=LEAVE_FOR_NOW)
    heartbeat_interval_ms: Int32
    assignment: ConsumerHeartbeatAssignment | None = wire(default=None)


CONSUMER_GROUP_HEARTBEAT = Api(
    key=68,
    versions=Versions(0, 1),
    flexible=0,
    request=ConsumerGroupHeartbeatRequest,
    response=ConsumerGroupHeartbeatResponse,
)
