"""ConsumerGroupDescribe (api key 69): state and members of KIP-848 groups, whose assignments the broker itself makes.

The coordinator of each group answers; a classic group is error 69. Brokers 3.x offer the API but answer error 35 for
every group while the new coordinator is switched off. Unlike in DescribeGroups, assignments are fields here, with topic
ids, and there are two: what a member owns, and what it is on its way to own (target). A member that still speaks the
classic protocol, in a group that is being migrated, is listed like the others.
"""

from kafka_lagoon.protocol.acls import NOT_ASKED
from kafka_lagoon.wire.schema import Api, Bool, Int8, Int16, Int32, String, Uuid, Versions, struct, wire

UNKNOWN_MEMBER, CLASSIC_MEMBER, CONSUMER_MEMBER = -1, 0, 1


@struct
class ConsumerGroupDescribeRequest:
    """The groups to describe."""

    group_ids: tuple[String, ...]
    include_authorized_operations: Bool


@struct
class ConsumerGroupTopicPartitions:
    """Some partitions of a topic."""

    topic_id: Uuid
    topic_name: String
    partitions: tuple[Int32, ...]


@struct
class ConsumerGroupAssignment:
    """The partitions of one member."""

    topic_partitions: tuple[ConsumerGroupTopicPartitions, ...]


@struct
class DescribedConsumerMember:
    """A member. Its epoch equals the group's once it owns its target assignment."""

    member_id: String
    instance_id: String | None = wire(default=None)
    rack_id: String | None = wire(default=None)
    member_epoch: Int32 = wire(least=-2)  # -2: a static member that left for now
    client_id: String
    client_host: String
    subscribed_topic_names: tuple[String, ...]
    subscribed_topic_regex: String | None = wire(default=None)
    assignment: ConsumerGroupAssignment
    target_assignment: ConsumerGroupAssignment
    member_type: Int8 = wire(since=1, default=UNKNOWN_MEMBER, ignorable=True)  # KIP-1099


@struct
class DescribedConsumerGroup:
    """A group: Empty, Assigning, Reconciling, Stable or Dead."""

    error_code: Int16
    error_message: String | None = wire(default=None)
    group_id: String
    group_state: String
    group_epoch: Int32
    assignment_epoch: Int32
    assignor_name: String
    members: tuple[DescribedConsumerMember, ...]
    authorized_operations: Int32 = wire(least=NOT_ASKED, default=NOT_ASKED)


@struct
class ConsumerGroupDescribeResponse:
    """One entry per requested group."""

    throttle_time_ms: Int32
    groups: tuple[DescribedConsumerGroup, ...]


CONSUMER_GROUP_DESCRIBE = Api(
    key=69,
    versions=Versions(0, 1),
    flexible=0,
    request=ConsumerGroupDescribeRequest,
    response=ConsumerGroupDescribeResponse,
)
