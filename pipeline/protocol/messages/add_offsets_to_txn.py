"""AddOffsetsToTxn (api key 25): ?"""

from pipeline.wire.schema import Api, Int16, Int32, Int64, Route, String, Versions, struct


@struct
class AddOffsetsToTxnRequest:
    """?"""

    transactional_id: String
    producer_id: Int64
    producer_epoch: Int16
    group_id: String


@struct
class AddOffsetsToTxnResponse:
    """?"""

    throttle_time_ms: Int32
    error_code: Int16


ADD_OFFSETS_TO_TXN = Api(
    key=25,
    versions=Versions(0, 4),
    flexible=3,
    route=Route.COORDINATOR,
    request=AddOffsetsToTxnRequest,
    response=AddOffsetsToTxnResponse,
)
