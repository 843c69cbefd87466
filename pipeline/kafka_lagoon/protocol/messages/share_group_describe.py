"""ShareGroupDescribe (api key 77): state and members of share groups (KIP-932).

The coordinator of each group answers; a group that does not exist, or is of another type, is error 69. Surprises:

- A group in which one member has one topic that we may not describe is error 29, without its members.
- A partition can be with several members, and how far they are is a matter of DescribeShareGroupOffsets.
- v0 was for early access in 4.0 only. Brokers whose share.version is 0 answer error 35 for every group.
"""

from kafka_lagoon.protocol.acls import NOT_ASKED
from kafka_lagoon.wire.schema import Api, Bool, Int16, Int32, String, Uuid, Versions, struct, wire


@struct
class ShareGroupDescribeRequest:
    """The groups to describe."""

    group_ids: tuple[String, ...]
    include_authorized_operations: Bool


@struct
class ShareGroupTopicPartitions:
    """Some partitions of a topic."""

    topic_id: Uuid
    topic_name: String
    partitions: tuple[Int32, ...]


@struct
class ShareGroupAssignment:
    """The partitions of one member."""

    topic_partitions: tuple[ShareGroupTopicPartitions, ...]


@struct
class DescribedShareMember:
    """A member. Its epoch equals the group's once it has heard of its assignment."""

    member_id: String
    rack_id: String | None = wire(default=None)
    member_epoch: Int32
    client_id: String
    client_host: String
    subscribed_topic_names: tuple[String, ...]
    assignment: ShareGroupAssignment


@struct
class DescribedShareGroup:
    """A group: Empty, Stable or Dead."""

    error_code: Int16
    error_message: String | None = wire(default=None)
    group_id: String
    group_state: String
    group_epoch: Int32
    assignment_epoch: Int32
    assignor_name: String
    members: tuple[DescribedShareMember, ...]
    authorized_operations: Int32 = wire(least=NOT_ASKED, default=NOT_ASKED)


@struct
class ShareGroupDescribeResponse:
    """One entry per requested group."""

    throttle_time_ms: Int32
    groups: tuple[DescribedShareGroup, ...]


SHARE_GROUP_DESCRIBE = Api(
    key=77,
    versions=Versions(1, 1),
    flexible=0,
    request=ShareGroupDescribeRequest,
    response=ShareGroupDescribeResponse,
)
