"""DeleteRecords (api key 21): move the beginning of partitions forward.

The leader of each partition answers, when all live replicas have followed or the timeout has passed (error 7).
Surprises:

- Records before the offset are gone for readers at once; on disk they go by whole segments, later.
- An offset beyond the high watermark is error 1. One before the present beginning changes nothing and succeeds.
- A topic that is compacted only is error 44, an internal topic 17.
"""

from kafka_lagoon.wire.schema import Api, Int16, Int32, Int64, String, Versions, struct

HIGH_WATERMARK = -1  # as offset: all that readers can see
NO_LOW_WATERMARK = -1  # beside an error


@struct
class DeleteRecordsPartition:
    """A partition, and the first offset to keep."""

    partition_index: Int32
    offset: Int64


@struct
class DeleteRecordsTopic:
    """A topic's partitions."""

    name: String
    partitions: tuple[DeleteRecordsPartition, ...]


@struct
class DeleteRecordsRequest:
    """Partitions that the broker leads."""

    topics: tuple[DeleteRecordsTopic, ...]
    timeout_ms: Int32


@struct
class DeleteRecordsPartitionResult:
    """The smallest log start offset among the live replicas."""

    partition_index: Int32
    low_watermark: Int64
    error_code: Int16


@struct
class DeleteRecordsTopicResult:
    """A topic's partitions."""

    name: String
    partitions: tuple[DeleteRecordsPartitionResult, ...]


@struct
class DeleteRecordsResponse:
    """One entry per partition."""

    throttle_time_ms: Int32
    topics: tuple[DeleteRecordsTopicResult, ...]


DELETE_RECORDS = Api(
    key=21,
    versions=Versions(0, 2),
    flexible=2,
    request=DeleteRecordsRequest,
    response=DeleteRecordsResponse,
)
