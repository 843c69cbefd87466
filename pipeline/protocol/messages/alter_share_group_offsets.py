"""AlterShareGroupOffsets (api key 91): ?"""

from pipeline.wire.schema import Api, Int16, Int32, Int64, Route, String, Uuid, Versions, struct, wire


@struct
class AlterShareGroupOffsetsRequestPartition:
    """?"""

    partition_index: Int32
    start_offset: Int64


@struct
class AlterShareGroupOffsetsRequestTopic:
    """?"""

    topic_name: String
    partitions: tuple[AlterShareGroupOffsetsRequestPartition, ...]


@struct
class AlterShareGroupOffsetsRequest:
    """?"""

    group_id: String
    topics: tuple[AlterShareGroupOffsetsRequestTopic, ...]


@struct
class AlterShareGroupOffsetsResponsePartition:
    """?"""

    partition_index: Int32
    error_code: Int16
    error_message: String | None = wire(default=None)


@struct
class AlterShareGroupOffsetsResponseTopic:
    """?"""

    topic_name: String
    topic_id: Uuid
    partitions: tuple[AlterShareGroupOffsetsResponsePartition, ...]


@struct
class AlterShareGroupOffsetsResponse:
    """?"""

    throttle_time_ms: Int32
    error_code: Int16
    error_message: String | None = wire(default=None)
    responses: tuple[AlterShareGroupOffsetsResponseTopic, ...]


ALTER_SHARE_GROUP_OFFSETS = Api(
    key=91,
    versions=Versions(0, 0),
    flexible=0,
    route=Route.COORDINATOR,
    request=AlterShareGroupOffsetsRequest,
    response=AlterShareGroupOffsetsResponse,
)
