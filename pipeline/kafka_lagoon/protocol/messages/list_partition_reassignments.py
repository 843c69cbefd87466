"""ListPartitionReassignments (api key 46): partitions that are on their way to other brokers (KIP-455).

The controller answers: under ZooKeeper any other broker says error 41, under KRaft any broker passes it on (KIP-590),
as of 3.0. Partitions that do not move are left out, as are topics that do not exist, without an error. How far a move
is cannot be read here: a replica that is being added counts as done when it is in the ISR, its bytes are in
DescribeLogDirs.
"""

from kafka_lagoon.wire.schema import Api, Int16, Int32, String, Versions, struct, wire


@struct
class ListPartitionReassignmentsTopic:
    """A topic's partitions."""

    name: String
    partition_indexes: tuple[Int32, ...]


@struct
class ListPartitionReassignmentsRequest:
    """Partitions to look at, null for all, and how long the controller may take."""

    timeout_ms: Int32 = wire(default=60000)
    topics: tuple[ListPartitionReassignmentsTopic, ...] | None = wire(default=None)


@struct
class OngoingPartitionReassignment:
    """A partition that moves: replicas are those of now, of which some are being added, some will go."""

    partition_index: Int32
    replicas: tuple[Int32, ...]
    adding_replicas: tuple[Int32, ...]
    removing_replicas: tuple[Int32, ...]


@struct
class OngoingTopicReassignment:
    """A topic's partitions."""

    name: String
    partitions: tuple[OngoingPartitionReassignment, ...]


@struct
class ListPartitionReassignmentsResponse:
    """The moves under way; empty when there are none."""

    throttle_time_ms: Int32
    error_code: Int16
    error_message: String | None
    topics: tuple[OngoingTopicReassignment, ...]


LIST_PARTITION_REASSIGNMENTS = Api(
    key=46,
    versions=Versions(0, 0),
    flexible=0,
    request=ListPartitionReassignmentsRequest,
    response=ListPartitionReassignmentsResponse,
)
