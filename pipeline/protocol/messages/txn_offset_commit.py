"""TxnOffsetCommit (api key 28): ?"""

from pipeline.wire.schema import Api, Int16, Int32, Int64, Route, String, Versions, struct, wire


@struct
class TxnOffsetCommitRequestPartition:
    """?"""

    partition_index: Int32
    committed_offset: Int64
    committed_leader_epoch: Int32 = wire(since=2, default=-1, ignorable=True)
    committed_metadata: String | None


@struct
class TxnOffsetCommitRequestTopic:
    """?"""

    name: String
    partitions: tuple[TxnOffsetCommitRequestPartition, ...]


@struct
class TxnOffsetCommitRequest:
    """?"""

    transactional_id: String
    group_id: String
    producer_id: Int64
    producer_epoch: Int16
    generation_id: Int32 = wire(since=3, default=-1)
    member_id: String = wire(since=3)
    group_instance_id: String | None = wire(since=3, default=None)
    topics: tuple[TxnOffsetCommitRequestTopic, ...]


@struct
class TxnOffsetCommitResponsePartition:
    """?"""

    partition_index: Int32
    error_code: Int16


@struct
class TxnOffsetCommitResponseTopic:
    """?"""

    name: String
    partitions: tuple[TxnOffsetCommitResponsePartition, ...]


@struct
class TxnOffsetCommitResponse:
    """?"""

    throttle_time_ms: Int32
    topics: tuple[TxnOffsetCommitResponseTopic, ...]


TXN_OFFSET_COMMIT = Api(
    key=28,
    versions=Versions(0, 5),
    flexible=3,
    route=Route.COORDINATOR,
    request=TxnOffsetCommitRequest,
    response=TxnOffsetCommitResponse,
)
