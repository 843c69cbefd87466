"""CreateTopics (api key 19): ?"""

from pipeline.wire.schema import Api, Bool, Int8, Int16, Int32, Route, String, Uuid, Versions, struct, wire


@struct
class CreatableReplicaAssignment:
    """?"""

    partition_index: Int32
    broker_ids: tuple[Int32, ...]


@struct
class CreatableTopicConfig:
    """?"""

    name: String
    value: String | None


@struct
class CreatableTopic:
    """?"""

    name: String
    num_partitions: Int32
    replication_factor: Int16
    assignments: tuple[CreatableReplicaAssignment, ...]
    configs: tuple[CreatableTopicConfig, ...]


@struct
class CreateTopicsRequest:
    """?"""

    topics: tuple[CreatableTopic, ...]
    timeout_ms: Int32 = wire(default=60000)
    validate_only: Bool = wire(since=1)


@struct
class CreatableTopicConfigs:
    """?"""

    name: String
    value: String | None
    read_only: Bool
    config_source: Int8 = wire(default=-1)
    is_sensitive: Bool


@struct
class CreatableTopicResult:
    """?"""

    name: String
    topic_id: Uuid = wire(since=7, ignorable=True)
    error_code: Int16
    error_message: String | None = wire(since=1, ignorable=True)
    topic_config_error_code: Int16 = wire(since=5, tag=0, ignorable=True)
    num_partitions: Int32 = wire(since=5, default=-1, ignorable=True)
    replication_factor: Int16 = wire(since=5, default=-1, ignorable=True)
    configs: tuple[CreatableTopicConfigs, ...] | None = wire(since=5, ignorable=True)


@struct
class CreateTopicsResponse:
    """?"""

    throttle_time_ms: Int32 = wire(since=2, ignorable=True)
    topics: tuple[CreatableTopicResult, ...]


CREATE_TOPICS = Api(
    key=19,
    versions=Versions(0, 7),
    flexible=5,
    route=Route.CONTROLLER,
    request=CreateTopicsRequest,
    response=CreateTopicsResponse,
)
