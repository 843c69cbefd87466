"""SCRAM users of fake brokers."""

import hmac
from dataclasses import replace
from typing import Any

import pytest

from kafka_lagoon.admin.scram import NewPassword, ScramCredential, alter_scram_users, describe_scram_users
from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.client.failures import Failure
from kafka_lagoon.protocol.messages.alter_user_scram_credentials import ALTER_USER_SCRAM_CREDENTIALS
from kafka_lagoon.protocol.messages.describe_user_scram_credentials import SCRAM_SHA_256, SCRAM_SHA_512
from kafka_lagoon.secret import Secret
from tests.admin.conftest import RequestsOf, soon
from tests.fake.cluster import FakeCluster
from tests.fake.faults import Altered, Close, Fault
from tests.security_samples import scram_user


@pytest.mark.usefixtures("security_apis")
def test_all_users_are_described(state: FakeCluster, cluster: Cluster) -> None:
    """A request without names describes all users."""
    state.scram_users = (scram_user("a", 1, 2), scram_user("b", 1))
    assert describe_scram_users(cluster, soon()) == state.scram_users


@pytest.mark.usefixtures("security_apis")
def test_a_refusal_is_a_failure_and_no_empty_list(state: FakeCluster, cluster: Cluster) -> None:
    """The failure reports the missing permission; it is not an empty list."""
    state.cluster_operations = 0
    refused = describe_scram_users(cluster, soon())
    assert isinstance(refused, Failure)
    assert (refused.name, str(refused.scope)) == ("CLUSTER_AUTHORIZATION_FAILED", "SCRAM users")


NEW = NewPassword(Secret("wq7-not-shown"), 4096)


@pytest.mark.usefixtures("altering_apis")
def test_alter_scram_users_of_two_mechanisms(state: FakeCluster, cluster: Cluster) -> None:
    """Deletions and new passwords of a user are in one request, because brokers refuse a user that is named twice."""
    state.scram_users = (scram_user("b", SCRAM_SHA_256),)
    changes = {
        ScramCredential("a", SCRAM_SHA_256): NEW,
        ScramCredential("a", SCRAM_SHA_512): NEW,
        ScramCredential("b", SCRAM_SHA_256): None,
    }
    gathered = alter_scram_users(cluster, changes, soon())
    assert set(gathered.answers) == set(changes)
    (user,) = state.scram_users
    assert (user.user, [one.mechanism for one in user.credential_infos]) == ("a", [SCRAM_SHA_256, SCRAM_SHA_512])


@pytest.mark.usefixtures("altering_apis")
def test_a_refused_user_fails_alone(cluster: Cluster) -> None:
    """Deleting a missing credential fails; the failure names user and mechanism, but no password."""
    changes = {ScramCredential("a", SCRAM_SHA_256): NEW, ScramCredential("gone", SCRAM_SHA_256): None}
    gathered = alter_scram_users(cluster, changes, soon())
    (failure,) = gathered.failures.values()
    assert (str(failure.scope), failure.name) == ("SCRAM user gone SCRAM-SHA-256", "RESOURCE_NOT_FOUND")
    assert "wq7" not in repr(gathered) + repr(changes)


@pytest.mark.usefixtures("altering_apis")
def test_results_of_other_users_are_passed_over(state: FakeCluster, cluster: Cluster) -> None:
    """The password has been changed by then: an error would say that it may not."""

    def with_another(answer: Any) -> Any:
        return replace(answer, results=(replace(answer.results[0], user="other", error_code=31), *answer.results))

    state.faults = [Fault(ALTER_USER_SCRAM_CREDENTIALS.key, Altered(with_another))]
    assert not alter_scram_users(cluster, {ScramCredential("a", SCRAM_SHA_256): NEW}, soon()).failures


@pytest.mark.usefixtures("altering_apis")
def test_passwords_are_not_sent_twice(state: FakeCluster, cluster: Cluster) -> None:
    """After a lost response the caller decides by the live state."""
    state.faults = [Fault(ALTER_USER_SCRAM_CREDENTIALS.key, Close())]
    (failure,) = alter_scram_users(cluster, {ScramCredential("a", SCRAM_SHA_256): NEW}, soon()).failures.values()
    assert failure.may_be_done
    assert state.count(ALTER_USER_SCRAM_CREDENTIALS.key) == 1


@pytest.mark.usefixtures("altering_apis")
def test_the_salted_password_is_that_of_rfc_5802(state: FakeCluster, cluster: Cluster, requests_of: RequestsOf) -> None:
    """Hi() by the definition of RFC 5802, of the password as UTF-8; each credential has its own salt."""
    requests = requests_of(ALTER_USER_SCRAM_CREDENTIALS)
    new = NewPassword(Secret("schl\u00fcssel"), 4096)
    users = [ScramCredential("a", SCRAM_SHA_256), ScramCredential("b", SCRAM_SHA_512)]
    assert not alter_scram_users(cluster, dict.fromkeys(users, new), soon()).failures
    sent = [upsertion for request in requests for upsertion in request.upsertions]
    for upsertion, hash_name in zip(sent, ("sha256", "sha512"), strict=True):
        assert upsertion.salted_password == hi("schl\u00fcssel".encode(), upsertion.salt, 4096, hash_name)
    assert len({upsertion.salt for upsertion in sent}) == 2
    assert state.scram_users


def hi(password: bytes, salt: bytes, iterations: int, hash_name: str) -> bytes:
    block = result = hmac.digest(password, salt + b"\0\0\0\1", hash_name)
    for _ in range(iterations - 1):
        block = hmac.digest(password, block, hash_name)
        result = bytes(a ^ b for a, b in zip(result, block, strict=True))
    return result
