"""DescribeTopicPartitions (api key 75): partitions with their eligible leader replicas, page by page (KIP-966).

Any broker answers, in KRaft mode only. An empty list of topics means all of them, in the order of their names; an
answer that is cut at the limit carries the cursor at which the next request goes on. A topic that is cut comes in both.
The cursor is a nullable struct, with a marker byte before it.
"""

from kafka_lagoon.protocol.acls import NOT_ASKED
from kafka_lagoon.wire.schema import Api, Bool, Int16, Int32, String, Uuid, Versions, struct, wire


@struct
class DescribeTopicPartitionsTopicRequest:
    """A topic by name."""

    name: String


@struct
class Cursor:
    """The first partition that is not described yet."""

    topic_name: String
    partition_index: Int32


@struct
class DescribeTopicPartitionsRequest:
    """Topics, and where to go on. The broker's own limit may be lower than ours."""

    topics: tuple[DescribeTopicPartitionsTopicRequest, ...]
    response_partition_limit: Int32 = wire(default=2000)
    cursor: Cursor | None = wire(default=None)


@struct
class DescribeTopicPartitionsPartition:
    """A partition. Eligible leaders are replicas outside the ISR that hold all committed records."""

    error_code: Int16
    partition_index: Int32
    leader_id: Int32
    leader_epoch: Int32 = wire(default=-1, ignorable=True)
    replica_nodes: tuple[Int32, ...]
    isr_nodes: tuple[Int32, ...]
    eligible_leader_replicas: tuple[Int32, ...] | None = wire(default=None)
    last_known_elr: tuple[Int32, ...] | None = wire(default=None)
    offline_replicas: tuple[Int32, ...] = wire(ignorable=True)


@struct
class DescribeTopicPartitionsTopic:
    """A topic, or as much of it as fits."""

    error_code: Int16
    name: String | None
    topic_id: Uuid = wire(ignorable=True)
    is_internal: Bool = wire(ignorable=True)
    partitions: tuple[DescribeTopicPartitionsPartition, ...]
    topic_authorized_operations: Int32 = wire(least=NOT_ASKED, default=NOT_ASKED)


@struct
class DescribeTopicPartitionsResponse:
    """A page of topics; no cursor on the last one."""

    throttle_time_ms: Int32 = wire(ignorable=True)
    topics: tuple[DescribeTopicPartitionsTopic, ...]
    next_cursor: Cursor | None = wire(default=None)


DESCRIBE_TOPIC_PARTITIONS = Api(
    key=75,
    versions=Versions(0, 0),
    flexible=0,
    request=DescribeTopicPartitionsRequest,
    response=DescribeTopicPartitionsResponse,
)
