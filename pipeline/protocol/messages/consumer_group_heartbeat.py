"""ConsumerGroupHeartbeat (api key 68): ?"""

from pipeline.wire.schema import Api, Int16, Int32, Route, String, Uuid, Versions, struct, wire


@struct
class TopicPartitions:
    """?"""

    topic_id: Uuid
    partitions: tuple[Int32, ...]


@struct
class ConsumerGroupHeartbeatRequest:
    """?"""

    group_id: String
    member_id: String
    member_epoch: Int32
    instance_id: String | None = wire(default=None)
    rack_id: String | None = wire(default=None)
    rebalance_timeout_ms: Int32 = wire(default=-1)
    subscribed_topic_names: tuple[String, ...] | None = wire(default=None)
    subscribed_topic_regex: String | None = wire(since=1, default=None)
    server_assignor: String | None = wire(default=None)
    topic_partitions: tuple[TopicPartitions, ...] | None = wire(default=None)


@struct
class Assignment:
    """?"""

    topic_partitions: tuple[TopicPartitions, ...]


@struct
class ConsumerGroupHeartbeatResponse:
    """?"""

    throttle_time_ms: Int32
    error_code: Int16
    error_message: String | None = wire(default=None)
    member_id: String | None = wire(default=None)
    member_epoch: Int32
    heartbeat_interval_ms: Int32
    assignment: Assignment | None = wire(default=None)


CONSUMER_GROUP_HEARTBEAT = Api(
    key=68,
    versions=Versions(0, 1),
    flexible=0,
    route=Route.COORDINATOR,
    request=ConsumerGroupHeartbeatRequest,
    response=ConsumerGroupHeartbeatResponse,
)
