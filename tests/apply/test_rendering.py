import json
import math
from dataclasses import replace

from kafka_lagoon.apply.action import Action, Guard, Resource
from kafka_lagoon.apply.rendering import as_json, render, summary
from kafka_lagoon.secret import Secret

TOPIC = Resource("topic", "orders")
CREATED = Action(
    kind="create_topic",
    resource=TOPIC,
    before=None,
    after={"partitions": 6, "replication_factor": None, "configs": {"retention.ms": "1"}},
    source="x.toml:3",
)
CHANGED = Action(
    kind="alter_configs",
    resource=TOPIC,
    before={"retention.ms": "604800000", "cleanup.policy": None},
    after={"retention.ms": "1", "cleanup.policy": "compact"},
    guards=frozenset({Guard.SHRINKING_RETENTION}),
)
DELETED = Action(
    kind="delete_topic",
    resource=Resource("topic", "a\x1b[2Jb"),
    before={"partitions": 1},
    after=None,
    guards=frozenset({Guard.DELETIONS}),
)


def test_a_plan_for_people() -> None:
    """The text shows created, changed and deleted resources, required options, and the lines of the file."""
    assert render([CREATED, CHANGED, DELETED]) == [
        "+ topic orders: create topic  (x.toml:3)",
        "    partitions          6",
        "    replication_factor  (not set)",
        "    retention.ms        1",
        "~ topic orders: alter configs  needs --allow-shrinking-retention",
        "    retention.ms    604800000 -> 1",
        "    cleanup.policy  (not set) -> compact",
        "- topic a\\u001b[2Jb: delete topic  needs --allow-deletions",
        "    partitions  1",
    ]
    assert summary([CREATED, CHANGED, DELETED, DELETED]) == "1 to add, 1 to change, 2 to delete"


def test_secrets_are_not_shown() -> None:
    """Neither as lines nor as JSON."""
    action = Action(
        kind="alter_scram",
        resource=Resource("scram_user", "alice SCRAM-SHA-256"),
        before={"iterations": 4096},
        after={"iterations": 8192},
        secrets={"password": Secret("hunter2")},
    )
    assert "hunter2" not in str([render([action]), as_json(action), action])
    assert as_json(action)["after"] == {"iterations": 8192}


def test_limits_without_an_end() -> None:
    """Brokers accept infinite limits of quotas; JSON has no number for them."""
    action = replace(
        CHANGED, before={"request_percentage": math.inf, "x": 2.5}, after={"request_percentage": 50.0, "x": 3.0}
    )
    assert [line.split(maxsplit=1)[1] for line in render([action])[1:]] == ["Infinity -> 50", "2.5 -> 3"]
    assert as_json(action)["before"] == {"request_percentage": "Infinity", "x": 2.5}
    assert json.loads(json.dumps(as_json(action), allow_nan=False))["after"] == {"request_percentage": 50.0, "x": 3.0}
