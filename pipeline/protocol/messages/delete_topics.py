"""DeleteTopics (api key 20): ?"""

from pipeline.wire.schema import Api, Int16, Int32, Route, String, Uuid, Versions, struct, wire


@struct
class DeleteTopicState:
    """?"""

    name: String | None = wire(default=None)
    topic_id: Uuid


@struct
class DeleteTopicsRequest:
    """?"""

    topics: tuple[DeleteTopicState, ...] = wire(since=6)
    topic_names: tuple[String, ...] = wire(until=5, ignorable=True)
    timeout_ms: Int32


@struct
class DeletableTopicResult:
    """?"""

    name: String | None = wire(nullable_since=6)
    topic_id: Uuid = wire(since=6, ignorable=True)
    error_code: Int16
    error_message: String | None = wire(since=5, default=None, ignorable=True)


@struct
class DeleteTopicsResponse:
    """?"""

    throttle_time_ms: Int32 = wire(since=1, ignorable=True)
    responses: tuple[DeletableTopicResult, ...]


DELETE_TOPICS = Api(
    key=20,
    versions=Versions(0, 6),
    flexible=4,
    route=Route.CONTROLLER,
    request=DeleteTopicsRequest,
    response=DeleteTopicsResponse,
)
