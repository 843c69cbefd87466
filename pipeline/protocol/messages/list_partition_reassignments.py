"""ListPartitionReassignments (api key 46): ?"""

from pipeline.wire.schema import Api, Int16, Int32, Route, String, Versions, struct, wire


@struct
class ListPartitionReassignmentsTopics:
    """?"""

    name: String
    partition_indexes: tuple[Int32, ...]


@struct
class ListPartitionReassignmentsRequest:
    """?"""

    timeout_ms: Int32 = wire(default=60000)
    topics: tuple[ListPartitionReassignmentsTopics, ...] | None = wire(default=None)


@struct
class OngoingPartitionReassignment:
    """?"""

    partition_index: Int32
    replicas: tuple[Int32, ...]
    adding_replicas: tuple[Int32, ...]
    removing_replicas: tuple[Int32, ...]


@struct
class OngoingTopicReassignment:
    """?"""

    name: String
    partitions: tuple[OngoingPartitionReassignment, ...]


@struct
class ListPartitionReassignmentsResponse:
    """?"""

    throttle_time_ms: Int32
    error_code: Int16
    error_message: String | None
    topics: tuple[OngoingTopicReassignment, ...]


LIST_PARTITION_REASSIGNMENTS = Api(
    key=46,
    versions=Versions(0, 0),
    flexible=0,
    route=Route.CONTROLLER,
    request=ListPartitionReassignmentsRequest,
    response=ListPartitionReassignmentsResponse,
)
