"""DescribeProducers (api key 61): ?"""

from pipeline.wire.schema import Api, Int16, Int32, Int64, Route, String, Versions, struct, wire


@struct
class TopicRequest:
    """?"""

    name: String
    partition_indexes: tuple[Int32, ...]


@struct
class DescribeProducersRequest:
    """?"""

    topics: tuple[TopicRequest, ...]


@struct
class ProducerState:
    """?"""

    producer_id: Int64
    producer_epoch: Int32
    last_sequence: Int32 = wire(default=-1)
    last_timestamp: Int64 = wire(default=-1)
    coordinator_epoch: Int32
    current_txn_start_offset: Int64 = wire(default=-1)


@struct
class PartitionResponse:
    """?"""

    partition_index: Int32
    error_code: Int16
    error_message: String | None = wire(default=None)
    active_producers: tuple[ProducerState, ...]


@struct
class TopicResponse:
    """?"""

    name: String
    partitions: tuple[PartitionResponse, ...]


@struct
class DescribeProducersResponse:
    """?"""

    throttle_time_ms: Int32
    topics: tuple[TopicResponse, ...]


DESCRIBE_PRODUCERS = Api(
    key=61,
    versions=Versions(0, 0),
    flexible=0,
    route=Route.LEADER,
    request=DescribeProducersRequest,
    response=DescribeProducersResponse,
)
