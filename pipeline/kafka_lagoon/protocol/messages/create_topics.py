"""CreateTopics (api key 19): new topics, with as many partitions and replicas as asked, or placed by hand.

The controller answers: under ZooKeeper any other broker says error 41, under KRaft any broker passes it on (KIP-590).
Surprises:

- Topics succeed and fail each by itself; the same name twice is error 42 for that name.
- Success means that the controller has decided. A broker may not know the topic for a moment longer.
- After error 7 (the time ran out) the topics may exist, or come to exist.
- Names that differ in "." and "_" only are error 17, for their metrics would have the same name.
- Below v6 too many new partitions are slowed down, from v6 on they are error 89, to be tried again (KIP-599).
- validate_only answers as if topics had been created, under KRaft even with topic ids that nobody will ever have.
"""

from kafka_lagoon.wire.schema import Api, Bool, Int8, Int16, Int32, String, Uuid, Versions, struct, wire

BROKER_DEFAULT = -1  # v4, KIP-464: as many as the broker gives by itself; also what must stand beside assignments


@struct
class CreatableReplicaAssignment:
    """The brokers of a partition. The first is the preferred leader, and partitions count from 0 without a gap."""

    partition_index: Int32
    broker_ids: tuple[Int32, ...]


@struct
class CreatableTopicConfig:
    """A setting that the topic is to have of its own."""

    name: String
    value: String | None


@struct
class CreatableTopic:
    """A topic to create. With assignments both numbers must be BROKER_DEFAULT."""

    name: String
    num_partitions: Int32  # BROKER_DEFAULT alone since v4
    replication_factor: Int16  # the same
    assignments: tuple[CreatableReplicaAssignment, ...]
    configs: tuple[CreatableTopicConfig, ...]


@struct
class CreateTopicsRequest:
    """Topics to create, and how long the controller may take."""

    topics: tuple[CreatableTopic, ...]
    timeout_ms: Int32 = wire(default=60000)
    validate_only: Bool = wire(since=1)


@struct
class CreatedTopicConfig:
    """A setting of the new topic, and where its value comes from."""

    name: String
    value: String | None  # null where it is sensitive
    read_only: Bool
    config_source: Int8 = wire(default=-1)  # see CONFIG_SOURCES of DescribeConfigs
    is_sensitive: Bool


@struct
class CreatableTopicResult:
    """The result for a topic. Counts and settings are returned only to clients that may describe its settings (KIP-525)."""

    name: String
    topic_id: Uuid = wire(since=7, ignorable=True)  # KIP-516
    error_code: Int16
    error_message: String | None = wire(since=1, ignorable=True)
    topic_config_error_code: Int16 = wire(since=5, tag=0, ignorable=True)  # 29 where permission to describe is missing
    num_partitions: Int32 = wire(since=5, default=-1, ignorable=True)  # KIP-525: as created
    replication_factor: Int16 = wire(since=5, default=-1, ignorable=True)
    configs: tuple[CreatedTopicConfig, ...] | None = wire(since=5, ignorable=True)


@struct
class CreateTopicsResponse:
    """One entry per topic, in any order."""

    throttle_time_ms: Int32 = wire(since=2, ignorable=True)
    topics: tuple[CreatableTopicResult, ...]


CREATE_TOPICS = Api(
    key=19,
    versions=Versions(0, 7),
    flexible=5,
    request=CreateTopicsRequest,
    response=CreateTopicsResponse,
)
