"""DeleteRecords (api key 21): ?"""

from pipeline.wire.schema import Api, Int16, Int32, Int64, Route, String, Versions, struct


@struct
class DeleteRecordsPartition:
    """?"""

    partition_index: Int32
    offset: Int64


@struct
class DeleteRecordsTopic:
    """?"""

    name: String
    partitions: tuple[DeleteRecordsPartition, ...]


@struct
class DeleteRecordsRequest:
    """?"""

    topics: tuple[DeleteRecordsTopic, ...]
    timeout_ms: Int32


@struct
class DeleteRecordsPartitionResult:
    """?"""

    partition_index: Int32
    low_watermark: Int64
    error_code: Int16


@struct
class DeleteRecordsTopicResult:
    """?"""

    name: String
    partitions: tuple[DeleteRecordsPartitionResult, ...]


@struct
class DeleteRecordsResponse:
    """?"""

    throttle_time_ms: Int32
    topics: tuple[DeleteRecordsTopicResult, ...]


DELETE_RECORDS = Api(
    key=21,
    versions=Versions(0, 2),
    flexible=2,
    route=Route.LEADER,
    request=DeleteRecordsRequest,
    response=DeleteRecordsResponse,
)
