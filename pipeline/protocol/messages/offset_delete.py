"""OffsetDelete (api key 47): ?"""

from pipeline.wire.schema import Api, Int16, Int32, Route, String, Versions, struct


@struct
class OffsetDeleteRequestPartition:
    """?"""

    partition_index: Int32


@struct
class OffsetDeleteRequestTopic:
    """?"""

    name: String
    partitions: tuple[OffsetDeleteRequestPartition, ...]


@struct
class OffsetDeleteRequest:
    """?"""

    group_id: String
    topics: tuple[OffsetDeleteRequestTopic, ...]


@struct
class OffsetDeleteResponsePartition:
    """?"""

    partition_index: Int32
    error_code: Int16


@struct
class OffsetDeleteResponseTopic:
    """?"""

    name: String
    partitions: tuple[OffsetDeleteResponsePartition, ...]


@struct
class OffsetDeleteResponse:
    """?"""

    error_code: Int16
    throttle_time_ms: Int32
    topics: tuple[OffsetDeleteResponseTopic, ...]


OFFSET_DELETE = Api(
    key=47,
    versions=Versions(0, 0),
    flexible=None,
    route=Route.COORDINATOR,
    request=OffsetDeleteRequest,
    response=OffsetDeleteResponse,
)
