"""Arguments of `lagoon admin alter-configs`; tests on real brokers are in integration/test_admin_topics.py."""

import pytest

from tests.cli.admin.faults import faults


def test_all_faults_at_once(capsys: pytest.CaptureFixture[str]) -> None:
    """A config that is named twice, in any option, and a wrong broker id, are reported together."""
    edits = ("--config", "a=1", "--append", "a=2", "--unset", "b", "--unset", "b")
    assert faults(capsys, "alter-configs", "broker", "1", "one", "<default>", *edits) == [
        "a: given 2 times",
        "b: given 2 times",
        "one: not the id of a broker",
    ]
    assert faults(capsys, "alter-configs", "broker-logger", "<default>") == [
        "nothing to change: give --config, --unset, --append or --subtract",
        "<default>: not the id of a broker",
    ]
