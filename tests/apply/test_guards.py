"""Destructive actions are refused unless the option that names the danger is given."""

from dataclasses import replace
from pathlib import Path

import pytest

from kafka_lagoon.admin.config_values import ConfigResource
from kafka_lagoon.admin.scram import ScramCredential
from kafka_lagoon.apply.action import Guard
from kafka_lagoon.apply.guards import missing_guards, require_guards, unresolved
from kafka_lagoon.apply.kinds.configs import change_configs
from kafka_lagoon.apply.kinds.partitions import delete_records_before
from kafka_lagoon.apply.kinds.topic_guards import partition_notes
from kafka_lagoon.apply.kinds.topics import create_topic, delete_topic, extend_topic
from kafka_lagoon.apply.kinds.users import alter_scram
from kafka_lagoon.errors import ConfigError
from kafka_lagoon.protocol.messages.describe_configs import TOPIC
from kafka_lagoon.secret import Secret
from kafka_lagoon.topic_partition import TopicPartition
from tests.apply.kinds_in_memory import Rows, Things, action
from tests.apply.lives import topic, values

ACTIONS = [
    action("a"),
    action("b", "drop", None, {}, Guard.DELETIONS),
    action("c", "drop", None, {}, Guard.RECORD_DELETION, Guard.DELETIONS),
]


def test_every_action_that_may_not_be_is_named() -> None:
    """Refused actions are named with the missing options, and only those."""
    kinds = Things().kinds()
    assert list(missing_guards(ACTIONS, [Guard.DELETIONS], kinds)) == ["drop c needs --allow-record-deletion"]
    assert list(missing_guards(ACTIONS, Guard, kinds)) == []
    with pytest.raises(ConfigError):
        require_guards(ACTIONS, (), kinds)


@pytest.mark.parametrize("name", ["__consumer_offsets", "__transaction_state", "__share_group_state"])
def test_topics_of_brokers_need_one_more(name: str) -> None:
    """__consumer_offsets has the commits of all groups, so an action on it needs one more option than other topics."""
    known = values("topic", {"retention.ms": "10", "cleanup.policy": "compact"})
    for about, has_guards in ((name, {Guard.INTERNAL_TOPICS}), ("__another", set[Guard]())):
        metadata = replace(topic("t", [[1]]).metadata, name=about)
        assert delete_topic(metadata).guards == {Guard.DELETIONS, *has_guards}
        assert extend_topic(about, 50, 60).guards == has_guards
        records = delete_records_before(TopicPartition(about, 0), 1, 5)
        assert records is not None
        assert records.guards == {Guard.RECORD_DELETION, *has_guards}
        for change in ({"retention.ms": "5"}, {"cleanup.policy": "delete"}):
            shorter = change_configs(ConfigResource(TOPIC, about), known, change)
            assert shorter is not None
            assert shorter.guards == {Guard.SHRINKING_RETENTION, *has_guards}
        harmless = change_configs(ConfigResource(TOPIC, about), known, {"min.insync.replicas": "2"})
        assert harmless is not None
        assert harmless.guards == frozenset()


def test_absurd_numbers_of_partitions() -> None:
    """More partitions than a controller accepts at once need an option, several thousand get a note."""
    several = [create_topic("a", partitions=2_001), extend_topic("b", 6, 2_007), create_topic("c", partitions=2_000)]
    several.append(extend_topic("large", 10_000, 10_001))  # the controller counts the new ones
    assert not any(one.guards for one in several)
    assert [note.partition(":")[0] for note in partition_notes(several)] == ["topic a", "topic b"]
    placed = create_topic("d", assignments={number: [1] for number in range(10_001)})
    for absurd in (create_topic("d", partitions=2**31 - 1), extend_topic("d", 10, 10_011), placed):
        assert absurd.guards == {Guard.MANY_PARTITIONS}


def test_secrets_that_are_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Missing secrets are found before anything is read or sent; an empty password counts as missing."""
    empty = tmp_path / "empty"
    empty.write_text("\n")
    monkeypatch.delenv("UNSET", raising=False)
    monkeypatch.setenv("SET", "x")
    actions = [
        alter_scram(ScramCredential("u", 1), None, 4096, Secret(given), "x.toml:3")
        for given in ("env:UNSET", f"file:{tmp_path}/none", f"file:{empty}", "env:SET")
    ]
    assert [line.partition(": password: ")[2] for line in unresolved(actions)] == [
        "env:UNSET: this environment variable is not set where it is needed",
        f"file:{tmp_path}/none: No such file or directory",
        f"file:{empty}: it is empty",
    ]
    assert next(iter(unresolved(actions))).startswith("x.toml:3: ")
    things, rows = Things(), Rows()
    with pytest.raises(ConfigError, match="env:UNSET"):
        things.carry_out(action("a"), replace(action("b"), secrets={"password": Secret("env:UNSET")}), recorder=rows)
    assert (things.sent, rows.written) == ([], [])
