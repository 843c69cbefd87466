"""AlterUserScramCredentials (api key 51): passwords for SCRAM set or deleted (KIP-554).

The controller answers: under ZooKeeper any other broker says error 41, under KRaft any broker passes it on (KIP-590).
Needs permission to alter the cluster. Surprises:

- The password itself is not sent: the client salts and hashes it (Hi of RFC 5802, with the mechanism's hash). What
  comes out is as good as the password.
- A user may appear once in a request, whatever the mechanisms: twice is error 92, and nothing of it is done.
- Deleting what is not there is error 91. Fewer than FEWEST_ITERATIONS, or more than MOST_ITERATIONS, are error 93.
- Other brokers know a new password a moment later; connections that were made with the old one stay
  until they authenticate again.
"""

from kafka_lagoon.wire.schema import Api, Bytes, Int8, Int16, Int32, String, Versions, struct

FEWEST_ITERATIONS, MOST_ITERATIONS = 4096, 16384


@struct
class ScramCredentialDeletion:
    """A credential to delete."""

    name: String
    mechanism: Int8  # SCRAM_SHA_256 or SCRAM_SHA_512 of DescribeUserScramCredentials


@struct
class ScramCredentialUpsertion:
    """A credential to set, whether it is there or not."""

    name: String
    mechanism: Int8
    iterations: Int32
    salt: Bytes  # random
    salted_password: Bytes  # secret; 32 bytes or 64


@struct
class AlterUserScramCredentialsRequest:
    """Credentials to delete and to set."""

    deletions: tuple[ScramCredentialDeletion, ...]
    upsertions: tuple[ScramCredentialUpsertion, ...]


@struct
class AlterUserScramCredentialsResult:
    """The result for a user."""

    user: String
    error_code: Int16
    error_message: String | None


@struct
class AlterUserScramCredentialsResponse:
    """One entry per user, also for those that were not allowed."""

    throttle_time_ms: Int32
    results: tuple[AlterUserScramCredentialsResult, ...]


ALTER_USER_SCRAM_CREDENTIALS = Api(
    key=51,
    versions=Versions(0, 0),
    flexible=0,
    request=AlterUserScramCredentialsRequest,
    response=AlterUserScramCredentialsResponse,
)
