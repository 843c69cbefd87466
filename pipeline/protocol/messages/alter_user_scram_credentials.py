"""AlterUserScramCredentials (api key 51): ?"""

from pipeline.wire.schema import Api, Bytes, Int8, Int16, Int32, Route, String, Versions, struct


@struct
class ScramCredentialDeletion:
    """?"""

    name: String
    mechanism: Int8


@struct
class ScramCredentialUpsertion:
    """?"""

    name: String
    mechanism: Int8
    iterations: Int32
    salt: Bytes
    salted_password: Bytes


@struct
class AlterUserScramCredentialsRequest:
    """?"""

    deletions: tuple[ScramCredentialDeletion, ...]
    upsertions: tuple[ScramCredentialUpsertion, ...]


@struct
class AlterUserScramCredentialsResult:
    """?"""

    user: String
    error_code: Int16
    error_message: String | None


@struct
class AlterUserScramCredentialsResponse:
    """?"""

    throttle_time_ms: Int32
    results: tuple[AlterUserScramCredentialsResult, ...]


ALTER_USER_SCRAM_CREDENTIALS = Api(
    key=51,
    versions=Versions(0, 0),
    flexible=0,
    route=Route.CONTROLLER,
    request=AlterUserScramCredentialsRequest,
    response=AlterUserScramCredentialsResponse,
)
