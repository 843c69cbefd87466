"""ExpireDelegationToken (api key 40): ?"""

from pipeline.wire.schema import Api, Bytes, Int16, Int32, Int64, Route, Versions, struct


@struct
class ExpireDelegationTokenRequest:
    """?"""

    hmac: Bytes
    expiry_time_period_ms: Int64


@struct
class ExpireDelegationTokenResponse:
    """?"""

    error_code: Int16
    expiry_timestamp_ms: Int64
    throttle_time_ms: Int32


EXPIRE_DELEGATION_TOKEN = Api(
    key=40,
    versions=Versions(0, 2),
    flexible=2,
    route=Route.CONTROLLER,
    request=ExpireDelegationTokenRequest,
    response=ExpireDelegationTokenResponse,
)
