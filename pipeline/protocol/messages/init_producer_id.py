"""InitProducerId (api key 22): ?"""

from pipeline.wire.schema import Api, Int16, Int32, Int64, Route, String, Versions, struct, wire


@struct
class InitProducerIdRequest:
    """?"""

    transactional_id: String | None
    transaction_timeout_ms: Int32
    producer_id: Int64 = wire(since=3, default=-1)
    producer_epoch: Int16 = wire(since=3, default=-1)


@struct
class InitProducerIdResponse:
    """?"""

    throttle_time_ms: Int32
    error_code: Int16
    producer_id: Int64 = wire(default=-1)
    producer_epoch: Int16


INIT_PRODUCER_ID = Api(
    key=22,
    versions=Versions(0, 5),
    flexible=2,
    route=Route.COORDINATOR,
    request=InitProducerIdRequest,
    response=InitProducerIdResponse,
)
