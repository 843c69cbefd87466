"""Desired states against a real cluster, with plans, imports, and changes by Kafka's own tools.

The tests of this file go on from each other: the first one makes the cluster as the file says.
"""

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import pytest

from kafka_lagoon.apply.action import Guard
from kafka_lagoon.apply.desired.reading import read_desired
from kafka_lagoon.apply.execution import execute, make_plan
from kafka_lagoon.apply.outcomes import Outcome
from kafka_lagoon.apply.plan import PlanResult, plan_state
from kafka_lagoon.apply.recording import NoRecorder, Run
from kafka_lagoon.cli.main import main
from kafka_lagoon.kafka_settings import checked
from tests.integration.administered import Administered, soon
from tests.integration.kafka_tools import CONFIGS, TOPICS

ACLS = "org.apache.kafka.tools.AclCommand"
REASSIGN = "org.apache.kafka.tools.reassign.ReassignPartitionsCommand"

Lagoon = Callable[..., str]

OWNS = """
[owns]
topics = ["plan-.*"]
principals = ["User:plan-.*", "User:CN=plan.*"]
groups = ["plan-.*"]
quotas = ["user=plan-.*", "ip=10\\\\.1\\\\..*"]
brokers = ["1", "2", "<default>"]
client_metrics = ["plan-.*"]
"""
STATE = """
[topics.plan-orders]
partitions = 6
replication_factor = 3
configs = { "retention.ms" = 604800000, "cleanup.policy" = ["delete", "compact"], "min.insync.replicas" = 2 }
[topics.plan-placed]
assignments = [[1, 2], [2, 3], [3, 1]]
[topics."plan-with.dots_and-dashes"]
partitions = 2
replication_factor = 1
[topics.plan-gone]
partitions = 1
[topics.plan-gone-too]
partitions = 1
configs = { "max.message.bytes" = 2000000 }
[topics.plan-set]
partitions = 1
configs = { "segment.bytes" = 104857600, "retention.bytes" = 1073741824, "compression.type" = "zstd" }

[broker_configs."<default>"]
log.cleaner.threads = 2
[broker_configs.1]
"background.threads" = 11
[broker_configs.2]
background.threads = 12
[group_configs.plan-group]
consumer.session.timeout.ms = 50000
[client_metrics.plan-metrics]
metrics = "org.apache.kafka.producer."
"interval.ms" = 60000
[client_metrics.plan-metrics-gone]
interval.ms = 30000

[[acls]]
principal = "User:plan-alice"
operations = ["READ", "DESCRIBE"]
resource_type = "TOPIC"
resource_name = "plan-"
pattern_type = "PREFIXED"
[[acls]]
principal = "User:plan-alice"
operation = "READ"
resource_type = "GROUP"
resource_name = "*"
[[acls]]
permission = "DENY"
principal = "User:CN=plan bob,OU=x y"
operation = "ALTER_CONFIGS"
resource_type = "CLUSTER"
host = "10.0.0.1"

[[quotas]]
user = "plan-alice"
producer_byte_rate = 1048576
request_percentage = 12.5
[[quotas]]
user = "plan-alice"
client_id = "<default>"
consumer_byte_rate = 2097152
[[quotas]]
ip = "10.1.2.3"
connection_creation_rate = 5

[scram_users.plan-alice.SCRAM-SHA-256]
iterations = 8192
password = "env:PLAN_PASSWORD"
[scram_users.plan-alice.SCRAM-SHA-512]
iterations = 4096
password = "env:PLAN_PASSWORD"
[scram_users.plan-bob.SCRAM-SHA-512]
password = "env:PLAN_PASSWORD"
"""


def planned(administered: Administered, file: Path) -> PlanResult:
    """Return the plan of a file."""
    with administered.cluster() as cluster:
        plan = plan_state(cluster, read_desired(str(file), 0), soon())
    assert not plan.failures
    return plan


def applied(administered: Administered, plan: PlanResult) -> None:
    """Carry a plan out, all of it allowed."""
    with administered.cluster() as cluster:
        run = Run.new("apply", checked(administered.settings()), 0)
        whole = make_plan("default", plan.cluster_id, plan.actions)
        assert whole.id == plan.plan_id
        done = execute(cluster, whole, frozenset(Guard), run, NoRecorder(), soon())
    assert [(one.action, one.failure) for one in done.results if one.outcome is not Outcome.DONE] == []


@pytest.fixture
def lagoon(administered: Administered, capsys: pytest.CaptureFixture[str]) -> Lagoon:
    """Runs a command on the cluster, and returns its output."""

    def run(*argv: str, exit_code: int = 0) -> str:
        capsys.readouterr()
        code = main([*argv, "-b", administered.bootstrap_servers])
        printed = capsys.readouterr()
        assert code == exit_code, printed.err
        return printed.out

    return run


@pytest.fixture(scope="module")
def file(administered: Administered, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The desired state; its resources are removed at the end, also brokers' configs."""
    path = tmp_path_factory.mktemp("desired") / "plan.toml"
    with pytest.MonkeyPatch.context() as patch, administered.cluster() as cluster:
        patch.setenv("PLAN_PASSWORD", "s3cret-of-the-plan")
        head = f'cluster_id = "{cluster.cluster_id}"\n{OWNS}'
        path.write_text(head + STATE)
        yield path
        path.with_name("nothing.toml").write_text(head)
        applied(administered, planned(administered, path.with_name("nothing.toml")))


def test_what_is_applied_is_there(administered: Administered, file: Path, lagoon: Lagoon) -> None:
    """The first plan creates everything, the second one is empty; and Kafka's own tool shows the requested state."""
    plan = planned(administered, file)
    kinds = [action.kind for action in plan.actions]
    assert {kind: kinds.count(kind) for kind in kinds} == {
        "create_topic": 6,
        "alter_configs": 6,
        "create_acl": 4,
        "alter_quotas": 3,
        "alter_scram": 3,
    }
    applied(administered, plan)
    assert planned(administered, file).actions == []
    assert lagoon("plan", str(file), "--exit-code").startswith("nothing to do")
    described = administered.tool(TOPICS, "--describe", "--topic", "plan-orders")
    assert "PartitionCount: 6\tReplicationFactor: 3" in described
    assert "min.insync.replicas=2" in described


def test_an_import_is_planned_as_nothing(file: Path, lagoon: Lagoon, tmp_path: Path) -> None:
    """This holds in both formats, with and without replicas of each partition, and although everything is owned."""
    assert file.exists()
    texts = {}
    for form, option in (("toml", []), ("yaml", []), ("toml", ["--assignments"])):
        text = lagoon("import", "--format", form, *option)
        owns = {key: [".*"] for key in ("topics", "principals", "groups", "quotas", "brokers", "client_metrics")}
        owning = json.dumps(owns) if form == "yaml" else ""
        tables = "\n[owns]\n" + "".join(f'{name} = [".*"]\n' for name in owns)
        path = tmp_path / f"imported.{form}"
        path.write_text(f"{text}owns: {owning}\n" if form == "yaml" else f"{text}{tables}")
        assert lagoon("plan", str(path), "--exit-code").startswith("nothing to do")
        texts[form, bool(option)] = text
    assert 'background.threads" = "11"' in texts["toml", False]
    assert "assignments = [[1, 2], [2, 3], [3, 1]]" in texts["toml", True]
    assert "s3cret" not in str(texts)


CHANGES: Sequence[tuple[str, str, tuple[str, str]]] = [
    (TOPICS, "--create --topic plan-new --partitions 2 --replication-factor 2", ("delete_topic", "plan-new")),
    (TOPICS, "--create --topic plan-new.er --partitions 1", ("delete_topic", "plan-new.er")),
    (TOPICS, "--delete --topic plan-gone", ("create_topic", "plan-gone")),
    (TOPICS, "--delete --topic plan-gone-too", ("create_topic", "plan-gone-too")),
    (
        CONFIGS,
        "--entity-type topics --entity-name plan-orders --alter --add-config retention.ms=1000,flush.ms=5",
        ("alter_configs", "plan-orders"),
    ),
    (
        CONFIGS,
        "--entity-type topics --entity-name plan-set --alter --delete-config compression.type,retention.bytes",
        ("alter_configs", "plan-set"),
    ),
    (
        CONFIGS,
        "--entity-type topics --entity-name plan-with.dots_and-dashes --alter --add-config cleanup.policy=compact",
        ("alter_configs", "plan-with.dots_and-dashes"),
    ),
    (
        CONFIGS,
        "--entity-type brokers --entity-default --alter --add-config log.cleaner.threads=3",
        ("alter_configs", "<default>"),
    ),
    (
        CONFIGS,
        "--entity-type brokers --entity-name 1 --alter --add-config log.cleaner.backoff.ms=20000",
        ("alter_configs", "1"),
    ),
    (
        CONFIGS,
        "--entity-type brokers --entity-name 2 --alter --delete-config background.threads",
        ("alter_configs", "2"),
    ),
    (
        CONFIGS,
        "--entity-type groups --entity-name plan-group --alter --add-config consumer.session.timeout.ms=55000",
        ("alter_configs", "plan-group"),
    ),
    (
        CONFIGS,
        "--entity-type groups --entity-name plan-other --alter --add-config consumer.heartbeat.interval.ms=6000",
        ("alter_configs", "plan-other"),
    ),
    (
        CONFIGS,
        "--entity-type client-metrics --entity-name plan-metrics --alter --add-config interval.ms=10000",
        ("alter_configs", "plan-metrics"),
    ),
    (
        CONFIGS,
        "--entity-type client-metrics --entity-name plan-more --alter --add-config interval.ms=10000",
        ("alter_configs", "plan-more"),
    ),
    (
        CONFIGS,
        "--entity-type client-metrics --entity-name plan-metrics-gone --alter --delete-config interval.ms",
        ("alter_configs", "plan-metrics-gone"),
    ),
    (
        ACLS,
        "--add --allow-principal User:plan-eve --operation Write --topic plan-orders",
        ("delete_acl", "ALLOW User:plan-eve WRITE topic LITERAL plan-orders from *"),
    ),
    (
        ACLS,
        "--add --deny-principal User:plan-eve --operation All --group plan- --resource-pattern-type prefixed",
        ("delete_acl", "DENY User:plan-eve ALL group PREFIXED plan- from *"),
    ),
    (
        ACLS,
        "--add --allow-principal User:plan-eve --operation Describe --transactional-id t --allow-host 10.0.0.9",
        ("delete_acl", "ALLOW User:plan-eve DESCRIBE transactional_id LITERAL t from 10.0.0.9"),
    ),
    (
        ACLS,
        "--remove --force --allow-principal User:plan-alice --operation Read --group *",
        ("create_acl", "ALLOW User:plan-alice READ group LITERAL * from *"),
    ),
    (
        ACLS,
        "--remove --force --allow-principal User:plan-alice --operation Describe --topic plan- --resource-pattern-type prefixed",
        ("create_acl", "ALLOW User:plan-alice DESCRIBE topic PREFIXED plan- from *"),
    ),
    (
        CONFIGS,
        "--entity-type users --entity-name plan-alice --alter --add-config producer_byte_rate=5,consumer_byte_rate=6",
        ("alter_quotas", "user=plan-alice"),
    ),
    (
        CONFIGS,
        "--entity-type users --entity-name plan-alice --entity-type clients --entity-default --alter --delete-config consumer_byte_rate",
        ("alter_quotas", "user=plan-alice, client-id=<default>"),
    ),
    (
        CONFIGS,
        "--entity-type ips --entity-name 10.1.2.4 --alter --add-config connection_creation_rate=7",
        ("alter_quotas", "ip=10.1.2.4"),
    ),
    (
        CONFIGS,
        "--entity-type users --entity-name plan-eve --alter --add-config request_percentage=50",
        ("alter_quotas", "user=plan-eve"),
    ),
    (
        CONFIGS,
        "--entity-type users --entity-name plan-alice --alter --add-config SCRAM-SHA-256=[iterations=4096,password=x]",
        ("alter_scram", "plan-alice SCRAM-SHA-256"),
    ),
    (
        CONFIGS,
        "--entity-type users --entity-name plan-bob --alter --delete-config SCRAM-SHA-512",
        ("alter_scram", "plan-bob SCRAM-SHA-512"),
    ),
    (
        CONFIGS,
        "--entity-type users --entity-name plan-eve --alter --add-config SCRAM-SHA-512=[password=x]",
        ("delete_scram", "plan-eve SCRAM-SHA-512"),
    ),
    (REASSIGN, "[3, 2]", ("reassign_partition", "plan-placed-0")),
    (REASSIGN, "[1, 3]", ("reassign_partition", "plan-placed-2")),
    (REASSIGN, "[1]", ("reassign_partition", "plan-placed-1")),
]


def test_thirty_changes_are_the_plan(administered: Administered, file: Path, lagoon: Lagoon, tmp_path: Path) -> None:
    """The plan has exactly the actions that revert the changes of Kafka's own tools, and restores the cluster's state."""
    assert planned(administered, file).actions == []
    for tool, arguments, _ in CHANGES:
        if tool != REASSIGN:
            administered.tool(tool, *arguments.split())
    moves = {name: json.loads(brokers) for tool, brokers, (_, name) in CHANGES if tool == REASSIGN}
    _move(administered, tmp_path / "moves.json", moves)
    plan = planned(administered, file)
    assert sorted((action.kind, action.resource.name) for action in plan.actions) == sorted(
        wanted for _, _, wanted in CHANGES
    )
    orders = next(action for action in plan.actions if action.resource.name == "plan-orders")
    assert orders.before == {"retention.ms": "1000", "flush.ms": "5"}
    assert orders.after == {"retention.ms": "604800000", "flush.ms": None}
    shown = lagoon("plan", str(file))
    assert "~ topic plan-orders: alter configs" in shown
    assert "3 to add" not in shown
    # Not the id of the plan, because moves may be under way, which `before` includes.
    assert f"for cluster {plan.cluster_id}: 5 to add" in shown
    applied(administered, planned(administered, file))
    _wait_for_moves(administered)
    deadline = time.monotonic() + 30  # brokers learn of the end of a move after the controller
    while planned(administered, file).actions and time.monotonic() < deadline:
        time.sleep(0.3)
    assert planned(administered, file).actions == []


def _move(administered: Administered, path: Path, moves: Mapping[str, Sequence[int]]) -> None:
    partitions = [
        {"topic": topic, "partition": int(number), "replicas": replicas}
        for name, replicas in moves.items()
        for topic, _, number in [name.rpartition("-")]
    ]
    path.write_text(json.dumps({"version": 1, "partitions": partitions}))
    administered.tool(REASSIGN, "--reassignment-json-file", str(path), "--execute")
    _wait_for_moves(administered)


def _wait_for_moves(administered: Administered) -> None:
    deadline = soon()
    while "No partition reassignments found" not in administered.tool(REASSIGN, "--list"):
        assert deadline.pause(0.2)


@pytest.mark.parametrize("release", ["kafka_282", "kafka_392"])
def test_older_releases(
    release: str, request: pytest.FixtureRequest, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """An import omits and names what they do not offer; its plan is empty there, too."""
    kafka = request.getfixturevalue(release)
    code = main(["import", "-b", kafka.bootstrap_servers])
    printed = capsys.readouterr()
    assert code == 0, printed.err
    path = tmp_path / "imported.toml"
    path.write_text(text := printed.out)
    assert ("left out, UNSUPPORTED_VERSION" in text) is (release == "kafka_282")
    assert main(["plan", str(path), "-b", kafka.bootstrap_servers, "--exit-code"]) == 0
