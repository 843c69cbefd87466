"""SaslHandshake (api key 17): ?"""

from pipeline.wire.schema import Api, Int16, Route, String, Versions, struct


@struct
class SaslHandshakeRequest:
    """?"""

    mechanism: String


@struct
class SaslHandshakeResponse:
    """?"""

    error_code: Int16
    mechanisms: tuple[String, ...]


SASL_HANDSHAKE = Api(
    key=17,
    versions=Versions(0, 1),
    flexible=None,
    route=Route.ANY,
    request=SaslHandshakeRequest,
    response=SaslHandshakeResponse,
)
