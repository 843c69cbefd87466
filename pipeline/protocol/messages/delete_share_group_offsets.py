"""DeleteShareGroupOffsets (api key 92): ?"""

from pipeline.wire.schema import Api, Int16, Int32, Route, String, Uuid, Versions, struct, wire


@struct
class DeleteShareGroupOffsetsRequestTopic:
    """?"""

    topic_name: String


@struct
class DeleteShareGroupOffsetsRequest:
    """?"""

    group_id: String
    topics: tuple[DeleteShareGroupOffsetsRequestTopic, ...]


@struct
class DeleteShareGroupOffsetsResponseTopic:
    """?"""

    topic_name: String
    topic_id: Uuid
    error_code: Int16
    error_message: String | None = wire(default=None)


@struct
class DeleteShareGroupOffsetsResponse:
    """?"""

    throttle_time_ms: Int32
    error_code: Int16
    error_message: String | None = wire(default=None)
    responses: tuple[DeleteShareGroupOffsetsResponseTopic, ...]


DELETE_SHARE_GROUP_OFFSETS = Api(
    key=92,
    versions=Versions(0, 0),
    flexible=0,
    route=Route.COORDINATOR,
    request=DeleteShareGroupOffsetsRequest,
    response=DeleteShareGroupOffsetsResponse,
)
