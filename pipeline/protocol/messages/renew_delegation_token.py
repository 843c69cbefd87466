"""RenewDelegationToken (api key 39): ?"""

from pipeline.wire.schema import Api, Bytes, Int16, Int32, Int64, Route, Versions, struct


@struct
class RenewDelegationTokenRequest:
    """?"""

    hmac: Bytes
    renew_period_ms: Int64


@struct
class RenewDelegationTokenResponse:
    """?"""

    error_code: Int16
    expiry_timestamp_ms: Int64
    throttle_time_ms: Int32


RENEW_DELEGATION_TOKEN = Api(
    key=39,
    versions=Versions(0, 2),
    flexible=2,
    route=Route.CONTROLLER,
    request=RenewDelegationTokenRequest,
    response=RenewDelegationTokenResponse,
)
