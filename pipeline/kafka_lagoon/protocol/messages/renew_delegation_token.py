"""RenewDelegationToken (api key 39): a token lives on, at most until its last day (KIP-48).

Any broker answers: under ZooKeeper by itself, under KRaft it passes the request on (KIP-590). The owner and the
renewers may ask, others get error 63. The token is named by its HMAC, not its id; error 62 says that there is none,
error 66 that it has expired, which nothing can undo. The period counts from now, so renewing can make a life shorter.
Who came over PLAINTEXT, by TLS without a certificate, or by a token itself is answered error 64.
"""

from kafka_lagoon.wire.schema import Api, Bytes, Int16, Int32, Int64, Versions, struct, wire


@struct
class RenewDelegationTokenRequest:
    """A token, and how long it is to live from now on."""

    hmac: Bytes  # secret
    renew_period_ms: Int64  # -1: as long as the broker's own limit, which also bounds others


@struct
class RenewDelegationTokenResponse:
    """When the token expires now, in ms since 1970."""

    error_code: Int16
    expiry_timestamp_ms: Int64 = wire(least=None)  # negative as in DescribeDelegationToken
    throttle_time_ms: Int32


RENEW_DELEGATION_TOKEN = Api(
    key=39,
    versions=Versions(0, 2),
    flexible=2,
    request=RenewDelegationTokenRequest,
    response=RenewDelegationTokenResponse,
)
