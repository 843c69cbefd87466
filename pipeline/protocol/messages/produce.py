"""Produce (api key 0): ?"""

from pipeline.wire.schema import Api, Int16, Int32, Int64, Records, Route, String, Uuid, Versions, struct, wire


@struct
class PartitionProduceData:
    """?"""

    index: Int32
    records: Records | None


@struct
class TopicProduceData:
    """?"""

    name: String = wire(until=12, ignorable=True)
    topic_id: Uuid = wire(since=13, ignorable=True)
    partition_data: tuple[PartitionProduceData, ...]


@struct
class ProduceRequest:
    """?"""

    transactional_id: String | None = wire(since=3, default=None)
    acks: Int16
    timeout_ms: Int32
    topic_data: tuple[TopicProduceData, ...]


@struct
class BatchIndexAndErrorMessage:
    """?"""

    batch_index: Int32
    batch_index_error_message: String | None = wire(default=None)


@struct
class LeaderIdAndEpoch:
    """?"""

    leader_id: Int32 = wire(default=-1)
    leader_epoch: Int32 = wire(default=-1)


@struct
class PartitionProduceResponse:
    """?"""

    index: Int32
    error_code: Int16
    base_offset: Int64
    log_append_time_ms: Int64 = wire(since=2, default=-1, ignorable=True)
    log_start_offset: Int64 = wire(since=5, default=-1, ignorable=True)
    record_errors: tuple[BatchIndexAndErrorMessage, ...] = wire(since=8, ignorable=True)
    error_message: String | None = wire(since=8, default=None, ignorable=True)
    current_leader: LeaderIdAndEpoch = wire(since=10, tag=0)


@struct
class TopicProduceResponse:
    """?"""

    name: String = wire(until=12, ignorable=True)
    topic_id: Uuid = wire(since=13, ignorable=True)
    partition_responses: tuple[PartitionProduceResponse, ...]


@struct
class NodeEndpoint:
    """?"""

    node_id: Int32
    host: String
    port: Int32
    rack: String | None = wire(default=None)


@struct
class ProduceResponse:
    """?"""

    responses: tuple[TopicProduceResponse, ...]
    throttle_time_ms: Int32 = wire(since=1, ignorable=True)
    node_endpoints: tuple[NodeEndpoint, ...] = wire(since=10, tag=0)


PRODUCE = Api(
    key=0,
    versions=Versions(0, 13),
    flexible=9,
    route=Route.LEADER,
    request=ProduceRequest,
    response=ProduceResponse,
)
