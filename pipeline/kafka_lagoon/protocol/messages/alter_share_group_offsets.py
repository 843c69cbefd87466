"""AlterShareGroupOffsets (api key 91): where a share group is to begin (KIP-932).

The coordinator of the group answers. A group with members is error 68; one that does not exist is made. What was
acknowledged beyond the new offset is forgotten, so that it is delivered again. An error of the whole group leaves no
topics in the answer.
"""

from kafka_lagoon.wire.schema import Api, Int16, Int32, Int64, String, Uuid, Versions, struct, wire


@struct
class AlterShareGroupOffsetsRequestPartition:
    """A partition, and the first offset to deliver."""

    partition_index: Int32
    start_offset: Int64


@struct
class AlterShareGroupOffsetsRequestTopic:
    """A topic's partitions."""

    topic_name: String
    partitions: tuple[AlterShareGroupOffsetsRequestPartition, ...]


@struct
class AlterShareGroupOffsetsRequest:
    """A group, and where it is to begin."""

    group_id: String
    topics: tuple[AlterShareGroupOffsetsRequestTopic, ...]


@struct
class AlterShareGroupOffsetsResponsePartition:
    """An error code, 0 if the offset is set."""

    partition_index: Int32
    error_code: Int16
    error_message: String | None = wire(default=None)


@struct
class AlterShareGroupOffsetsResponseTopic:
    """A topic's partitions."""

    topic_name: String
    topic_id: Uuid
    partitions: tuple[AlterShareGroupOffsetsResponsePartition, ...]


@struct
class AlterShareGroupOffsetsResponse:
    """One entry per partition, or why there is none."""

    throttle_time_ms: Int32
    error_code: Int16
    error_message: String | None = wire(default=None)
    responses: tuple[AlterShareGroupOffsetsResponseTopic, ...]


ALTER_SHARE_GROUP_OFFSETS = Api(
    key=91,
    versions=Versions(0, 0),
    flexible=0,
    request=AlterShareGroupOffsetsRequest,
    response=AlterShareGroupOffsetsResponse,
)
