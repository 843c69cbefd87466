"""UnregisterBroker (api key 64): ?"""

from pipeline.wire.schema import Api, Int16, Int32, Route, String, Versions, struct


@struct
class UnregisterBrokerRequest:
    """?"""

    broker_id: Int32


@struct
class UnregisterBrokerResponse:
    """?"""

    throttle_time_ms: Int32
    error_code: Int16
    error_message: String | None


UNREGISTER_BROKER = Api(
    key=64,
    versions=Versions(0, 0),
    flexible=0,
    route=Route.CONTROLLER,
    request=UnregisterBrokerRequest,
    response=UnregisterBrokerResponse,
)
