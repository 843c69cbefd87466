"""StreamsGroupHeartbeat (api key 88): ?"""

from pipeline.wire.schema import Api, Bool, Int8, Int16, Int32, Int64, Route, String, UInt16, Versions, struct, wire


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
class CopartitionGroup:
    """?"""

    source_topics: tuple[Int16, ...]
    source_topic_regex: tuple[Int16, ...]
    repartition_source_topics: tuple[Int16, ...]


@struct
class Subtopology:
    """?"""

    subtopology_id: String
    source_topics: tuple[String, ...]
    source_topic_regex: tuple[String, ...]
    state_changelog_topics: tuple[TopicInfo, ...]
    repartition_sink_topics: tuple[String, ...]
    repartition_source_topics: tuple[TopicInfo, ...]
    copartition_groups: tuple[CopartitionGroup, ...]


@struct
class Topology:
    """?"""

    epoch: Int32
    subtopologies: tuple[Subtopology, ...]


@struct
class TaskIds:
    """?"""

    subtopology_id: String
    partitions: tuple[Int32, ...]


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
class StreamsGroupHeartbeatRequest:
    """?"""

    group_id: String
    member_id: String
    member_epoch: Int32
    endpoint_information_epoch: Int32
    instance_id: String | None = wire(default=None)
    rack_id: String | None = wire(default=None)
    rebalance_timeout_ms: Int32 = wire(default=-1)
    topology: Topology | None = wire(default=None)
    active_tasks: tuple[TaskIds, ...] | None = wire(default=None)
    standby_tasks: tuple[TaskIds, ...] | None = wire(default=None)
    warmup_tasks: tuple[TaskIds, ...] | None = wire(default=None)
    process_id: String | None = wire(default=None)
    user_endpoint: Endpoint | None = wire(default=None)
    client_tags: tuple[KeyValue, ...] | None = wire(default=None)
    task_offsets: tuple[TaskOffset, ...] | None = wire(default=None)
    task_end_offsets: tuple[TaskOffset, ...] | None = wire(default=None)
    shutdown_application: Bool


@struct
class Status:
    """?"""

    status_code: Int8
    status_detail: String


@struct
class TopicPartition:
    """?"""

    topic: String
    partitions: tuple[Int32, ...]


@struct
class EndpointToPartitions:
    """?"""

    user_endpoint: Endpoint
    active_partitions: tuple[TopicPartition, ...]
    standby_partitions: tuple[TopicPartition, ...]


@struct
class StreamsGroupHeartbeatResponse:
    """?"""

    throttle_time_ms: Int32
    error_code: Int16
    error_message: String | None = wire(default=None)
    member_id: String
    member_epoch: Int32
    heartbeat_interval_ms: Int32
    acceptable_recovery_lag: Int32
    task_offset_interval_ms: Int32
    status: tuple[Status, ...] | None
    active_tasks: tuple[TaskIds, ...] | None = wire(default=None)
    standby_tasks: tuple[TaskIds, ...] | None = wire(default=None)
    warmup_tasks: tuple[TaskIds, ...] | None = wire(default=None)
    endpoint_information_epoch: Int32
    partitions_by_user_endpoint: tuple[EndpointToPartitions, ...] | None = wire(default=None)


STREAMS_GROUP_HEARTBEAT = Api(
    key=88,
    versions=Versions(0, 0),
    flexible=0,
    route=Route.COORDINATOR,
    request=StreamsGroupHeartbeatRequest,
    response=StreamsGroupHeartbeatResponse,
)
