"""Arguments of the verbs about SCRAM users; what they do is tested on real brokers (integration/test_admin_security.py)."""

from pathlib import Path

import pytest

from tests.cli.admin.faults import faults


@pytest.mark.parametrize("iterations", ["4095", "16385"])
def test_iterations_that_brokers_refuse(capsys: pytest.CaptureFixture[str], iterations: str) -> None:
    """Their bounds are fixed."""
    lines = faults(capsys, "alter-scram", "alice", "--iterations", iterations)
    assert lines == [
        "--iterations: brokers take 4096 to 16384",
        "--password: give env:NAME or file:PATH, where the password is",
    ]


def test_a_password_is_a_reference(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """One on the command line is refused, and not repeated; so are references that lead nowhere."""
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
    """Those of Kafka."""
    (line,) = faults(capsys, "delete-scram", "alice", "--mechanism", "SCRAM-MD5")
    assert "SCRAM-SHA-256" in line
