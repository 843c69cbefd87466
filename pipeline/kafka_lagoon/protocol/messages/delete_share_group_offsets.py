"""DeleteShareGroupOffsets (api key 92): forget how far a share group is in some topics (KIP-932).

The coordinator of the group answers, for whole topics. A group with members is error 68, one that does not exist 69, a
topic that the group knows nothing of 3. An error of the whole group leaves no topics in the answer.
"""

from kafka_lagoon.wire.schema import Api, Int16, Int32, String, Uuid, Versions, struct, wire


@struct
class DeleteShareGroupOffsetsRequestTopic:
    """A topic to forget."""

    topic_name: String


@struct
class DeleteShareGroupOffsetsRequest:
    """A group, and topics."""

    group_id: String
    topics: tuple[DeleteShareGroupOffsetsRequestTopic, ...]


@struct
class DeleteShareGroupOffsetsResponseTopic:
    """An error code, 0 if the offsets are deleted; the topic's id is zero beside an error."""

    topic_name: String
    topic_id: Uuid
    error_code: Int16
    error_message: String | None = wire(default=None)


@struct
class DeleteShareGroupOffsetsResponse:
    """One entry per topic, or why there is none."""

    throttle_time_ms: Int32
    error_code: Int16
    error_message: String | None = wire(default=None)
    responses: tuple[DeleteShareGroupOffsetsResponseTopic, ...]


DELETE_SHARE_GROUP_OFFSETS = Api(
    key=92,
    versions=Versions(0, 0),
    flexible=0,
    request=DeleteShareGroupOffsetsRequest,
    response=DeleteShareGroupOffsetsResponse,
)
