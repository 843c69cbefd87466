"""AddPartitionsToTxn (api key 24): ?"""

from pipeline.wire.schema import Api, Bool, Int16, Int32, Int64, Route, String, Versions, struct, wire


@struct
class AddPartitionsToTxnTopic:
    """?"""

    name: String
    partitions: tuple[Int32, ...]


@struct
class AddPartitionsToTxnTransaction:
    """?"""

    transactional_id: String
    producer_id: Int64
    producer_epoch: Int16
    verify_only: Bool
    topics: tuple[AddPartitionsToTxnTopic, ...]


@struct
class AddPartitionsToTxnRequest:
    """?"""

    transactions: tuple[AddPartitionsToTxnTransaction, ...] = wire(since=4)
    v3_and_below_transactional_id: String = wire(until=3)
    v3_and_below_producer_id: Int64 = wire(until=3)
    v3_and_below_producer_epoch: Int16 = wire(until=3)
    v3_and_below_topics: tuple[AddPartitionsToTxnTopic, ...] = wire(until=3)


@struct
class AddPartitionsToTxnPartitionResult:
    """?"""

    partition_index: Int32
    partition_error_code: Int16


@struct
class AddPartitionsToTxnTopicResult:
    """?"""

    name: String
    results_by_partition: tuple[AddPartitionsToTxnPartitionResult, ...]


@struct
class AddPartitionsToTxnResult:
    """?"""

    transactional_id: String
    topic_results: tuple[AddPartitionsToTxnTopicResult, ...]


@struct
class AddPartitionsToTxnResponse:
    """?"""

    throttle_time_ms: Int32
    error_code: Int16 = wire(since=4, ignorable=True)
    results_by_transaction: tuple[AddPartitionsToTxnResult, ...] = wire(since=4)
    results_by_topic_v3_and_below: tuple[AddPartitionsToTxnTopicResult, ...] = wire(until=3)


ADD_PARTITIONS_TO_TXN = Api(
    key=24,
    versions=Versions(0, 5),
    flexible=3,
    route=Route.COORDINATOR,
    request=AddPartitionsToTxnRequest,
    response=AddPartitionsToTxnResponse,
)
