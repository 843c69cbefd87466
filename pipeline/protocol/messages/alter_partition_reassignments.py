"""AlterPartitionReassignments (api key 45): ?"""

from pipeline.wire.schema import Api, Bool, Int16, Int32, Route, String, Versions, struct, wire


@struct
class ReassignablePartition:
    """?"""

    partition_index: Int32
    replicas: tuple[Int32, ...] | None = wire(default=None)


@struct
class ReassignableTopic:
    """?"""

    name: String
    partitions: tuple[ReassignablePartition, ...]


@struct
class AlterPartitionReassignmentsRequest:
    """?"""

    timeout_ms: Int32 = wire(default=60000)
    allow_replication_factor_change: Bool = wire(since=1, default=True)
    topics: tuple[ReassignableTopic, ...]


@struct
class ReassignablePartitionResponse:
    """?"""

    partition_index: Int32
    error_code: Int16
    error_message: String | None


@struct
class ReassignableTopicResponse:
    """?"""

    name: String
    partitions: tuple[ReassignablePartitionResponse, ...]


@struct
class AlterPartitionReassignmentsResponse:
    """?"""

    throttle_time_ms: Int32
    allow_replication_factor_change: Bool = wire(since=1, default=True, ignorable=True)
    error_code: Int16
    error_message: String | None
    responses: tuple[ReassignableTopicResponse, ...]


ALTER_PARTITION_REASSIGNMENTS = Api(
    key=45,
    versions=Versions(0, 1),
    flexible=0,
    route=Route.CONTROLLER,
    request=AlterPartitionReassignmentsRequest,
    response=AlterPartitionReassignmentsResponse,
)
