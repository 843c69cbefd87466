"""Describes which users can log in by SCRAM, sets their passwords and deletes them (KIP-554).

Brokers return neither salts nor keys. A password is salted and hashed here, and only the result is sent: it is as good as
the password, so an encrypted listener should be used.
"""

import hashlib
import secrets
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from kafka_lagoon.client.agreement import ask_two
from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.client.failures import Failure, Scope, failure_of
from kafka_lagoon.client.routes import ByController
from kafka_lagoon.client.routing import Gathered, ShardedRequest, gather, merged
from kafka_lagoon.clock import Deadline
from kafka_lagoon.protocol.messages.alter_user_scram_credentials import (
    ALTER_USER_SCRAM_CREDENTIALS,
    AlterUserScramCredentialsRequest,
    ScramCredentialDeletion,
    ScramCredentialUpsertion,
)
from kafka_lagoon.protocol.messages.describe_user_scram_credentials import (
    DESCRIBE_USER_SCRAM_CREDENTIALS,
    SCRAM_MECHANISMS,
    SCRAM_SHA_256,
    SCRAM_SHA_512,
    DescribeUserScramCredentialsRequest,
    DescribeUserScramCredentialsResult,
)
from kafka_lagoon.secret import Secret

_HASHES = {SCRAM_SHA_256: "sha256", SCRAM_SHA_512: "sha512"}
_SALT_BYTES = 24


class ScramCredential(NamedTuple):
    """A SCRAM credential of a user: the user name and the number of the mechanism."""

    user: str
    mechanism: int


class NewPassword(NamedTuple):
    """A password and its number of iterations."""

    password: Secret
    iterations: int


def describe_scram_users(
    cluster: Cluster, deadline: Deadline
) -> Sequence[DescribeUserScramCredentialsResult] | Failure:
    """Every user with SCRAM credentials, from any broker."""
    everybody = DescribeUserScramCredentialsRequest(users=())  # no broker up to 4.3 answers null
    scope = Scope.list("SCRAM users")
    answer = ask_two(cluster, DESCRIBE_USER_SCRAM_CREDENTIALS, everybody, scope, deadline)
    return answer if isinstance(answer, Failure) else answer.results


def undescribed_users(results: Iterable[DescribeUserScramCredentialsResult]) -> dict[str, Failure]:
    """Users that a broker lists and could not describe, by name: which credentials they have is not known."""
    return {
        result.user: failure_of(
            DESCRIBE_USER_SCRAM_CREDENTIALS,
            Scope.list(f"SCRAM user {result.user}"),
            result.error_code,
            explanation=result.error_message,
        )
        for result in results
        if result.error_code
    }


def alter_scram_users(
    cluster: Cluster, changes: Mapping[ScramCredential, NewPassword | None], deadline: Deadline
) -> Gathered[ScramCredential, None]:
    """Set passwords, or delete the credentials that are None.

    Brokers refuse a request with two mechanisms of a user, so users with two take two requests, one after the other. Brokers
    would refuse a repeated deletion, so nothing is sent twice.
    """
    rounds = [{one: changes[one] for one in some} for some in _once_per_user(changes)]
    return merged(_alter(cluster, some, deadline) for some in rounds)


def _once_per_user(credentials: Mapping[ScramCredential, object]) -> Iterator[Sequence[ScramCredential]]:
    for mechanism in sorted({one.mechanism for one in credentials}):
        yield [one for one in credentials if one.mechanism == mechanism]


def _alter(
    cluster: Cluster, changes: Mapping[ScramCredential, NewPassword | None], deadline: Deadline
) -> Gathered[ScramCredential, None]:
    by_user = {one.user: one for one in changes}
    sharded: ShardedRequest[ScramCredential, None] = ShardedRequest(
        api=ALTER_USER_SCRAM_CREDENTIALS,
        items=list(changes),
        build=lambda items: _request({one: changes[one] for one in items}),
        read=lambda response, _: [
            (by_user[result.user], result.error_code, None, result.error_message)
            for result in response.results
            if result.user in by_user
        ],
        once=True,
    )
    return gather(cluster, ByController(cluster, _scope), [sharded], deadline)[0]


def _scope(credential: ScramCredential) -> Scope:
    mechanism = SCRAM_MECHANISMS.get(credential.mechanism, str(credential.mechanism))
    return Scope.list(f"SCRAM user {credential.user} {mechanism}")


def _request(changes: Mapping[ScramCredential, NewPassword | None]) -> AlterUserScramCredentialsRequest:
    return AlterUserScramCredentialsRequest(
        deletions=tuple(
            ScramCredentialDeletion(name=user, mechanism=mechanism)
            for (user, mechanism), password in changes.items()
            if password is None
        ),
        upsertions=tuple(_upsertion(one, password) for one, password in changes.items() if password is not None),
    )


def _upsertion(credential: ScramCredential, new: NewPassword) -> ScramCredentialUpsertion:
    """The salted password (Hi of RFC 5802), of the password in UTF-8 as Kafka has it: without SASLprep."""
    salt = secrets.token_bytes(_SALT_BYTES)
    password = new.password.reveal().encode()
    salted = hashlib.pbkdf2_hmac(_HASHES[credential.mechanism], password, salt, new.iterations)
    return ScramCredentialUpsertion(
        name=credential.user,
        mechanism=credential.mechanism,
        iterations=new.iterations,
        salt=salt,
        salted_password=salted,
    )
