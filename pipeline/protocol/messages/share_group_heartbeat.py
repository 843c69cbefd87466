"""ShareGroupHeartbeat (api key 76): ?"""

from pipeline.wire.schema import Api, Int16, Int32, Route, String, Uuid, Versions, struct, wire


@struct
class ShareGroupHeartbeatRequest:
    """?"""

    group_id: String
    member_id: String
    member_epoch: Int32
    rack_id: String | None = wire(default=None)
    subscribed_topic_names: tuple[String, ...] | None = wire(default=None)


@struct
class TopicPartitions:
    """?"""

    topic_id: Uuid
    partitions: tuple[Int32, ...]


@struct
class Assignment:
    """?"""

    topic_partitions: tuple[TopicPartitions, ...]


@struct
class ShareGroupHeartbeatResponse:
    """?"""

    throttle_time_ms: Int32
    error_code: Int16
    error_message: String | None = wire(default=None)
    member_id: String | None = wire(default=None)
    member_epoch: Int32
    heartbeat_interval_ms: Int32
    assignment: Assignment | None = wire(default=None)


SHARE_GROUP_HEARTBEAT = Api(
    key=76,
    versions=Versions(1, 1),
    flexible=0,
    route=Route.COORDINATOR,
    request=ShareGroupHeartbeatRequest,
    response=ShareGroupHeartbeatResponse,
)
