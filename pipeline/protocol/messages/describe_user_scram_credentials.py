"""DescribeUserScramCredentials (api key 50): ?"""

from pipeline.wire.schema import Api, Int8, Int16, Int32, Route, String, Versions, struct


@struct
class UserName:
    """?"""

    name: String


@struct
class DescribeUserScramCredentialsRequest:
    """?"""

    users: tuple[UserName, ...] | None


@struct
class CredentialInfo:
    """?"""

    mechanism: Int8
    iterations: Int32


@struct
class DescribeUserScramCredentialsResult:
    """?"""

    user: String
    error_code: Int16
    error_message: String | None
    credential_infos: tuple[CredentialInfo, ...]


@struct
class DescribeUserScramCredentialsResponse:
    """?"""

    throttle_time_ms: Int32
    error_code: Int16
    error_message: String | None
    results: tuple[DescribeUserScramCredentialsResult, ...]


DESCRIBE_USER_SCRAM_CREDENTIALS = Api(
    key=50,
    versions=Versions(0, 0),
    flexible=0,
    route=Route.ANY,
    request=DescribeUserScramCredentialsRequest,
    response=DescribeUserScramCredentialsResponse,
)
