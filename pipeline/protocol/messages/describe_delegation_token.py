"""DescribeDelegationToken (api key 41): ?"""

from pipeline.wire.schema import Api, Bytes, Int16, Int32, Int64, Route, String, Versions, struct, wire


@struct
class DescribeDelegationTokenOwner:
    """?"""

    principal_type: String
    principal_name: String


@struct
class DescribeDelegationTokenRequest:
    """?"""

    owners: tuple[DescribeDelegationTokenOwner, ...] | None


@struct
class DescribedDelegationTokenRenewer:
    """?"""

    principal_type: String
    principal_name: String


@struct
class DescribedDelegationToken:
    """?"""

    principal_type: String
    principal_name: String
    token_requester_principal_type: String = wire(since=3)
    token_requester_principal_name: String = wire(since=3)
    issue_timestamp: Int64
    expiry_timestamp: Int64
    max_timestamp: Int64
    token_id: String
    hmac: Bytes
    renewers: tuple[DescribedDelegationTokenRenewer, ...]


@struct
class DescribeDelegationTokenResponse:
    """?"""

    error_code: Int16
    tokens: tuple[DescribedDelegationToken, ...]
    throttle_time_ms: Int32


DESCRIBE_DELEGATION_TOKEN = Api(
    key=41,
    versions=Versions(0, 3),
    flexible=2,
    route=Route.ANY,
    request=DescribeDelegationTokenRequest,
    response=DescribeDelegationTokenResponse,
)
