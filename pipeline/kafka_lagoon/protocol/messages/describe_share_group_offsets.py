"""DescribeShareGroupOffsets (api key 90): how far share groups are (KIP-932).

The coordinator of each group answers (not the SHARE coordinator, which keeps the state). Surprises:

- A share group has no committed offset: start_offset is the first offset not yet processed. Records after it may
  be processed already, or be with a member.
- "Nothing known" is NOT_STARTED with error 0: a partition that nobody has read yet, a topic that does not exist, any
  partition of a group that does not exist, and also a state that could not be read.
- Topics that we may not describe are error 29 if asked for by name, and left out silently if all were asked for.
- All topics are asked for by null; an empty list is none.
- Brokers whose share.version is 0 answer error 35 for every group.
"""

from kafka_lagoon.wire.schema import Api, Int16, Int32, Int64, String, Uuid, Versions, struct, wire

NOT_STARTED = -1  # as start_offset
UNKNOWN_LAG = -1  # as lag


@struct
class DescribeShareGroupOffsetsRequestTopic:
    """Partitions of a topic."""

    topic_name: String
    partitions: tuple[Int32, ...]


@struct
class DescribeShareGroupOffsetsRequestGroup:
    """A group, and its topics, or null for all."""

    group_id: String
    topics: tuple[DescribeShareGroupOffsetsRequestTopic, ...] | None


@struct
class DescribeShareGroupOffsetsRequest:
    """The groups to describe."""

    groups: tuple[DescribeShareGroupOffsetsRequestGroup, ...]


@struct
class DescribeShareGroupOffsetsResponsePartition:
    """The start offset of a group in a partition."""

    partition_index: Int32
    start_offset: Int64 = wire(least=None)  # brokers store whatever an administrator sets
    leader_epoch: Int32  # epoch of the leader that wrote the state
    # KIP-1226: records not yet processed; negative where start_offset was set past the end.
    lag: Int64 = wire(since=1, least=None, default=UNKNOWN_LAG, ignorable=True)
    error_code: Int16
    error_message: String | None = wire(default=None)


@struct
class DescribeShareGroupOffsetsResponseTopic:
    """A topic's partitions; the id is zero if the topic does not exist or is not ours to see."""

    topic_name: String
    topic_id: Uuid
    partitions: tuple[DescribeShareGroupOffsetsResponsePartition, ...]


@struct
class DescribeShareGroupOffsetsResponseGroup:
    """A group's partitions."""

    group_id: String
    topics: tuple[DescribeShareGroupOffsetsResponseTopic, ...]
    error_code: Int16
    error_message: String | None = wire(default=None)


@struct
class DescribeShareGroupOffsetsResponse:
    """One entry per requested group."""

    throttle_time_ms: Int32
    groups: tuple[DescribeShareGroupOffsetsResponseGroup, ...]


DESCRIBE_SHARE_GROUP_OFFSETS = Api(
    key=90,
    versions=Versions(0, 1),
    flexible=0,
    request=DescribeShareGroupOffsetsRequest,
    response=DescribeShareGroupOffsetsResponse,
)
