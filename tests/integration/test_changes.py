"""Changes by Kafka's own tools between two snapshots: view topology_changes lists each of them, and no others."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from kafka_lagoon.clock import Deadline
from kafka_lagoon.sandbox.kafka import DEFAULT_VERSION, LocalKafka
from kafka_lagoon.tables.cluster_rows import PartitionRow
from kafka_lagoon.tables.snapshot_rows import Snapshot
from tests.clock import CLOCK
from tests.integration import kafka_tools as tools
from tests.integration.secured import Secured
from tests.integration.state import live_member, produce
from tests.integration.test_against_kafka_tools import snapshot_of
from tests.integration.tools_in_one import ToolsInOne, ToolsOfReleases
from tests.integration.views_of import rows_of_view

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(300)]
REASSIGNMENTS = "org.apache.kafka.tools.reassign.ReassignPartitionsCommand"
ACLS = "org.apache.kafka.tools.AclCommand"
ELECTIONS = "org.apache.kafka.tools.LeaderElectionCommand"
Change = tuple[str, str, str, str | None, str | None, str | None]


@dataclass(frozen=True, slots=True)
class Operator:
    """Runs Kafka's tools."""

    kafka: LocalKafka
    tools: ToolsInOne
    folder: Path

    def run(self, main_class: str, *arguments: str) -> None:
        """Run a tool against the cluster."""
        self.tools.run(main_class, "--bootstrap-server", self.kafka.bootstrap_servers, *arguments)

    def topic(self, name: str, *arguments: str) -> None:
        """Run kafka-topics."""
        self.run(tools.TOPICS, "--topic", name, *arguments)

    def config(self, kind: str, name: str | None, *change: str) -> None:
        """Run kafka-configs for a resource, or for the default of all resources."""
        entity = ("--entity-default",) if name is None else ("--entity-name", name)
        self.run(tools.CONFIGS, "--alter", "--entity-type", kind, *entity, *change)

    def group(self, group_id: str, *arguments: str) -> None:
        """Run kafka-consumer-groups."""
        self.run(tools.CONSUMER_GROUPS, "--group", group_id, *arguments)

    def acl(self, *arguments: str) -> None:
        """Run kafka-acls for all topics of these tests."""
        self.run(ACLS, "--topic", "changes-", "--resource-pattern-type", "prefixed", *arguments)

    def file(self, content: object) -> str:
        """Write a JSON file for a tool; return its path."""
        path = self.folder / "given.json"
        path.write_text(json.dumps(content))
        return str(path)

    def reassign(self, topic: str, *replicas: int) -> None:
        """Run kafka-reassign-partitions for partition 0, and wait until it is done."""
        moved = {"topic": topic, "partition": 0, "replicas": list(replicas)}
        plan = self.file({"version": 1, "partitions": [moved]})
        self.run(REASSIGNMENTS, "--reassignment-json-file", plan, "--execute")
        deadline = Deadline.after(CLOCK, 60_000)
        while self._replicas(topic) != (replicas, set(replicas)) and deadline.pause(0.2):
            pass

    def _replicas(self, topic: str) -> tuple[tuple[int, ...], set[int]]:
        (partition,) = (row for row in snapshot_of(self.kafka).of(PartitionRow) if row.topic == topic)
        return tuple(partition.replicas or ()), set(partition.isr or ())


@pytest.fixture(scope="module")
def in_one(tools: ToolsOfReleases) -> ToolsInOne:
    """The tools of the newest release."""
    return tools.of(DEFAULT_VERSION)


@pytest.fixture
def operator(kafka: LocalKafka, in_one: ToolsInOne, tmp_path: Path) -> Iterator[Operator]:
    """Prepares a cluster to change, and reverts the changes after the test."""
    operator = Operator(kafka, in_one, tmp_path)
    _prepare(operator)
    try:
        yield operator
    finally:
        _clean_up(operator)


def _prepare(operator: Operator) -> None:
    for name in ("gone", "again", "grow", "read"):
        operator.topic(f"changes-{name}", "--create", "--partitions", "2", "--replication-factor", "1")
    operator.topic("changes-set", "--create", "--config", "retention.ms=1000000", "--config", "segment.ms=600000")
    operator.topic("changes-move", "--create", "--replica-assignment", "1:2")
    operator.topic("changes-elect", "--create", "--replica-assignment", "1:2")
    operator.reassign("changes-elect", 2, 1)
    produce(operator.kafka.bootstrap_servers, "changes-read", 100)
    for group_id in ("changes-reset", "changes-removed", "changes-live"):
        operator.group(group_id, "--topic", "changes-read", "--reset-offsets", "--to-offset", "9", "--execute")
    operator.config("users", "changes-alice", "--add-config", "consumer_byte_rate=1000")
    operator.config("clients", "changes-client", "--add-config", "producer_byte_rate=1000")
    for user in ("changes-known", "changes-over"):
        operator.config("users", user, "--add-config", "SCRAM-SHA-256=[iterations=4096,password=secret]")


CHANGES: list[Change] = [
    ("added", "topic", "changes-made", None, None, "ID"),
    ("removed", "topic", "changes-gone", None, "ID", None),
    ("recreated", "topic", "changes-again", None, "ID", "ID"),
    ("changed", "topic", "changes-grow", "partitions", "2", "4"),
    ("added", "config", "topic changes-set", "max.message.bytes", None, "2000000"),
    ("changed", "config", "topic changes-set", "retention.ms", "1000000", "2000000"),
    ("removed", "config", "topic changes-set", "segment.ms", "600000", None),
    ("added", "config", "broker 1", "message.max.bytes", None, "2000000"),
    ("added", "config", "broker <default>", "log.retention.bytes", None, "1000000000"),
    ("added", "config", "client-metrics changes-metrics", "interval.ms", None, "60000"),
    ("added", "config", "group changes-reset", "consumer.session.timeout.ms", None, "50000"),
    ("added", "quota", "user=changes-bob", "producer_byte_rate", None, "1024"),
    ("changed", "quota", "user=changes-alice", "consumer_byte_rate", "1000", "2000"),
    ("removed", "quota", "client_id=changes-client", "producer_byte_rate", "1000", None),
    ("added", "quota", "client_id=<default>", "request_percentage", None, "200"),
    ("added", "quota", "ip=127.0.0.9", "connection_creation_rate", None, "3"),
    ("added", "scram_user", "changes-new", "SCRAM-SHA-512", None, "4096"),
    ("changed", "scram_user", "changes-known", "SCRAM-SHA-256", "4096", "8192"),
    ("removed", "scram_user", "changes-over", "SCRAM-SHA-256", "4096", None),
    ("changed", "partition", "changes-move-0", "replicas", "[1, 2]", "[3, 2]"),
    ("changed", "partition", "changes-move-0", "isr", "[1, 2]", "[2, 3]"),
    ("changed", "partition", "changes-move-0", "leader_id", "1", "3"),
    ("changed", "partition", "changes-elect-0", "leader_id", "1", "2"),
    ("moved_back", "group_partition", "changes-reset changes-read-0", "committed_offset", "9", "3"),
    ("removed", "group", "changes-removed", None, None, None),
    ("added", "group", "changes-created", None, None, None),
    ("changed", "group", "changes-live", "state", "Empty", "Stable"),
    ("added", "member", "ID", None, None, "ID"),
    ("changed", "group_partition", "changes-live changes-read-0", "owner", None, "ID"),
    ("changed", "group_partition", "changes-live changes-read-1", "owner", None, "ID"),
]


def _change_topics(operator: Operator) -> None:
    operator.topic("changes-made", "--create", "--config", "retention.ms=1000000")
    operator.topic("changes-gone", "--delete")
    operator.topic("changes-again", "--delete")
    operator.topic("changes-grow", "--alter", "--partitions", "4")
    operator.config("topics", "changes-set", "--add-config", "retention.ms=2000000,max.message.bytes=2000000")
    operator.config("topics", "changes-set", "--delete-config", "segment.ms")
    operator.reassign("changes-move", 3, 2)
    elected = operator.file({"partitions": [{"topic": "changes-elect", "partition": 0}]})
    operator.run(ELECTIONS, "--election-type", "preferred", "--path-to-json-file", elected)
    operator.topic("changes-again", "--create")


def _change_configs(operator: Operator) -> None:
    operator.config("brokers", "1", "--add-config", "message.max.bytes=2000000")
    operator.config("brokers", None, "--add-config", "log.retention.bytes=1000000000")
    operator.config("client-metrics", "changes-metrics", "--add-config", "interval.ms=60000")
    operator.config("groups", "changes-reset", "--add-config", "consumer.session.timeout.ms=50000")
    operator.config("users", "changes-bob", "--add-config", "producer_byte_rate=1024")
    operator.config("users", "changes-alice", "--add-config", "consumer_byte_rate=2000")
    operator.config("clients", "changes-client", "--delete-config", "producer_byte_rate")
    operator.config("clients", None, "--add-config", "request_percentage=200")
    operator.config("ips", "127.0.0.9", "--add-config", "connection_creation_rate=3")
    operator.config("users", "changes-new", "--add-config", "SCRAM-SHA-512=[password=secret]")
    operator.config("users", "changes-known", "--add-config", "SCRAM-SHA-256=[iterations=8192,password=secret]")
    operator.config("users", "changes-over", "--delete-config", "SCRAM-SHA-256")


def _change_groups(operator: Operator) -> None:
    operator.group("changes-reset", "--topic", "changes-read:0", "--reset-offsets", "--to-offset", "3", "--execute")
    operator.group("changes-reset", "--topic", "changes-read:1", "--reset-offsets", "--to-offset", "20", "--execute")
    operator.group("changes-removed", "--delete")
    operator.group("changes-created", "--topic", "changes-read", "--reset-offsets", "--to-earliest", "--execute")


def _clean_up(operator: Operator) -> None:
    """Restore the brokers' state for the next tests."""
    operator.config("brokers", "1", "--delete-config", "message.max.bytes")
    operator.config("brokers", None, "--delete-config", "log.retention.bytes")
    operator.config("client-metrics", "changes-metrics", "--delete-config", "interval.ms")
    operator.config("groups", "changes-reset", "--delete-config", "consumer.session.timeout.ms")
    operator.config("users", "changes-bob", "--delete-config", "producer_byte_rate")
    operator.config("users", "changes-alice", "--delete-config", "consumer_byte_rate")
    operator.config("clients", None, "--delete-config", "request_percentage")
    operator.config("ips", "127.0.0.9", "--delete-config", "connection_creation_rate")
    operator.config("users", "changes-new", "--delete-config", "SCRAM-SHA-512")
    operator.config("users", "changes-known", "--delete-config", "SCRAM-SHA-256")


@pytest.mark.proof
def test_each_change_is_listed_once(operator: Operator) -> None:
    """Thirty changes have old and new values; between two equal snapshots there is none."""
    before = _snapshot_with(operator.kafka, snapshot_of(operator.kafka), 0)
    assert changes([before, snapshot_of(operator.kafka)]) == []
    _change_topics(operator)
    _change_configs(operator)
    _change_groups(operator)
    with live_member(operator.kafka.bootstrap_servers, "changes-live", "changes-read"):
        after = _snapshot_with(operator.kafka, before, len(CHANGES))
        assert changes([before, after]) == sorted(CHANGES, key=repr)
        assert changes([before, after, snapshot_of(operator.kafka)]) == sorted(CHANGES, key=repr)


@pytest.mark.proof
def test_acls(secured: Secured, in_one: ToolsInOne, tmp_path: Path) -> None:
    """An added and a removed ACL are listed, with all fields of the ACLs."""
    operator = Operator(secured.kafka, in_one, tmp_path)
    operator.acl("--add", "--allow-principal", "User:changes", "--operation", "READ")
    before = _snapshot_with(secured.kafka, snapshot_of(secured.kafka), 0)
    operator.acl("--add", "--deny-principal", "User:changes", "--operation", "WRITE", "--deny-host", "127.0.0.9")
    operator.acl("--remove", "--allow-principal", "User:changes", "--operation", "READ", "--force")
    after = _snapshot_with(secured.kafka, before, 2)
    assert changes([before, after]) == [
        ("added", "acl", "TOPIC PREFIXED changes- User:changes 127.0.0.9 WRITE DENY", None, None, None),
        ("removed", "acl", "TOPIC PREFIXED changes- User:changes * READ ALLOW", None, None, None),
    ]
    operator.acl(
        "--remove", "--deny-principal", "User:changes", "--operation", "WRITE", "--deny-host", "127.0.0.9", "--force"
    )


def _snapshot_with(kafka: LocalKafka, before: Snapshot, count: int) -> Snapshot:
    """Take a later snapshot, once every broker knows all changes."""
    deadline = Deadline.after(CLOCK, 30_000)
    after = snapshot_of(kafka)
    while len(changes([before, after])) != count and deadline.pause(1):
        after = snapshot_of(kafka)
    return after


def changes(snapshots: list[Snapshot]) -> list[Change]:
    """Return the view's rows in a fixed order, without ids, and without changes of other tests' groups."""
    rows = [
        row
        for row in rows_of_view(snapshots, "topology_changes")
        if row["group_id"] is None or row["group_id"].startswith("changes-")
    ]
    listed = [
        (row["change_type"], row["entity_type"], row["entity"], row["attribute"], row["old_value"], row["new_value"])
        for row in rows
    ]
    return sorted((_without_ids(change) for change in listed), key=repr)


def _without_ids(change: Change) -> Change:
    change_type, entity_type, entity, attribute, old, new = change
    if (entity_type in {"topic", "member"} and attribute is None) or attribute == "owner":
        old, new = old and "ID", new and "ID"
    return change_type, entity_type, "ID" if entity_type == "member" else entity, attribute, old, new
