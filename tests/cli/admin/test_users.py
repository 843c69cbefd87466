"""Arguments of the verbs about SCRAM users; tests on real brokers are in integration/test_admin_security.py."""

from pathlib import Path

import pytest

from kafka_lagoon.cli.main import main
from tests.admin.conftest import altering_apis
from tests.cli.admin.faults import faults
from tests.fake.broker import FakeBroker
from tests.fake.cluster import FakeCluster
from tests.security_samples import scram_user

__all__ = ["altering_apis"]  # a fixture of tests/admin


@pytest.mark.parametrize("iterations", ["4095", "16385"])
def test_iterations_that_brokers_refuse(capsys: pytest.CaptureFixture[str], iterations: str) -> None:
    """The bounds of iterations are fixed."""
    lines = faults(capsys, "alter-scram", "alice", "--iterations", iterations)
    assert lines == [
        "--iterations: brokers take 4096 to 16384",
        "--password: give env:NAME or file:PATH, where the password is",
    ]


def test_a_password_is_a_reference(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """A password on the command line is refused without repeating it; so are references to missing variables and files."""
    (line,) = faults(capsys, "alter-scram", "alice", "--password", "wq7-secret")
    assert "wq7" not in line
    (tmp_path / "empty").write_text("\n")
    for reference, reason in (
        (f"file:{tmp_path}/empty", "is empty"),
        (f"file:{tmp_path}/gone", "No such file"),
        ("env:WQ7_NOT_SET", "is not set"),
    ):
        (line,) = faults(capsys, "alter-scram", "alice", "--password", reference)
        assert reason in line


@pytest.mark.parametrize("verb", ["alter-scram", "delete-scram"])
def test_an_empty_name_is_refused(capsys: pytest.CaptureFixture[str], verb: str) -> None:
    """No user has an empty name. A variable of a script may be empty: setting its password was a traceback."""
    (line,) = faults(capsys, verb, "alice", "")
    assert line.startswith("USER: '' is empty")


@pytest.mark.usefixtures("altering_apis")
def test_a_user_that_could_not_be_described(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    state: FakeCluster,
    brokers: dict[int, FakeBroker],
) -> None:
    """Its password is neither set nor said to be missing; other users get theirs."""
    state.scram_users = (scram_user("alice", error_code=-1),)
    monkeypatch.setenv("WQ7", "secret")
    server = f"127.0.0.1:{next(iter(brokers.values())).server_address[1]}"
    assert main(["admin", "delete-scram", "alice", "-b", server, "--yes", "--allow-deletions"]) == 1
    assert "SCRAM user alice: DescribeUserScramCredentials: UNKNOWN_SERVER_ERROR" in capsys.readouterr().err
    assert main(["admin", "alter-scram", "alice", "bob", "--password", "env:WQ7", "-b", server, "--yes"]) == 3
    assert "SCRAM user alice: DescribeUserScramCredentials: UNKNOWN_SERVER_ERROR" in capsys.readouterr().err
    assert [user.user for user in state.scram_users if user.credential_infos] == ["bob"]


def test_mechanisms(capsys: pytest.CaptureFixture[str]) -> None:
    """The mechanisms are Kafka's."""
    (line,) = faults(capsys, "delete-scram", "alice", "--mechanism", "SCRAM-MD5")
    assert "SCRAM-SHA-256" in line
