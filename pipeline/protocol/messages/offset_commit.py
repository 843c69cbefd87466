"""OffsetCommit (api key 8): ?"""

from pipeline.wire.schema import Api, Int16, Int32, Int64, Route, String, Uuid, Versions, struct, wire


@struct
class OffsetCommitRequestPartition:
    """?"""

    partition_index: Int32
    committed_offset: Int64
    committed_leader_epoch: Int32 = wire(since=6, default=-1, ignorable=True)
    commit_timestamp: Int64 = wire(since=1, until=1, default=-1)
    committed_metadata: String | None


@struct
class OffsetCommitRequestTopic:
    """?"""

    name: String = wire(until=9, ignorable=True)
    topic_id: Uuid = wire(since=10, ignorable=True)
    partitions: tuple[OffsetCommitRequestPartition, ...]


@struct
class OffsetCommitRequest:
    """?"""

    group_id: String
    generation_id_or_member_epoch: Int32 = wire(since=1, default=-1, ignorable=True)
    member_id: String = wire(since=1, ignorable=True)
    group_instance_id: String | None = wire(since=7, default=None)
    retention_time_ms: Int64 = wire(since=2, until=4, default=-1, ignorable=True)
    topics: tuple[OffsetCommitRequestTopic, ...]


@struct
class OffsetCommitResponsePartition:
    """?"""

    partition_index: Int32
    error_code: Int16


@struct
class OffsetCommitResponseTopic:
    """?"""

    name: String = wire(until=9, ignorable=True)
    topic_id: Uuid = wire(since=10, ignorable=True)
    partitions: tuple[OffsetCommitResponsePartition, ...]


@struct
class OffsetCommitResponse:
    """?"""

    throttle_time_ms: Int32 = wire(since=3, ignorable=True)
    topics: tuple[OffsetCommitResponseTopic, ...]


OFFSET_COMMIT = Api(
    key=8,
    versions=Versions(0, 10),
    flexible=8,
    route=Route.COORDINATOR,
    request=OffsetCommitRequest,
    response=OffsetCommitResponse,
)
