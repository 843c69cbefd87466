"""SaslAuthenticate (api key 36): ?"""

from pipeline.wire.schema import Api, Bytes, Int16, Int64, Route, String, Versions, struct, wire


@struct
class SaslAuthenticateRequest:
    """?"""

    auth_bytes: Bytes


@struct
class SaslAuthenticateResponse:
    """?"""

    error_code: Int16
    error_message: String | None
    auth_bytes: Bytes
    session_lifetime_ms: Int64 = wire(since=1, ignorable=True)


SASL_AUTHENTICATE = Api(
    key=36,
    versions=Versions(0, 2),
    flexible=2,
    route=Route.ANY,
    request=SaslAuthenticateRequest,
    response=SaslAuthenticateResponse,
)
