"""DescribeShareGroupOffsets (api key 90): ?"""

from pipeline.wire.schema import Api, Int16, Int32, Int64, Route, String, Uuid, Versions, struct, wire


@struct
class DescribeShareGroupOffsetsRequestTopic:
    """?"""

    topic_name: String
    partitions: tuple[Int32, ...]


@struct
class DescribeShareGroupOffsetsRequestGroup:
    """?"""

    group_id: String
    topics: tuple[DescribeShareGroupOffsetsRequestTopic, ...] | None


@struct
class DescribeShareGroupOffsetsRequest:
    """?"""

    groups: tuple[DescribeShareGroupOffsetsRequestGroup, ...]


@struct
class DescribeShareGroupOffsetsResponsePartition:
    """?"""

    partition_index: Int32
    start_offset: Int64
    leader_epoch: Int32
    lag: Int64 = wire(since=1, default=-1, ignorable=True)
    error_code: Int16
    error_message: String | None = wire(default=None)


@struct
class DescribeShareGroupOffsetsResponseTopic:
    """?"""

    topic_name: String
    topic_id: Uuid
    partitions: tuple[DescribeShareGroupOffsetsResponsePartition, ...]


@struct
class DescribeShareGroupOffsetsResponseGroup:
    """?"""

    group_id: String
    topics: tuple[DescribeShareGroupOffsetsResponseTopic, ...]
    error_code: Int16
    error_message: String | None = wire(default=None)


@struct
class DescribeShareGroupOffsetsResponse:
    """?"""

    throttle_time_ms: Int32
    groups: tuple[DescribeShareGroupOffsetsResponseGroup, ...]


DESCRIBE_SHARE_GROUP_OFFSETS = Api(
    key=90,
    versions=Versions(0, 1),
    flexible=0,
    route=Route.COORDINATOR,
    request=DescribeShareGroupOffsetsRequest,
    response=DescribeShareGroupOffsetsResponse,
)
