"""EndTxn (api key 26): ?"""

from pipeline.wire.schema import Api, Bool, Int16, Int32, Int64, Route, String, Versions, struct, wire


@struct
class EndTxnRequest:
    """?"""

    transactional_id: String
    producer_id: Int64
    producer_epoch: Int16
    committed: Bool


@struct
class EndTxnResponse:
    """?"""

    throttle_time_ms: Int32
    error_code: Int16
    producer_id: Int64 = wire(since=5, default=-1, ignorable=True)
    producer_epoch: Int16 = wire(since=5, default=-1, ignorable=True)


END_TXN = Api(
    key=26,
    versions=Versions(0, 5),
    flexible=3,
    route=Route.COORDINATOR,
    request=EndTxnRequest,
    response=EndTxnResponse,
)
