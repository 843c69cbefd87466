"""DescribeDelegationToken (api key 41): the tokens that one may see (KIP-48).

Any broker answers, from what it has heard. Surprises:

- A client sees tokens that it owns or may renew, and those of others with permission DESCRIBE on the token, or
  DESCRIBE_TOKENS on its owner. What may not be seen is left out silently.
- The answer has the secrets: whoever may describe a token can use it.
- Who came over PLAINTEXT, by TLS without a certificate, or by a token itself is answered error 64; where tokens are
  switched off it is error 61.
- Expired tokens stay listed until the controller has tidied up.
"""

from kafka_lagoon.wire.schema import Api, Bytes, Int16, Int32, Int64, String, Versions, struct, wire


@struct
class DescribeDelegationTokenOwner:
    """An owner of tokens."""

    principal_type: String
    principal_name: String


@struct
class DescribeDelegationTokenRequest:
    """Whose tokens to describe: null for all owners, an empty list for none."""

    owners: tuple[DescribeDelegationTokenOwner, ...] | None


@struct
class DescribedDelegationTokenRenewer:
    """A principal that may renew the token, besides its owner."""

    principal_type: String
    principal_name: String


@struct
class DescribedDelegationToken:
    """A token. Its owner is the principal; times are ms since 1970."""

    principal_type: String
    principal_name: String
    token_requester_principal_type: String = wire(since=3)  # KIP-373: who asked for it
    token_requester_principal_name: String = wire(since=3)
    issue_timestamp: Int64
    # With the largest delegation.token.max.lifetime.ms ZooKeeper's brokers overflow to a negative time, KRaft's do not.
    expiry_timestamp: Int64 = wire(least=None)  # unless renewed
    max_timestamp: Int64 = wire(least=None)  # renewed or not
    token_id: String
    hmac: Bytes  # secret
    renewers: tuple[DescribedDelegationTokenRenewer, ...]


@struct
class DescribeDelegationTokenResponse:
    """The tokens that the one who asks may see."""

    error_code: Int16
    tokens: tuple[DescribedDelegationToken, ...]
    throttle_time_ms: Int32


DESCRIBE_DELEGATION_TOKEN = Api(
    key=41,
    versions=Versions(0, 3),
    flexible=2,
    request=DescribeDelegationTokenRequest,
    response=DescribeDelegationTokenResponse,
)
