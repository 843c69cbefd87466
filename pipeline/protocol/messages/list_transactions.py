"""ListTransactions (api key 66): ?"""

from pipeline.wire.schema import Api, Int16, Int32, Int64, Route, String, Versions, struct, wire


@struct
class ListTransactionsRequest:
    """?"""

    state_filters: tuple[String, ...]
    producer_id_filters: tuple[Int64, ...]
    duration_filter: Int64 = wire(since=1, default=-1)
    transactional_id_pattern: String | None = wire(since=2, default=None)


@struct
class TransactionState:
    """?"""

    transactional_id: String
    producer_id: Int64
    transaction_state: String


@struct
class ListTransactionsResponse:
    """?"""

    throttle_time_ms: Int32
    error_code: Int16
    unknown_state_filters: tuple[String, ...]
    transaction_states: tuple[TransactionState, ...]


LIST_TRANSACTIONS = Api(
    key=66,
    versions=Versions(0, 2),
    flexible=0,
    route=Route.BROKER,
    request=ListTransactionsRequest,
    response=ListTransactionsResponse,
)
