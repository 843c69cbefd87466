"""SaslAuthenticate (api key 36): the tokens of a mechanism, one request for each of ours (KIP-152).

Every broker answers for the connection itself. Surprises:

- Wrong credentials are error 58, and the message tells little more, on purpose. Then the connection is closed, after a
  delay if the broker is so configured (KIP-306).
- OAUTHBEARER says what is wrong in auth_bytes first, with error 0, and refuses the request after that (RFC 7628).
- A mechanism in which the broker proves itself too (SCRAM, GSSAPI) is done when its last token is checked, not when the
  error is 0.
- The lifetime comes with the last token, to clients that ask in v1 or later (KIP-368). When it is over the broker
  closes the connection on the next request that is no handshake.
"""

from kafka_lagoon.wire.schema import Api, Bytes, Int16, Int64, String, Versions, struct, wire

UNLIMITED = 0  # as session_lifetime_ms


@struct
class SaslAuthenticateRequest:
    """A token of ours; what is in it is up to the mechanism."""

    auth_bytes: Bytes


@struct
class SaslAuthenticateResponse:
    """The broker's token, or why it refuses ours."""

    error_code: Int16
    error_message: String | None
    auth_bytes: Bytes
    session_lifetime_ms: Int64 = wire(since=1, ignorable=True)  # not a time, but how long from now


SASL_AUTHENTICATE = Api(
    key=36,
    versions=Versions(0, 2),
    flexible=2,
    request=SaslAuthenticateRequest,
    response=SaslAuthenticateResponse,
)
