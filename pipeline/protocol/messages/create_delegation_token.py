"""CreateDelegationToken (api key 38): ?"""

from pipeline.wire.schema import Api, Bytes, Int16, Int32, Int64, Route, String, Versions, struct, wire


@struct
class CreatableRenewers:
    """?"""

    principal_type: String
    principal_name: String


@struct
class CreateDelegationTokenRequest:
    """?"""

    owner_principal_type: String | None = wire(since=3)
    owner_principal_name: String | None = wire(since=3)
    renewers: tuple[CreatableRenewers, ...]
    max_lifetime_ms: Int64


@struct
class CreateDelegationTokenResponse:
    """?"""

    error_code: Int16
    principal_type: String
    principal_name: String
    token_requester_principal_type: String = wire(since=3)
    token_requester_principal_name: String = wire(since=3)
    issue_timestamp_ms: Int64
    expiry_timestamp_ms: Int64
    max_timestamp_ms: Int64
    token_id: String
    hmac: Bytes
    throttle_time_ms: Int32


CREATE_DELEGATION_TOKEN = Api(
    key=38,
    versions=Versions(0, 3),
    flexible=2,
    route=Route.CONTROLLER,
    request=CreateDelegationTokenRequest,
    response=CreateDelegationTokenResponse,
)
