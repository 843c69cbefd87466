"""StreamsGroupDescribe (api key 89): ?"""

from pipeline.wire.schema import Api, Bool, Int16, Int32, Int64, Route, String, UInt16, Versions, struct, wire


@struct
class StreamsGroupDescribeRequest:
    """?"""

    group_ids: tuple[String, ...]
    include_authorized_operations: Bool


@struct
class KeyValue:
    """?"""

    key: String
    value: String


@struct
class TopicInfo:
    """?"""

    name: String
    partitions: Int32
    replication_factor: Int16
    topic_configs: tuple[KeyValue, ...]


@struct
class Subtopology:
    """?"""

    subtopology_id: String
    source_topics: tuple[String, ...]
    repartition_sink_topics: tuple[String, ...]
    state_changelog_topics: tuple[TopicInfo, ...]
    repartition_source_topics: tuple[TopicInfo, ...]


@struct
class Topology:
    """?"""

    epoch: Int32
    subtopologies: tuple[Subtopology, ...] | None = wire(default=None)


@struct
class Endpoint:
    """?"""

    host: String
    port: UInt16


@struct
class TaskOffset:
    """?"""

    subtopology_id: String
    partition: Int32
    offset: Int64


@struct
class TaskIds:
    """?"""

    subtopology_id: String
    partitions: tuple[Int32, ...]


@struct
class Assignment:
    """?"""

    active_tasks: tuple[TaskIds, ...]
    standby_tasks: tuple[TaskIds, ...]
    warmup_tasks: tuple[TaskIds, ...]


@struct
class Member:
    """?"""

    member_id: String
    member_epoch: Int32
    instance_id: String | None = wire(default=None)
    rack_id: String | None = wire(default=None)
    client_id: String
    client_host: String
    topology_epoch: Int32
    process_id: String
    user_endpoint: Endpoint | None = wire(default=None)
    client_tags: tuple[KeyValue, ...]
    task_offsets: tuple[TaskOffset, ...]
    task_end_offsets: tuple[TaskOffset, ...]
    assignment: Assignment
    target_assignment: Assignment
    is_classic: Bool


@struct
class DescribedGroup:
    """?"""

    error_code: Int16
    error_message: String | None = wire(default=None)
    group_id: String
    group_state: String
    group_epoch: Int32
    assignment_epoch: Int32
    topology: Topology | None = wire(default=None)
    members: tuple[Member, ...]
    authorized_operations: Int32 = wire(default=-2147483648)


@struct
class StreamsGroupDescribeResponse:
    """?"""

    throttle_time_ms: Int32
    groups: tuple[DescribedGroup, ...]


STREAMS_GROUP_DESCRIBE = Api(
    key=89,
    versions=Versions(0, 0),
    flexible=0,
    route=Route.COORDINATOR,
    request=StreamsGroupDescribeRequest,
    response=StreamsGroupDescribeResponse,
)
