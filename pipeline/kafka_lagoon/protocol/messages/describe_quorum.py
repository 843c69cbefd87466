"""DescribeQuorum (api key 55): the KRaft controllers, their leader, and how far the others and brokers follow.

Any broker passes the request on to the active controller; it needs permission to describe the cluster. The leader of
the one partition of the metadata log is the true controller, which Metadata and DescribeCluster do not tell under
KRaft.
"""

from kafka_lagoon.wire.schema import Api, Int16, Int32, Int64, String, UInt16, Uuid, Versions, struct, wire

METADATA_TOPIC = "__cluster_metadata"


@struct
class QuorumRequestPartition:
    """A partition: of the metadata log, always 0."""

    partition_index: Int32


@struct
class QuorumRequestTopic:
    """A topic: METADATA_TOPIC, any other is error 3."""

    topic_name: String
    partitions: tuple[QuorumRequestPartition, ...]


@struct
class DescribeQuorumRequest:
    """The replicated logs to describe; there is only one."""

    topics: tuple[QuorumRequestTopic, ...]


@struct
class QuorumReplica:
    """A voter or an observer (a broker, or a controller without a vote); times are -1 when unknown."""

    replica_id: Int32
    replica_directory_id: Uuid = wire(since=2)  # KIP-853
    log_end_offset: Int64
    last_fetch_timestamp: Int64 = wire(since=1, default=-1, ignorable=True)  # KIP-836
    last_caught_up_timestamp: Int64 = wire(since=1, default=-1, ignorable=True)


@struct
class QuorumPartition:
    """The state of the log; leader_id is the active controller, -1 while there is none."""

    partition_index: Int32
    error_code: Int16
    error_message: String | None = wire(since=2, ignorable=True)
    leader_id: Int32
    leader_epoch: Int32
    high_watermark: Int64
    current_voters: tuple[QuorumReplica, ...]
    observers: tuple[QuorumReplica, ...]


@struct
class QuorumTopic:
    """A topic's partitions."""

    topic_name: String
    partitions: tuple[QuorumPartition, ...]


@struct
class QuorumListener:
    """An address of a controller; ports are unsigned here."""

    name: String = wire(since=2)
    host: String = wire(since=2)
    port: UInt16 = wire(since=2)


@struct
class QuorumNode:
    """A voter's addresses."""

    node_id: Int32 = wire(since=2)
    listeners: tuple[QuorumListener, ...] = wire(since=2)


@struct
class DescribeQuorumResponse:
    """The metadata log's replicas, and where the voters listen. Has no throttle time."""

    error_code: Int16
    error_message: String | None = wire(since=2, ignorable=True)
    topics: tuple[QuorumTopic, ...]
    nodes: tuple[QuorumNode, ...] = wire(since=2)


DESCRIBE_QUORUM = Api(
    key=55,
    versions=Versions(0, 2),
    flexible=0,
    request=DescribeQuorumRequest,
    response=DescribeQuorumResponse,
)
