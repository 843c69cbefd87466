"""ExpireDelegationToken (api key 40): a token ends sooner, or at once (KIP-48).

Any broker answers: under ZooKeeper by itself, under KRaft it passes the request on (KIP-590). The owner and the
renewers may ask, others get error 63. The token is named by its HMAC, not its id; error 62 says that there is none.
Who came over PLAINTEXT, by TLS without a certificate, or by a token itself is answered error 64.
"""

from kafka_lagoon.wire.schema import Api, Bytes, Int16, Int32, Int64, Versions, struct, wire


@struct
class ExpireDelegationTokenRequest:
    """A token, and how long it may live from now on."""

    hmac: Bytes  # secret
    expiry_time_period_ms: Int64  # negative: delete it now


@struct
class ExpireDelegationTokenResponse:
    """When the token expires, in ms since 1970."""

    error_code: Int16
    expiry_timestamp_ms: Int64 = wire(least=None)  # negative as in DescribeDelegationToken
    throttle_time_ms: Int32


EXPIRE_DELEGATION_TOKEN = Api(
    key=40,
    versions=Versions(0, 2),
    flexible=2,
    request=ExpireDelegationTokenRequest,
    response=ExpireDelegationTokenResponse,
)
