"""CreateDelegationToken (api key 38): a secret with which others may act as its owner, for a while (KIP-48).

Any broker answers: under ZooKeeper by itself, under KRaft it passes the request on (KIP-590). Surprises:

- Token id and HMAC, in base64, are name and password for SCRAM: the answer is a secret, whoever sees it is the owner.
- Who came over PLAINTEXT, by TLS without a certificate, or by a token itself is answered error 64.
- Where tokens are switched off it is error 61. Other brokers know a new token a moment later.
- A token expires earlier than its longest lifetime unless it is renewed.
- The throttle time stands at the end, unlike in most answers.
"""

from kafka_lagoon.wire.schema import Api, Bytes, Int16, Int32, Int64, String, Versions, struct, wire


@struct
class DelegationTokenRenewer:
    """A principal that may renew the token, besides its owner; only type User is known (error 67 else)."""

    principal_type: String
    principal_name: String


@struct
class CreateDelegationTokenRequest:
    """A token for the requester, or from v3 on for another owner, given permission CREATE_TOKENS (error 65 else)."""

    owner_principal_type: String | None = wire(since=3)  # KIP-373; null: who asks
    owner_principal_name: String | None = wire(since=3)
    renewers: tuple[DelegationTokenRenewer, ...]
    max_lifetime_ms: Int64  # -1: as long as the broker's own limit, which also bounds others


@struct
class CreateDelegationTokenResponse:
    """The token. Its owner is the principal; times count from 1970."""

    error_code: Int16
    principal_type: String
    principal_name: String
    token_requester_principal_type: String = wire(since=3)  # KIP-373: who asked
    token_requester_principal_name: String = wire(since=3)
    issue_timestamp_ms: Int64
    # Negative as in DescribeDelegationToken: such an answer must not hide the secret of a token that was created.
    expiry_timestamp_ms: Int64 = wire(least=None)  # unless renewed
    max_timestamp_ms: Int64 = wire(least=None)  # renewed or not
    token_id: String
    hmac: Bytes  # secret
    throttle_time_ms: Int32


CREATE_DELEGATION_TOKEN = Api(
    key=38,
    versions=Versions(0, 3),
    flexible=2,
    request=CreateDelegationTokenRequest,
    response=CreateDelegationTokenResponse,
)
