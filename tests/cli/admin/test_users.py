"""Arguments of the verbs about SCRAM users; tests on real brokers are in integration/test_admin_security.py."""

from pathlib import Path

import pytest

from tests.cli.admin.faults import faults


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


def test_mechanisms(capsys: pytest.CaptureFixture[str]) -> None:
    """The mechanisms are Kafka's."""
    (line,) = faults(capsys, "delete-scram", "alice", "--mechanism", "SCRAM-MD5")
    assert "SCRAM-SHA-256" in line
