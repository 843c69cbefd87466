"""DescribeUserScramCredentials (api key 50): which users can log in by SCRAM, and how (KIP-554).

Any broker answers, given permission to describe the cluster. Salts and keys are never returned. A user that was named and
has no credentials is error 91, one named twice error 92. Without the permission, a request for null instead of an empty list
is not answered: the broker's own handling of the error fails (seen in 4.3.1).
"""

from kafka_lagoon.wire.schema import Api, Int8, Int16, Int32, String, Versions, struct

SCRAM_SHA_256, SCRAM_SHA_512 = 1, 2
SCRAM_MECHANISMS = {SCRAM_SHA_256: "SCRAM-SHA-256", SCRAM_SHA_512: "SCRAM-SHA-512"}  # as in sasl_mechanisms.py


@struct
class ScramUserName:
    """A user, without the type User: of access rules."""

    name: String


@struct
class DescribeUserScramCredentialsRequest:
    """Users to describe; null and an empty list are both all of them."""

    users: tuple[ScramUserName, ...] | None


@struct
class ScramCredentialInfo:
    """A credential: its mechanism, and how often the password was hashed."""

    mechanism: Int8  # of SCRAM_MECHANISMS
    iterations: Int32


@struct
class DescribeUserScramCredentialsResult:
    """The credentials of a user, at most one per mechanism."""

    user: String
    error_code: Int16
    error_message: String | None
    credential_infos: tuple[ScramCredentialInfo, ...]


@struct
class DescribeUserScramCredentialsResponse:
    """One entry per user; the error above is about permissions."""

    throttle_time_ms: Int32
    error_code: Int16
    error_message: String | None
    results: tuple[DescribeUserScramCredentialsResult, ...]


DESCRIBE_USER_SCRAM_CREDENTIALS = Api(
    key=50,
    versions=Versions(0, 0),
    flexible=0,
    request=DescribeUserScramCredentialsRequest,
    response=DescribeUserScramCredentialsResponse,
)
