"""Arguments of `lagoon admin alter-configs`; tests on real brokers are in integration/test_admin_topics.py."""

import pytest

from kafka_lagoon.apply.action import Guard
from kafka_lagoon.cli.main import main
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


def test_every_guard_of_a_config_has_its_option(capsys: pytest.CaptureFixture[str]) -> None:
    """Without the option nobody could make the change."""
    with pytest.raises(SystemExit):
        main(["admin", "alter-configs", "--help"])
    shown = capsys.readouterr().out
    assert all(
        f"--{guard}" in shown for guard in (Guard.SHRINKING_RETENTION, Guard.UNCLEAN_ELECTIONS, Guard.INTERNAL_TOPICS)
    )
