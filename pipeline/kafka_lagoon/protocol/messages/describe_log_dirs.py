"""DescribeLogDirs (api key 35): how many bytes each replica has on each disk of a broker.

Every broker answers for itself. Surprises:

- Sizes are those of the replica on that broker: replicas of one partition differ, and followers lag.
- A replica that moves to another disk of its broker is there twice, the new one with is_future_key.
- Without permission to describe the cluster the list is empty with error 0; from v3 on it is error 31 of the whole answer.
- A partition that the broker has no replica of is left out without an error, and so is a topic that is not there.
- A disk that failed is error 56 of its directory, and its sizes are -1. What remote storage holds counts nowhere.
- An empty list of topics is none of them, null is all.
"""

from collections.abc import Sequence

from kafka_lagoon.wire.schema import Api, Bool, Int16, Int32, Int64, String, Versions, struct, wire

UNKNOWN_SIZE = -1


@struct
class DescribableLogDirTopic:
    """A topic's partitions."""

    topic: String
    partitions: tuple[Int32, ...]


@struct
class DescribeLogDirsRequest:
    """The partitions to describe; null is all that the broker has."""

    topics: tuple[DescribableLogDirTopic, ...] | None


@struct
class DescribeLogDirsPartition:
    """A replica: its bytes, and how far it lags the high watermark, or the replica that it will replace."""

    partition_index: Int32
    partition_size: Int64
    offset_lag: Int64 = wire(least=None)  # a copy that is being moved may be ahead for a moment
    is_future_key: Bool


@struct
class DescribeLogDirsTopic:
    """A topic's partitions in one directory."""

    name: String
    partitions: Sequence[DescribeLogDirsPartition]


@struct
class DescribeLogDirsResult:
    """A directory, and the volume that it is in."""

    error_code: Int16
    log_dir: String
    topics: Sequence[DescribeLogDirsTopic]
    total_bytes: Int64 = wire(since=4, default=UNKNOWN_SIZE, ignorable=True)  # KIP-827
    usable_bytes: Int64 = wire(since=4, default=UNKNOWN_SIZE, ignorable=True)
    is_cordoned: Bool = wire(since=5, ignorable=True)  # KIP-1066: takes no new replicas


@struct
class DescribeLogDirsResponse:
    """The directories of one broker."""

    throttle_time_ms: Int32
    error_code: Int16 = wire(since=3, ignorable=True)
    results: tuple[DescribeLogDirsResult, ...]


DESCRIBE_LOG_DIRS = Api(
    key=35,
    versions=Versions(0, 5),
    flexible=2,
    request=DescribeLogDirsRequest,
    response=DescribeLogDirsResponse,
)
