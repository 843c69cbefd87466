"""Arguments of `lagoon admin alter-configs`; tests on real brokers are in integration/test_admin_topics.py."""

from dataclasses import replace
from typing import Any

import pytest

from kafka_lagoon.apply.action import Guard
from kafka_lagoon.cli.main import main
from kafka_lagoon.protocol.messages.describe_configs import BROKER, DESCRIBE_CONFIGS, DescribeConfigsEntry
from tests.admin.conftest import topic_apis
from tests.cli.admin.faults import faults
from tests.fake.broker import FakeBroker
from tests.fake.cluster import FakeCluster
from tests.fake.faults import Altered, Fault

__all__ = ["topic_apis"]  # a fixture of tests/admin

LIST, STATIC = 7, 4
MECHANISMS, POLICY = "sasl.enabled.mechanisms", "log.cleanup.policy"


def test_all_faults_at_once(capsys: pytest.CaptureFixture[str]) -> None:
    """A config that is named twice, in any option, and a wrong broker id, are reported together."""
    edits = ("--config", "a=1", "--append", "a=2", "--unset", "b", "--unset", "b")
    assert faults(capsys, "alter-configs", "broker", "1", "one", "<default>", *edits) == [
        "a: given 2 times",
        "b: given 2 times",
        "one: not the id of a broker",
    ]
    spellings = ("01", "\u0663", "9" * 5_000)
    assert faults(capsys, "alter-configs", "broker", "0", "20", *spellings, "--unset", "b") == [
        f"{name}: not the id of a broker" for name in spellings
    ]
    assert faults(capsys, "alter-configs", "broker-logger", "<default>") == [
        "nothing to change: give --config, --unset, --append or --subtract",
        "<default>: not the id of a broker",
    ]


@pytest.mark.parametrize("text", ["retention.ms,segment.ms", "retention.ms=1", "retention.ms segment.ms"])
def test_a_config_is_unset_by_its_name_alone(capsys: pytest.CaptureFixture[str], text: str) -> None:
    """kafka-configs takes a list. Here it was the name of a config that is not set: nothing to do, with exit code 0."""
    (line,) = faults(capsys, "alter-configs", "topic", "orders", "--unset", text)
    assert line.startswith(f"--unset: {text!r} is not the name of one config")
    (line,) = faults(capsys, "alter-configs", "topic", "orders", "--unset", "")
    assert line.startswith("--unset: '' is empty")


def test_every_guard_of_a_config_has_its_option(capsys: pytest.CaptureFixture[str]) -> None:
    """Without the option nobody could make the change."""
    with pytest.raises(SystemExit):
        main(["admin", "alter-configs", "--help"])
    shown = capsys.readouterr().out
    assert all(
        f"--{guard}" in shown for guard in (Guard.SHRINKING_RETENTION, Guard.UNCLEAN_ELECTIONS, Guard.INTERNAL_TOPICS)
    )


def set_in_files(state: FakeCluster, **mechanisms: str) -> None:
    """Brokers list these mechanisms, by broker id, and a policy, as in their server.properties; not for all brokers."""

    def change(response: Any) -> Any:
        (result,) = response.results
        if result.resource_type != BROKER or not result.resource_name:
            return response
        texts = {MECHANISMS: mechanisms.get(f"_{result.resource_name}", "PLAIN"), POLICY: "delete"}
        static = (
            DescribeConfigsEntry(name=name, value=text, config_source=STATIC, config_type=LIST)
            for name, text in texts.items()
        )
        return replace(response, results=(replace(result, configs=(*result.configs, *static)),))

    state.faults.append(Fault(DESCRIBE_CONFIGS.key, Altered(change), times=100))


@pytest.fixture
def server(brokers: dict[int, FakeBroker]) -> str:
    """Return the address of the cluster."""
    return f"127.0.0.1:{next(iter(brokers.values())).server_address[1]}"


@pytest.mark.usefixtures("topic_apis")
@pytest.mark.parametrize("name", [MECHANISMS, f"listener.name.inside.{MECHANISMS}"])
@pytest.mark.parametrize("broker", ["<default>", "1"])
def test_a_list_that_is_not_set_is_edited_from_the_value_in_effect(
    name: str, broker: str, state: FakeCluster, server: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Brokers do not list it there, and the value in effect is not lost; without a difference there is nothing to do."""
    set_in_files(state)
    verb = ("admin", "alter-configs", "broker", broker, "-b", server, "--yes")
    assert main([*verb, "--subtract", f"{name}=GSSAPI"]) == 0
    assert capsys.readouterr().out == "nothing to do\n"
    assert main([*verb, "--append", f"{name}=SCRAM-SHA-256"]) == 0
    assert state.configs[BROKER, broker.replace("<default>", "")] == {name: "PLAIN,SCRAM-SHA-256"}


@pytest.mark.usefixtures("topic_apis")
def test_a_list_whose_value_in_effect_is_not_known_is_not_edited(
    state: FakeCluster, server: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Brokers differ in it, or list no such config; a policy that would delete more needs its option."""
    set_in_files(state, _2="GSSAPI")
    verb = ("admin", "alter-configs", "broker", "<default>", "-b", server, "--yes")
    for name in (MECHANISMS, f"listener.name.inside.{MECHANISMS}", "no.such.list"):
        assert main([*verb, "--append", f"{name}=SCRAM-SHA-256"]) == 1
        assert (
            f"NOT_KNOWN (the value of {name} in effect is not known, or differs between brokers: set the whole list with --config)"
            in capsys.readouterr().err
        )
    assert main([*verb, "--append", f"{POLICY}=compact"]) == 2
    assert "--allow-shrinking-retention" in capsys.readouterr().err
    assert not state.configs
