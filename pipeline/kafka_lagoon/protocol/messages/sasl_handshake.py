"""SaslHandshake (api key 17): which mechanism the connection is to be authenticated with.

Every broker answers for the connection itself. Surprises:

- Before it only ApiVersions is allowed, and SaslAuthenticate is what must follow.
- A mechanism that is not enabled is error 33, with those that are, and the connection is closed.
- After v1 SaslAuthenticate carries the tokens (KIP-152). After v0 they follow bare, each after its int32 size, and a
  refusal is a closed connection.
- A session that is renewed must name the mechanism it began with (KIP-368).
- A listener without SASL answers error 34. No version is flexible.
"""

from kafka_lagoon.wire.schema import Api, Int16, String, Versions, struct


@struct
class SaslHandshakeRequest:
    """A mechanism by its registered name, e.g. SCRAM-SHA-512."""

    mechanism: String


@struct
class SaslHandshakeResponse:
    """An error code, 0 to go on, and the mechanisms that the listener has enabled."""

    error_code: Int16
    mechanisms: tuple[String, ...]


SASL_HANDSHAKE = Api(
    key=17,
    versions=Versions(0, 1),
    flexible=None,
    request=SaslHandshakeRequest,
    response=SaslHandshakeResponse,
)
