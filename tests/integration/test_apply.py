"""`lagoon apply` brings a real cluster into the state of a file, carries out exactly the shown plan, and records it."""

import json
import re
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest
from confluent_kafka.admin import AclOperation, NewTopic, ResourceType

from kafka_lagoon.cli.main import main
from kafka_lagoon.query import duckdb_engine
from tests.integration import every_broker
from tests.integration.administered import Administered
from tests.integration.secured import LIMITED, allow
from tests.integration.state import create_topics

TOPICS = "org.apache.kafka.tools.TopicCommand"
Output = pytest.CaptureFixture[str]
_COUNTED = count()


@pytest.fixture
def name() -> str:
    """Return the prefix of the names of a test's topics."""
    return f"applied-{next(_COUNTED)}"


@pytest.fixture
def state(administered: Administered, tmp_path: Path, name: str) -> Iterator[Path]:
    """Return a state with two new topics, an owned topic that the file does not have, and a user's permission."""
    create_topics(administered.bootstrap_servers, [NewTopic(f"{name}-old", 1, 1)])
    with administered.cluster() as cluster:
        cluster_id = cluster.cluster_id
    file = tmp_path / "state.toml"
    file.write_text(
        f"""cluster_id = "{cluster_id}"
[owns]
topics = ["{name}-.*"]
[topics.{name}-a]
partitions = 3
configs = {{ "retention.ms" = 86400000 }}
[topics.{name}-b]
partitions = 1
[[acls]]
principal = "User:{name}"
operation = "READ"
resource_type = "TOPIC"
resource_name = "{name}-a"
"""
    )
    yield file
    left = [topic for topic in administered.admin.list_topics(timeout=30).topics if topic.startswith(f"{name}-")]
    for future in administered.admin.delete_topics(left, operation_timeout=30).values():
        future.result(30)


def apply(administered: Administered, file: Path, *options: str, user: str | None = None) -> int:
    """Return the exit code of `lagoon apply` for a user."""
    return main(["apply", str(file), *administered.arguments(user), *options])


def topics(administered: Administered, name: str) -> list[str]:
    """Return the existing topics of a test, as Kafka's own tool lists them."""
    return sorted(
        topic.removeprefix(f"{name}-") for topic in administered.tool(TOPICS, "--list").split() if name in topic
    )


def test_a_cluster_becomes_what_a_file_says(
    administered: Administered, state: Path, name: str, tmp_path: Path, capsys: Output
) -> None:
    """The shown plan is carried out and recorded; then the plan is empty."""
    warehouse = str(tmp_path / "lake")
    assert apply(administered, state, "--dry-run", "--json") == 0
    planned = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [one["action"] for one in planned] == ["create_topic", "create_topic", "create_acl", "delete_topic"]
    (plan_id,) = {one["plan_id"] for one in planned}
    log = tmp_path / "log"
    done = (
        "--plan",
        plan_id,
        "--yes",
        "--allow-deletions",
        "--warehouse",
        warehouse,
        "--create",
        "--log-file",
        str(log),
    )
    assert apply(administered, state, *done) == 0
    shown = capsys.readouterr().out
    assert f"+ topic {name}-a" in shown
    assert "4 done" in shown.splitlines()[-1]
    assert topics(administered, name) == ["a", "b"]
    assert "PartitionCount: 3" in administered.tool(TOPICS, "--describe", "--topic", f"{name}-a")
    assert apply(administered, state, "--yes") == 0
    assert "nothing to do" in capsys.readouterr().out
    statement = "SELECT kind, outcome, job, source, plan_id FROM admin_outcomes ORDER BY finished_at, resource_name"
    with duckdb_engine.opened(Path(warehouse), {"admin_outcomes"}) as ask:
        rows = [tuple(row.values()) for batch in ask(statement).batches for row in batch.to_pylist()]
    assert [row[:3] for row in rows] == [(one["action"], "done", "apply") for one in planned]
    assert {row[4] for row in rows} == {plan_id}
    assert rows[0][3] == f"{state}:4"
    (event,) = [json.loads(line) for line in log.read_text().splitlines() if "run_finished" in line]
    assert (event["plan_id"], event["actions"], event["done"]) == (plan_id, 4, 4)
    assert (event["status"], event["failures"], event["unknown"], event["dry_run"]) == ("complete", 0, 0, False)
    assert event["run_id"]


def test_another_plan_is_not_carried_out(administered: Administered, state: Path, name: str, capsys: Output) -> None:
    """The cluster changed after the plan was shown: exit 1, the new plan is shown, and nothing is sent."""
    assert apply(administered, state, "--dry-run", "--json") == 0
    plan_id = json.loads(capsys.readouterr().out.splitlines()[0])["plan_id"]
    create_topics(administered.bootstrap_servers, [NewTopic(f"{name}-b", 1, 1)])
    assert apply(administered, state, "--plan", plan_id, "--yes", "--allow-deletions") == 1
    shown = capsys.readouterr()
    assert f"+ topic {name}-a" in shown.out
    assert f"+ topic {name}-b" not in shown.out
    assert f"and not {plan_id}" in shown.err
    assert topics(administered, name) == ["b", "old"]


def test_faults_are_known_before_anything_is_sent(
    administered: Administered, state: Path, name: str, capsys: Output
) -> None:
    """Exit 2 for a missing guard, for a file of another cluster, and for all faults of arguments, settings and file."""
    assert apply(administered, state, "--yes") == 2
    assert f"delete topic {name}-old needs --allow-deletions" in capsys.readouterr().err
    other = state.with_name("other.toml")
    other.write_text(state.read_text().replace('cluster_id = "', 'cluster_id = "x'))
    assert apply(administered, other, "--yes", "--allow-deletions") == 2
    assert "other.toml:1" in capsys.readouterr().err
    other.write_text("frobnicate = 1\n")
    assert main(["apply", str(other), "--set", "kafka.frobnicate=1"]) == 2
    error = capsys.readouterr().err
    assert "other.toml:1" in error
    assert "kafka.frobnicate" in error
    assert "give --yes" in error
    assert topics(administered, name) == ["old"]


def test_failures_are_reported_per_resource(administered: Administered, state: Path, name: str, capsys: Output) -> None:
    """Permitted actions are done, others are named, and nothing is deleted after a failure: exit 3."""
    rules = [
        allow(ResourceType.TOPIC, f"{name}-a", AclOperation.CREATE),
        *(allow(ResourceType.TOPIC, f"{name}-{one}", AclOperation.DESCRIBE) for one in "ab"),
        *(allow(ResourceType.TOPIC, f"{name}-{one}", AclOperation.DESCRIBE_CONFIGS) for one in ("a", "old")),
        allow(ResourceType.TOPIC, f"{name}-old", AclOperation.DELETE),
        allow(ResourceType.BROKER, "kafka-cluster", AclOperation.DESCRIBE),
    ]
    with every_broker.acls_in_effect(administered.bootstrap_servers, rules):
        assert apply(administered, state, "--yes", "--allow-deletions", user=LIMITED) == 3
    error = capsys.readouterr().err
    assert f"topic {name}-b: failed: " in error
    assert "AUTHORIZATION_FAILED" in error
    assert topics(administered, name) == ["a", "old"]


@pytest.mark.parametrize("command", ["plan", "apply --dry-run", "apply --yes"])
def test_a_password_that_is_not_there(
    administered: Administered, state: Path, name: str, command: str, capsys: Output, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An unset variable is a fault of the file, with its line, before any topic of the file is created."""
    monkeypatch.delenv("LAGOON_UNSET", raising=False)
    user = f'[scram_users.{name}.SCRAM-SHA-256]\npassword = "env:LAGOON_UNSET"\n'
    state.write_text(state.read_text() + user)
    verb, *options = command.split()
    assert main([verb, str(state), *administered.arguments(), *options]) == 2
    said = capsys.readouterr().err
    assert re.search(
        r"state\.toml:\d+: set .* password: env:LAGOON_UNSET: this environment variable is not set", said
    ), said
    assert f"{name}-a" not in administered.admin.list_topics(timeout=30).topics
