"""DescribeTransactions (api key 65): ?"""

from pipeline.wire.schema import Api, Int16, Int32, Int64, Route, String, Versions, struct


@struct
class DescribeTransactionsRequest:
    """?"""

    transactional_ids: tuple[String, ...]


@struct
class TopicData:
    """?"""

    topic: String
    partitions: tuple[Int32, ...]


@struct
class TransactionState:
    """?"""

    error_code: Int16
    transactional_id: String
    transaction_state: String
    transaction_timeout_ms: Int32
    transaction_start_time_ms: Int64
    producer_id: Int64
    producer_epoch: Int16
    topics: tuple[TopicData, ...]


@struct
class DescribeTransactionsResponse:
    """?"""

    throttle_time_ms: Int32
    transaction_states: tuple[TransactionState, ...]


DESCRIBE_TRANSACTIONS = Api(
    key=65,
    versions=Versions(0, 0),
    flexible=0,
    route=Route.COORDINATOR,
    request=DescribeTransactionsRequest,
    response=DescribeTransactionsResponse,
)
