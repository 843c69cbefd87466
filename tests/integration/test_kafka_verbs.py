"""The output of `lagoon kafka` agrees with Kafka's own command-line tools about the same cluster."""

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from kafka_lagoon.cli.main import run
from kafka_lagoon.sandbox.kafka import LocalKafka
from kafka_lagoon.tables.cluster_rows import BrokerApiRow, BrokerFeatureRow, ConfigRow, QuorumStateRow, StoredReplicaRow
from tests.clock import CLOCK
from tests.effort import first
from tests.integration import kafka_tools as tools
from tests.integration.every_broker import wait_until
from tests.integration.releases import NEWEST, OLDER, OLDEST, Release, of_kind
from tests.integration.state import commit, create_topics, every_shape, produce
from tests.integration.test_against_kafka_tools import snapshot_of

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(300)]
TOPIC = "verbs"

_RENAMED = {"AlterIsr": "AlterPartition", "ListClientMetricsResources": "ListConfigResources"}


@pytest.fixture(scope="module", params=first([NEWEST, OLDER, OLDEST]))
def release(request: pytest.FixtureRequest) -> Release:
    """Every release, with a topic of the tests; pytest may return to a release."""
    fixture = {NEWEST: "kafka", OLDER: "kafka_392", OLDEST: "kafka_282"}[request.param]
    kafka: LocalKafka = request.getfixturevalue(fixture)
    if TOPIC not in AdminClient({"bootstrap.servers": kafka.bootstrap_servers}).list_topics(timeout=30).topics:
        create_topics(kafka.bootstrap_servers, [NewTopic(TOPIC, 3, 1, config={"retention.ms": "-1"})])
        produce(kafka.bootstrap_servers, TOPIC)
    return Release(request.param, kafka)


def only(*releases: str) -> pytest.MarkDecorator:
    older = [pytest.param(release, marks=pytest.mark.proof) for release in releases if release != NEWEST]
    return pytest.mark.parametrize("release", [NEWEST] * (NEWEST in releases) + older, indirect=True)


def test_versions(release: Release, capsys: pytest.CaptureFixture[str]) -> None:
    """Every API and range of every broker is equal, and the broker's release is found."""
    rows = release.shown(capsys, "versions")
    ours = {
        (broker_id, one["api"], one["api_key"], one["lowest"], one["highest"])
        for one in of_kind(rows, "api")
        for broker_id in one["broker_ids"]
    }
    printed = set(_api_versions(release.printed(tools.API_VERSIONS)))
    assert ours == printed
    stored = snapshot_of(release.kafka).of(BrokerApiRow)
    assert {(one.broker_id, one.api, one.api_key, one.lowest, one.highest) for one in stored} == printed
    assert {one["release"] for one in of_kind(rows, "broker")} == {release.name[:3]}


def _api_versions(printed: str) -> Iterator[tuple[int, str, int, int, int]]:
    """Return the tool's list of APIs, by their current names."""
    broker_id = -1
    for line in printed.splitlines():
        if match := re.search(r"\(id: (\d+) ", line):
            broker_id = int(match[1])
        elif match := re.match(r"\s*(\w+)\((\d+)\): (\d+)(?: to (\d+))? \[usable", line):
            yield broker_id, _RENAMED.get(match[1], match[1]), int(match[2]), int(match[3]), int(match[4] or match[3])


def test_log_dirs(release: Release, capsys: pytest.CaptureFixture[str]) -> None:
    """Directories of every broker, and the sizes of every replica of a topic, are equal."""
    rows = release.shown(capsys, "log-dirs", "--topic", TOPIC)
    printed = release.printed(tools.LOG_DIRS, "--describe", "--topic-list", TOPIC)
    description = json.loads(printed[printed.index("{") :])
    replicas = {
        (
            broker["broker"],
            one["logDir"],
            replica["partition"],
            replica["size"],
            replica["offsetLag"],
            replica["isFuture"],
        )
        for broker in description["brokers"]
        for one in broker["logDirs"]
        for replica in one["partitions"]
    }
    assert len(replicas) == 3
    assert replicas == {
        (
            one["broker_id"],
            one["log_dir"],
            f"{TOPIC}-{one['partition']}",
            one["size_bytes"],
            one["offset_lag"],
            one["is_future"],
        )
        for one in of_kind(rows, "replica")
    }
    assert replicas == {
        (
            one.broker_id,
            one.log_dir,
            f"{TOPIC}-{one.partition}",
            one.size_bytes,
            one.offset_lag,
            one.is_future,
        )
        for one in snapshot_of(release.kafka).of(StoredReplicaRow)
        if one.topic == TOPIC
    }
    assert {(one["broker_id"], one["log_dir"]) for one in of_kind(rows, "log_dir")} == {
        (broker["broker"], one["logDir"]) for broker in description["brokers"] for one in broker["logDirs"]
    }


@only(NEWEST)
def test_a_topic_without_a_log_dir(release: Release, capsys: pytest.CaptureFixture[str]) -> None:
    """A named topic that does not exist is a failure, not an empty list."""
    assert (
        run(["kafka", "log-dirs", "-b", release.bootstrap_servers, "--topic", f"{TOPIC},no-such-topic"], {}, CLOCK) == 3
    )
    output = capsys.readouterr()
    assert "topic no-such-topic: DescribeLogDirs: NOT_LISTED" in output.err
    assert f"topic {TOPIC}:" not in output.err


@only(OLDEST)
def test_state_of_the_oldest_release(release: Release, capsys: pytest.CaptureFixture[str]) -> None:
    """Topics, groups, members, lag and end offsets of brokers with ZooKeeper are shown, and missing values reported."""
    with every_shape(release.bootstrap_servers, 1, with_new_protocol=False, prefix="verbs-"):
        partitions = of_kind(release.shown(capsys, "metadata"), "partition")
        assert {
            (one["topic"], one["partition"]): (one["leader_id"], tuple(one["replicas"]), tuple(one["isr"]))
            for one in partitions
        } == {partition: (one.leader_id, one.replicas, one.isr) for partition, one in tools.topics(release).items()}
        described = release.shown(capsys, "describe-group")
        assert {
            one["group_id"]: (one["coordinator_id"], one["protocol"] or "", one["state"], one["members"])
            for one in of_kind(described, "group")
        } == tools.group_states(release)
        assert {
            (
                one["group_id"],
                one["member_id"],
                one["client_host"],
                one["client_id"],
                sum(len(some["partitions"]) for some in one["assignment"]),
            )
            for one in of_kind(described, "member")
        } == tools.group_members(release)
        assert _lag(release, capsys) == tools.group_offsets(release)


@only(OLDEST)
def test_offsets_of_the_oldest_release(release: Release, capsys: pytest.CaptureFixture[str]) -> None:
    """End offsets are shown; a line names the kinds that those brokers do not offer, which is no failure."""
    assert run(["kafka", "offsets", "-b", release.bootstrap_servers, "--topic", TOPIC, "--json"], {}, CLOCK) == 0
    output = capsys.readouterr()
    assert output.err.startswith("lagoon: brokers are too old to return the largest timestamp (Kafka 3.0)")
    rows = [json.loads(line) for line in output.out.splitlines()]
    where = ("--broker-list", release.bootstrap_servers, "--topic", TOPIC)
    printed = release.tool(tools.GET_OFFSETS, *where, "--time", "-1").split()
    assert {f"{TOPIC}:{one['partition']}:{one['high_watermark']}" for one in rows} == set(printed)
    assert {one["max_timestamp_offset"] for one in rows} == {None}


def _lag(release: Release, capsys: pytest.CaptureFixture[str]) -> set[tools.GroupOffset]:
    return {
        tools.GroupOffset(
            one["group_id"],
            one["topic"],
            one["partition"],
            one["committed_offset"],
            one["high_watermark"],
            one["lag"],
            one["member_id"],
            one["client_host"],
            one["client_id"],
        )
        for one in of_kind(release.shown(capsys, "lag"), "lag")
    }


@only(OLDER)
def test_offsets_at_a_time(release: Release, capsys: pytest.CaptureFixture[str]) -> None:
    """The first record at or after a time is the same as with kafka-get-offsets."""
    (newest, *_) = sorted(
        (row for row in release.shown(capsys, "offsets", "--topic", TOPIC)), key=lambda row: -row["max_timestamp_ms"]
    )
    time_ms = newest["max_timestamp_ms"] - 1
    ours = release.shown(capsys, "offsets", "--topic", TOPIC, "--at", str(time_ms))
    printed = release.printed(tools.GET_OFFSETS, "--topic-partitions", TOPIC, "--time", str(time_ms))
    lines = [line.split(":") for line in printed.splitlines()]
    assert {one["partition"]: one["offset"] for one in ours} == {
        int(partition): int(offset) if offset else None for _, partition, offset in lines
    }


@only(NEWEST)
def test_transactions(release: Release, capsys: pytest.CaptureFixture[str]) -> None:
    """Open transactions are shown with times, by id and by partition."""
    command, transactional_id = "org.apache.kafka.tools.TransactionsCommand", f"verbs-{release.name}"
    with _open_transaction(release, transactional_id):
        (listed,) = (
            one for one in release.shown(capsys, "transactions") if one["transactional_id"] == transactional_id
        )
        lines = [line.split() for line in release.printed(command, "list").splitlines()]
        assert [
            listed["transactional_id"],
            str(listed["coordinator_id"]),
            str(listed["producer_id"]),
            listed["state"],
        ] in lines
        (described,) = release.shown(capsys, "transactions", transactional_id)
        printed = release.printed(command, "describe", "--transactional-id", transactional_id)
        words = printed.splitlines()[1].split()
        assert words[:7] == [
            str(described["coordinator_id"]),
            transactional_id,
            str(described["producer_id"]),
            str(described["producer_epoch"]),
            described["state"],
            str(described["timeout_ms"]),
            str(described["started_at_ms"]),
        ]
        assert described["partitions"] == [{"topic": TOPIC, "topic_id": None, "partitions": [1]}]
        assert words[8] == f"{TOPIC}-1"
        (producer,) = release.shown(capsys, "transactions", "--topic", TOPIC, "--open")
        printed = release.printed(command, "describe-producers", "--topic", TOPIC, "--partition", "1")
        assert [str(producer["producer_id"]), str(producer["producer_epoch"]), str(producer["open_since_offset"])] in [
            [words[0], words[1], words[5]] for line in printed.splitlines() if (words := line.split())
        ]


@contextmanager
def _open_transaction(release: Release, transactional_id: str) -> Iterator[None]:
    producer = Producer(
        {"bootstrap.servers": release.bootstrap_servers, "transactional.id": transactional_id, "log_level": 0}
    )
    producer.init_transactions(60)
    producer.begin_transaction()
    producer.produce(TOPIC, b"pending", partition=1)
    assert producer.flush(30) == 0
    try:
        yield
    finally:
        producer.abort_transaction(30)


@only(NEWEST)
def test_configs(release: Release, capsys: pytest.CaptureFixture[str]) -> None:
    """Configs of the topic equal those of kafka-configs; a broker's own configs are returned by itself."""
    rows = release.shown(capsys, "configs", "topic", TOPIC)
    printed = release.printed(tools.CONFIGS, "--describe", "--entity-type", "topics", "--entity-name", TOPIC)
    assert {one["name"]: one["value"] for one in rows if one["source"] == "TOPIC_CONFIG"} == dict(
        re.findall(r"^  (\S+)=(\S*) sensitive=", printed, re.MULTILINE)
    )
    stored = [one for one in snapshot_of(release.kafka).of(ConfigRow) if one.resource_type == "topic"]
    assert {(one.name, one.value) for one in stored if one.resource_name == TOPIC and one.source == "TOPIC_CONFIG"} == {
        ("retention.ms", "-1")
    }
    brokers = release.shown(capsys, "configs", "broker", "--all")
    assert {one["value"] for one in brokers if one["name"] == "node.id"} == {"1", "2", "3"}


@pytest.mark.parametrize(
    ("release", "kind", "entity_type", "setting"),
    [
        (NEWEST, "group", "groups", "consumer.session.timeout.ms=50000"),
        pytest.param(OLDER, "client-metrics", "client-metrics", "interval.ms=60000", marks=pytest.mark.proof),
    ],
    indirect=["release"],
)
def test_configs_of_resources_that_are_not_named(
    release: Release, kind: str, entity_type: str, setting: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Groups and client metrics with configs of their own are found, if brokers list them."""
    entity = ("--entity-type", entity_type, "--entity-name", "verbs")
    release.printed(tools.CONFIGS, "--alter", *entity, "--add-config", setting)
    wait_until(lambda: bool(release.shown(capsys, "configs", kind)), f"no broker has learnt {setting}")
    rows = release.shown(capsys, "configs", kind)
    assert ("verbs", setting) in {(one["resource_name"], f"{one['name']}={one['value']}") for one in rows}
    assert {one["resource_name"] for one in rows} == {"verbs"}
    stored = {
        (one.resource_name, f"{one.name}={one.value}")
        for one in snapshot_of(release.kafka).of(ConfigRow)
        if one.resource_type == kind and one.source in ("GROUP_CONFIG", "CLIENT_METRICS_CONFIG")
    }
    assert stored == {("verbs", setting)}


@only(NEWEST)
def test_quorum(release: Release, capsys: pytest.CaptureFixture[str]) -> None:
    """The leader and the role of each replica are equal."""
    rows = release.shown(capsys, "quorum")
    command = "org.apache.kafka.tools.MetadataQuorumCommand"
    (quorum,) = of_kind(rows, "quorum")
    lines = [line.split() for line in release.printed(command, "describe", "--replication").splitlines()[1:] if line]
    assert {(one["replica_id"], one["role"]) for one in of_kind(rows, "replica")} == {
        (int(line[0]), {"Leader": "leader", "Follower": "voter", "Observer": "observer"}[line[-1]]) for line in lines
    }
    assert [quorum["leader_id"]] == [int(line[0]) for line in lines if line[-1] == "Leader"]
    stored = snapshot_of(release.kafka).of(QuorumStateRow)
    roles = {"leader": "Leader", "voter": "Follower", "observer": "Observer"}
    assert {(str(one.replica_id), one.directory_id, roles[one.role]) for one in stored} == {
        (line[0], line[1] if line[1] != "A" * 22 else None, line[-1]) for line in lines
    }
    assert {(one.leader_id, one.leader_epoch) for one in stored} == {(quorum["leader_id"], quorum["leader_epoch"])}


@only(NEWEST)
def test_features(release: Release) -> None:
    """Every feature has the levels of each broker and the finalized level."""
    command = "org.apache.kafka.tools.FeatureCommand"
    printed = {
        (name, *(int(level) if level.isdecimal() else level for level in levels))
        for name, *levels in re.findall(
            r"Feature: (\S+)\s+SupportedMinVersion: (\S+)\s+SupportedMaxVersion: (\S+)\s+FinalizedVersionLevel: (\S+)",
            release.printed(command, "describe"),
        )
    }
    rows = snapshot_of(release.kafka).of(BrokerFeatureRow)
    named = {one for one in printed if one[0] == "metadata.version"}  # the tool prints their levels by name
    assert len(named) == 1
    levels = {(one.feature, one.lowest, one.highest, one.finalized or 0) for one in rows}
    assert {one for one in levels if one[0] != "metadata.version"} == printed - named
    assert {one.broker_id for one in rows if one.feature == "metadata.version" and one.finalized} == {1, 2, 3}


@only(OLDEST)
def test_what_the_oldest_release_lacks(release: Release, capsys: pytest.CaptureFixture[str]) -> None:
    """There is no quorum with ZooKeeper, and no list of transactions: one line each, and exit 3."""
    for verb, api in (("quorum", "DescribeQuorum"), ("transactions", "ListTransactions")):
        capsys.readouterr()
        assert run(["kafka", verb, "-b", release.bootstrap_servers, "--json"], {}, CLOCK) == 3
        output = capsys.readouterr()
        assert output.out == ""
        assert f"{api}" in output.err
        assert "UNSUPPORTED_VERSION" in output.err


@only(NEWEST)
def test_a_pipe_that_is_closed_ends_a_verb_quietly(release: Release) -> None:
    """`| head -1` in a real shell: one line, no traceback, and the exit code of tools with a closed pipe."""
    verb = f"{sys.executable} -m kafka_lagoon kafka metadata -b {release.bootstrap_servers}"
    done = subprocess.run(
        ["bash", "-c", f"{verb} --json | head -1; echo ${{PIPESTATUS[0]}}; {verb} --topic {TOPIC} | tail -1"],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    first, code, last = done.stdout.splitlines()
    assert json.loads(first)["kind"] == "cluster"
    assert code in ("141", "0")  # 0 if everything was written before head had read its line
    assert last.startswith(f"{TOPIC}          2")
    assert done.stderr == ""


@pytest.fixture
def night(release: Release) -> Iterator[dict[int, tuple[int, int]]]:
    """A group that read nothing of partition 0, one record of 1, and all of 2; returns its first unread offsets and timestamps."""
    settings = {"bootstrap.servers": release.bootstrap_servers, "group.id": "night", "log_level": 0}
    reader = Consumer({**settings, "enable.auto.commit": False})  # it would commit that these records are read
    try:
        ends = {number: reader.get_watermark_offsets(TopicPartition(TOPIC, number), 30)[1] for number in range(3)}
        commits = {(TOPIC, 0): 0, (TOPIC, 1): 1, (TOPIC, 2): ends[2]}
        commit(release.bootstrap_servers, "night", commits)
        unread = {}
        for number in (0, 1):
            reader.assign([TopicPartition(TOPIC, number, commits[TOPIC, number])])
            message = reader.poll(30)
            assert message is not None
            unread[number] = (message.offset(), message.timestamp()[1])
        yield unread
    finally:
        reader.close()


@only(NEWEST)
def test_what_is_typed_at_night(
    release: Release, night: dict[int, tuple[int, int]], capsys: pytest.CaptureFixture[str]
) -> None:
    """Rows equal those of kafka-consumer-groups, ordered and limited by lag; ages are those of the records."""
    theirs = {one.partition: one.lag for one in tools.group_offsets(release) if one.group_id == "night"}
    rows = of_kind(
        release.shown(capsys, "lag", "--pattern", "nig.*", "--topic", TOPIC, "--sort", "lag", "--time"), "lag"
    )
    assert [(one["partition"], one["lag"]) for one in rows] == sorted(
        theirs.items(), key=lambda item: (-item[1], item[0])
    )
    unread = {one["partition"]: (one["first_unread_offset"], one["first_unread_timestamp_ms"]) for one in rows}
    assert unread == {**night, 2: (None, None)}
    assert {one["partition"]: one["time_lag_ms"] == 0 for one in rows} == {0: False, 1: False, 2: True}
    most = max(theirs.values())
    before = ["--bootstrap-server", release.bootstrap_servers]
    assert run(["kafka", *before, "lag", "night", "--fail-above", f"lag={most}"], {}, CLOCK) == 0
    assert run(["kafka", *before, "lag", "night", "--watch", "1", "--fail-above", f"lag={most - 1}"], {}, CLOCK) == 3
    assert f"lag above {most - 1}: " in capsys.readouterr().err


@only(NEWEST)
def test_other_names_of_verbs(release: Release, capsys: pytest.CaptureFixture[str]) -> None:
    """`topics` lists the same as kafka-topics, `consume` prints the same as fetch."""
    names = {one["topic"] for one in release.shown(capsys, "topics")}
    assert names == set(release.printed(tools.TOPICS, "--list").split())
    assert release.shown(capsys, "consume", TOPIC, "-n", "2") == release.shown(capsys, "fetch", TOPIC, "-n", "2")
