"""AlterPartitionReassignments (api key 45): partitions move to other brokers, or stop moving (KIP-455).

The controller answers: under ZooKeeper any other broker says error 41, under KRaft any broker passes it on (KIP-590).
Surprises:

- Success means that the move has begun; ListPartitionReassignments names it until all new replicas have caught up.
- Null replicas cancel a move, and are error 85 where none is under way. A new target replaces one under way.
- Nothing keeps the number of replicas: a list that is longer or shorter changes it, unless v1 says to refuse
  (KIP-860, error 38).
- Copying is not slowed down unless throttles are set in topics and brokers beforehand.
- The first replica is the preferred leader, but leads after the next election only.
"""

from kafka_lagoon.wire.schema import Api, Bool, Int16, Int32, String, Versions, struct, wire


@struct
class ReassignablePartition:
    """A partition and the brokers it is to be on; null to stay where it was."""

    partition_index: Int32
    replicas: tuple[Int32, ...] | None = wire(default=None)  # brokers that do not exist, or twice, are error 39


@struct
class ReassignableTopic:
    """A topic's partitions."""

    name: String
    partitions: tuple[ReassignablePartition, ...]


@struct
class AlterPartitionReassignmentsRequest:
    """Partitions to move, and how long the controller may take to decide."""

    timeout_ms: Int32 = wire(default=60000)
    allow_replication_factor_change: Bool = wire(since=1, default=True)  # KIP-860
    topics: tuple[ReassignableTopic, ...]


@struct
class ReassignablePartitionResponse:
    """The result for a partition."""

    partition_index: Int32
    error_code: Int16
    error_message: String | None


@struct
class ReassignableTopicResponse:
    """A topic's partitions."""

    name: String
    partitions: tuple[ReassignablePartitionResponse, ...]


@struct
class AlterPartitionReassignmentsResponse:
    """One entry per partition, unless the error above is one of all."""

    throttle_time_ms: Int32
    allow_replication_factor_change: Bool = wire(since=1, default=True, ignorable=True)  # as in the request
    error_code: Int16
    error_message: String | None
    responses: tuple[ReassignableTopicResponse, ...]


ALTER_PARTITION_REASSIGNMENTS = Api(
    key=45,
    versions=Versions(0, 1),
    flexible=0,
    request=AlterPartitionReassignmentsRequest,
    response=AlterPartitionReassignmentsResponse,
)
