"""CreatePartitions (api key 37): ?"""

from pipeline.wire.schema import Api, Bool, Int16, Int32, Route, String, Versions, struct, wire


@struct
class CreatePartitionsAssignment:
    """?"""

    broker_ids: tuple[Int32, ...]


@struct
class CreatePartitionsTopic:
    """?"""

    name: String
    count: Int32
    assignments: tuple[CreatePartitionsAssignment, ...] | None


@struct
class CreatePartitionsRequest:
    """?"""

    topics: tuple[CreatePartitionsTopic, ...]
    timeout_ms: Int32
    validate_only: Bool


@struct
class CreatePartitionsTopicResult:
    """?"""

    name: String
    error_code: Int16
    error_message: String | None = wire(default=None)


@struct
class CreatePartitionsResponse:
    """?"""

    throttle_time_ms: Int32
    results: tuple[CreatePartitionsTopicResult, ...]


CREATE_PARTITIONS = Api(
    key=37,
    versions=Versions(0, 3),
    flexible=2,
    route=Route.CONTROLLER,
    request=CreatePartitionsRequest,
    response=CreatePartitionsResponse,
)
