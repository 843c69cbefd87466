"""Actions about the passwords of SCRAM users."""

import pytest

from kafka_lagoon.admin.scram import ScramCredential
from kafka_lagoon.apply.kinds.users import alter_scram, delete_scram, parse_scram_user, scram_resource
from kafka_lagoon.protocol.messages.alter_user_scram_credentials import ALTER_USER_SCRAM_CREDENTIALS
from kafka_lagoon.protocol.messages.describe_user_scram_credentials import SCRAM_SHA_256, SCRAM_SHA_512
from kafka_lagoon.secret import Secret
from tests.apply.kinds.conftest import CarryOut
from tests.fake.cluster import FakeCluster
from tests.fake.faults import Close, Fault
from tests.security_samples import scram_user

PASSWORD = Secret("wq7-not-shown")
ALICE = ScramCredential("alice", SCRAM_SHA_256)


def test_a_name_is_read_back() -> None:
    """A user's name may have blanks."""
    for credential in (ALICE, ScramCredential("a b SCRAM-SHA-256", SCRAM_SHA_512)):
        assert parse_scram_user(scram_resource(credential).name) == credential
    with pytest.raises(ValueError, match="SCRAM-SHA-256"):
        parse_scram_user("alice SCRAM-MD5")


def test_passwords_are_set_and_deleted(state: FakeCluster, carry_out: CarryOut) -> None:
    """Passwords are set with the requested iterations; no result has the password."""
    execution = carry_out([alter_scram(ALICE, None, 5000, PASSWORD)])
    assert [result.outcome for result in execution.results] == ["done"]
    assert "wq7" not in repr(execution)
    (user,) = state.scram_users
    assert [one.iterations for one in user.credential_infos] == [5000]
    carry_out([delete_scram(ALICE, {"iterations": 5000})])
    assert state.scram_users == ()


def test_a_user_that_could_not_be_described(state: FakeCluster, carry_out: CarryOut) -> None:
    """Such a user may have a password, so it is not taken for a new user whose password is set."""
    state.scram_users = (scram_user("alice", error_code=-1),)
    (result,) = carry_out([alter_scram(ALICE, None, 5000, PASSWORD)]).results
    assert (result.outcome, result.failure and result.failure.name) == ("failed", "UNKNOWN_SERVER_ERROR")
    assert state.count(ALTER_USER_SCRAM_CREDENTIALS.key) == 0


@pytest.mark.parametrize(("iterations", "outcome"), [(5000, "done"), (4096, "unknown")])
def test_a_lost_answer(state: FakeCluster, carry_out: CarryOut, iterations: int, outcome: str) -> None:
    """The live state decides, unless it would be the same in both cases; nothing is sent again."""
    state.scram_users = (scram_user("alice", SCRAM_SHA_256),)
    state.faults = [Fault(ALTER_USER_SCRAM_CREDENTIALS.key, Close())]
    (result,) = carry_out([alter_scram(ALICE, {"iterations": 4096}, iterations, PASSWORD)]).results
    assert (result.outcome, state.count(ALTER_USER_SCRAM_CREDENTIALS.key)) == (outcome, 1)
    assert "wq7" not in repr(result)
