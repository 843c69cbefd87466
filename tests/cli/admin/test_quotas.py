"""Arguments of the verb about quotas; tests on real brokers are in integration/test_admin_security.py."""

import pytest

from tests.cli.admin.faults import faults


def test_all_faults_at_once(capsys: pytest.CaptureFixture[str]) -> None:
    """An address beside a user, wrong limits, and a key that is both set and removed are reported together."""
    limits = ("producer_byte_rate", "x=0", "y=-1", "z=nan", "w=inf", "=5", "a=1")
    lines = faults(capsys, "alter-quotas", "--user", "u", "--ip", "127.0.0.1", *limits, "--remove", "a,b,b")
    assert lines == [
        "--user, --client-id, --ip: a quota is about a user, a client-id, both, or an ip alone",
        *(
            f"{text!r} is not KEY=VALUE with a value above 0; --remove {text.partition('=')[0] or 'KEY'} removes a limit"
            for text in limits[:-1]
        ),
        "a is given twice",
        "b is given twice",
    ]


def test_nothing_to_do_is_a_fault(capsys: pytest.CaptureFixture[str]) -> None:
    """Limits and an entity are required."""
    lines = faults(capsys, "alter-quotas")
    assert len(lines) == 2
    assert lines[1] == "give at least one KEY=VALUE, or --remove"
