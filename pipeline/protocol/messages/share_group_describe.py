"""ShareGroupDescribe (api key 77): ?"""

from pipeline.wire.schema import Api, Bool, Int16, Int32, Route, String, Uuid, Versions, struct, wire


@struct
class ShareGroupDescribeRequest:
    """?"""

    group_ids: tuple[String, ...]
    include_authorized_operations: Bool


@struct
class TopicPartitions:
    """?"""

    topic_id: Uuid
    topic_name: String
    partitions: tuple[Int32, ...]


@struct
class Assignment:
    """?"""

    topic_partitions: tuple[TopicPartitions, ...]


@struct
class Member:
    """?"""

    member_id: String
    rack_id: String | None = wire(default=None)
    member_epoch: Int32
    client_id: String
    client_host: String
    subscribed_topic_names: tuple[String, ...]
    assignment: Assignment


@struct
class DescribedGroup:
    """?"""

    error_code: Int16
    error_message: String | None = wire(default=None)
    group_id: String
    group_state: String
    group_epoch: Int32
    assignment_epoch: Int32
    assignor_name: String
    members: tuple[Member, ...]
    authorized_operations: Int32 = wire(default=-2147483648)


@struct
class ShareGroupDescribeResponse:
    """?"""

    throttle_time_ms: Int32
    groups: tuple[DescribedGroup, ...]


SHARE_GROUP_DESCRIBE = Api(
    key=77,
    versions=Versions(1, 1),
    flexible=0,
    route=Route.COORDINATOR,
    request=ShareGroupDescribeRequest,
    response=ShareGroupDescribeResponse,
)
