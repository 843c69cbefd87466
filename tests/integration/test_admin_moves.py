"""Leaders, replicas, voters and features, altered by `lagoon admin` and read back with Kafka's own tools."""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from confluent_kafka import Producer

from kafka_lagoon.cli.main import main
from kafka_lagoon.protocol import acls
from kafka_lagoon.sandbox.kafka import LocalKafka
from tests.integration.administered import Administered
from tests.integration.altering import Hand
from tests.integration.every_broker import wait_until
from tests.integration.kafka_tools import CONFIGS, LOG_DIRS, TOPICS
from tests.integration.secured import LIMITED
from tests.integration.test_admin_permissions import granted
from tests.permissions import REQUIRED_PERMISSIONS

REASSIGN = "org.apache.kafka.tools.reassign.ReassignPartitionsCommand"
QUORUM = "org.apache.kafka.tools.MetadataQuorumCommand"
FEATURES = "org.apache.kafka.tools.FeatureCommand"
CLUSTER = {acls.CLUSTER: acls.CLUSTER_NAME}
ABSENT = (("moved-2", 8), ("moved-2", 9), ("moved-1", 9))
SLOW = "leader.replication.throttled.rate=1,follower.replication.throttled.rate=1"
THROTTLED = "leader.replication.throttled.replicas=*,follower.replication.throttled.replicas=*"


@pytest.fixture
def hand(administered: Administered, capsys: pytest.CaptureFixture[str]) -> Hand:
    """Runs verbs."""
    return Hand(administered, capsys)


def described(administered: Administered, topic: str, field: str) -> list[str]:
    """Return a field of every partition, as kafka-topics shows it."""
    return re.findall(rf"{field}: (\S+)", administered.tool(TOPICS, "--describe", "--topic", topic))


def fill(administered: Administered, topic: str, partition: int) -> None:
    """Write more than a replica fetches at once, so that a throttled replica stays behind."""
    producer = Producer({"bootstrap.servers": administered.bootstrap_servers, "message.max.bytes": 2_000_000})
    for _ in range(40):
        producer.produce(topic, value=b"v" * 100_000, partition=partition)
    assert producer.flush(30) == 0


@contextmanager
def slow_copies(administered: Administered, *topics: str) -> Iterator[None]:
    """Throttle replicas that are not in sync."""
    brokers = [("--entity-type", "brokers", "--entity-name", str(one)) for one in administered.kafka.node_ids]
    for entity in brokers:
        administered.tool(CONFIGS, "--alter", *entity, "--add-config", SLOW)
    for topic in topics:
        entity = ("--entity-type", "topics", "--entity-name", topic)
        administered.tool(CONFIGS, "--alter", *entity, "--add-config", THROTTLED)
    try:
        yield
    finally:
        for entity in brokers:
            administered.tool(CONFIGS, "--alter", *entity, "--delete-config", re.sub("=[^,]+", "", SLOW))


@contextmanager
def every_broker_back(kafka: LocalKafka) -> Iterator[None]:
    """Start brokers again that are down at the end, before tools connect to them."""
    try:
        yield
    finally:
        for node_id in kafka.node_ids:
            if kafka.pid(node_id) is None:
                kafka.start(node_id)


@pytest.mark.proof
def test_elections_and_a_broker_that_is_gone(administered: Administered, hand: Hand) -> None:
    """Without its preferred leader a partition has the next replica as leader, or an out-of-sync one after an unclean
    election. The broker that is down can be forgotten; once it is back, it leads again after an election.
    """
    hand.done("create-topic", "led", "--assignment", "0=3,1", "--config", "min.insync.replicas=1")
    hand.done("create-topic", "torn", "--assignment", "0=3,2", "--config", "min.insync.replicas=1")
    hand.done("create-topic", "lost", "--assignment", "0=3")
    kafka = administered.kafka
    with slow_copies(administered, "torn"), every_broker_back(kafka):
        kafka.stop(2)
        wait_until(lambda: described(administered, "torn", "Isr") == ["3"])
        fill(administered, "torn", 0)
        kafka.start(2)
        running = hand.run("unregister-broker", "3", "--allow-deletions")
        assert (running.code, "BROKER_IS_RUNNING" in running.beside) == (1, True)
        kafka.kill(3)
        wait_until(lambda: described(administered, "torn", "Leader") == ["none"])
        _elect_without_broker_3(administered, hand)

        assert hand.run("unregister-broker", "3").code == 2
        forget = ("unregister-broker", "3", "--allow-deletions")
        denied = hand.run(*forget, user=LIMITED)
        assert (denied.code, "CLUSTER_AUTHORIZATION_FAILED" in denied.beside) == (1, True)
        with granted(administered, REQUIRED_PERMISSIONS["admin unregister-broker"].permissions):
            hand.done(*forget, user=LIMITED)
        again = hand.run(*forget)
        assert (again.code, "it is not registered" in again.beside) == (1, True)

    wait_until(lambda: set(described(administered, "led", "Isr")[0].split(",")) == {"1", "3"})
    hand.done("elect-leaders", "led:0")
    wait_until(lambda: described(administered, "led", "Leader") == ["3"])
    hand.has_nothing_to_do("elect-leaders", "led")
    hand.done("elect-leaders")


def _elect_without_broker_3(administered: Administered, hand: Hand) -> None:
    assert described(administered, "led", "Leader") == ["1"]
    preferred = hand.run("elect-leaders", "led")
    assert (preferred.code, "PREFERRED_LEADER_NOT_AVAILABLE" in preferred.beside) == (1, True)
    refused = hand.run("elect-leaders", "torn", "--unclean")
    assert (refused.code, "--allow-unclean-elections" in refused.beside) == (2, True)
    unclean = ("--unclean", "--allow-unclean-elections")
    dead = hand.run("elect-leaders", "torn", "lost", *unclean)
    assert (dead.code, "ELIGIBLE_LEADERS_NOT_AVAILABLE" in dead.beside) == (3, True)
    wait_until(lambda: described(administered, "torn", "Leader") == ["2"])
    hand.has_nothing_to_do("elect-leaders", "torn", *unclean)


def test_reassignments(administered: Administered, hand: Hand, tmp_path: Path) -> None:
    """Partitions move to the given brokers, also from a file; a throttled move is visible, and can be cancelled."""
    hand.done("create-topic", "moved", "--assignment", "0=1,2", "--assignment", "1=2,3", "--assignment", "2=3,1")
    hand.done("reassign", "moved:0=3,1")
    wait_until(lambda: described(administered, "moved", "Replicas")[0] == "3,1")
    moves = {"version": 1, "partitions": [{"topic": "moved", "partition": 1, "replicas": [3, 2]}]}
    (tmp_path / "moves.json").write_text(json.dumps(moves))
    hand.done("reassign", "--file", str(tmp_path / "moves.json"))
    verify = ("--verify", "--reassignment-json-file", str(tmp_path / "moves.json"))
    wait_until(lambda: "Reassignment of partition moved-1 is completed." in administered.tool(REASSIGN, *verify))
    hand.has_nothing_to_do("reassign", "moved:0=3,1", "moved:1=3,2")
    for options in ((), ("--dry-run",)):
        absent = hand.run("reassign", "moved:2=3,9,8", "moved:1=9", *options)
        lines = [f"lagoon: {place}: there is no broker {one} (there are 1, 2, 3)" for place, one in ABSENT]
        assert (absent.code, absent.beside.splitlines()[-len(lines) :]) == (2, lines)
    hand.has_nothing_to_do("cancel-reassignment", "moved")

    fill(administered, "moved", 2)
    with slow_copies(administered, "moved"):
        hand.done("reassign", "moved:2=2,3")
        wait_until(lambda: "moved-2: replicas: 2,3,1. adding: 2. removing: 1" in administered.tool(REASSIGN, "--list"))
        assert main(["kafka", "reassignments", "--json", *administered.arguments()]) == 0
        assert '"replicas": [2, 3, 1], "adding_replicas": [2], "removing_replicas": [1]' in hand.capsys.readouterr().out
        assert (
            administered.tool(TOPICS, "--describe", "--under-replicated-partitions", "--topic", "moved").strip() == ""
        )
        under = ("--topic", "moved", "--fail", "under_replicated")
        assert main(["kafka", "health", *under, *administered.arguments()]) == 0
        with granted(administered, REQUIRED_PERMISSIONS["kafka health"].permissions, {acls.TOPIC: "moved"}):
            assert main(["kafka", "health", *under, *administered.arguments(LIMITED)]) == 3
            assert "replicas that a reassignment adds count, too" in hand.capsys.readouterr().err
        hand.done("reassign", "moved:2=2,1")
        wait_until(lambda: "moved-2: replicas: 2,1,3. adding: 2. removing: 3." in administered.tool(REASSIGN, "--list"))
        hand.done("reassign", "moved:2=3,1,2")
        listed = administered.tool(REASSIGN, "--list")
        assert ("moved-2: replicas: 3,1,2. adding: 2." in listed, "removing" in listed) == (True, False)
        back = {"version": 1, "partitions": [{"topic": "moved", "partition": 2, "replicas": [1, 3]}]}
        (tmp_path / "back.json").write_text(json.dumps(back))
        execute = ("--execute", "--additional", "--reassignment-json-file", str(tmp_path / "back.json"))
        administered.tool(REASSIGN, *execute)
        both = "moved-2: replicas: 1,3,2. adding: 2. removing: 2."  # KRaft forgets that 2 was added only when the move ends
        wait_until(lambda: both in administered.tool(REASSIGN, "--list"))
        permissions = REQUIRED_PERMISSIONS["admin cancel-reassignment"].permissions
        for lacking in permissions:
            with granted(
                administered, [one for one in permissions if one != lacking], {acls.TOPIC: "moved", **CLUSTER}
            ):
                assert hand.run("cancel-reassignment", "moved", user=LIMITED).code == 1
        with granted(administered, permissions, {acls.TOPIC: "moved", **CLUSTER}):
            hand.done("cancel-reassignment", user=LIMITED)
        wait_until(lambda: "moved-2" not in administered.tool(REASSIGN, "--list"))
        assert set(described(administered, "moved", "Replicas")[2].split(",")) == {"1", "3"}


def test_log_dirs(administered: Administered, hand: Hand) -> None:
    """A replica is copied to the other directory of its broker, as kafka-log-dirs shows."""
    hand.done("create-topic", "stored", "--assignment", "0=2", "--assignment", "1=1")
    (before,) = _directories(administered, "stored", 0)
    (other,) = {str(folder) for folder in administered.kafka.data_folders(2)} - {before}
    hand.done("move-replica", "stored", "--broker", "2", "--to", other)
    wait_until(lambda: _directories(administered, "stored", 0) == {other})
    hand.has_nothing_to_do("move-replica", "stored:0", "--broker", "2", "--to", other)
    elsewhere = hand.run("move-replica", "stored:1", "--broker", "2", "--to", other)
    assert (elsewhere.code, "stored-1 on broker 2: DescribeLogDirs" in elsewhere.beside) == (1, True)
    unknown = hand.run("move-replica", "stored", "--broker", "2", "--to", "/no/such/directory")
    assert (unknown.code, "LOG_DIR_NOT_FOUND" in unknown.beside) == (1, True)
    # Brokers take a directory only as they name it; they cannot validate a move, so the dry run compares the names.
    validated = hand.run("move-replica", "stored:0", "--broker", "2", "--to", f"{before}/", confirm="--dry-run")
    assert (validated.code, "LOG_DIR_NOT_FOUND (it has /" in validated.beside) == (1, True)


def _directories(administered: Administered, topic: str, partition: int) -> set[str]:
    """Return the directories of a replica on broker 2 by kafka-log-dirs: both while the broker moves it."""
    printed = administered.tool(LOG_DIRS, "--describe", "--topic-list", topic, "--broker-list", "2")
    return {
        log_dir["logDir"]
        for broker in json.loads(printed[printed.index("{") :])["brokers"]
        for log_dir in broker["logDirs"]
        for replica in log_dir["partitions"]
        if replica["partition"] == f"{topic}-{partition}" and not replica["isFuture"]
    }


def test_voters(administered: Administered, hand: Hand) -> None:
    """A controller loses its vote and gets it back; removing a non-voter and adding a voter are refused."""
    assert _voters(administered) == {1, 2, 3}
    assert hand.run("remove-voter", "3").code == 2
    hand.done("remove-voter", "3", "--allow-deletions")
    assert _voters(administered) == {1, 2}
    again = hand.run("remove-voter", "3", "--allow-deletions")
    assert (again.code, "it has no vote" in again.beside) == (1, True)
    properties = Path(administered.kafka.data_folders(3)[0]).parent.joinpath("server.properties").read_text()
    (listener,) = re.findall(r"CONTROLLER://127\.0\.0\.1:\d+", properties)
    # Once it follows as an observer again.
    wait_until(lambda: hand.run("add-voter", "3", "--listener", listener).code == 0)
    assert _voters(administered) == {1, 2, 3}
    hand.has_nothing_to_do("add-voter", "3", "--listener", listener)


def _voters(administered: Administered) -> set[int]:
    printed = administered.tool(QUORUM, "describe", "--replication")
    return {int(line.split()[0]) for line in printed.splitlines() if line.split()[-1:] in (["Leader"], ["Follower"])}


def test_features(administered: Administered, hand: Hand) -> None:
    """A level is lowered and raised again; a level that no broker supports is refused before anything is sent."""
    name = "eligible.leader.replicas.version"
    hand.done("update-feature", f"{name}=0")
    wait_until(lambda: _level(administered, name) == 0)  # a broker may learn of it later
    hand.done("update-feature", f"{name}=1")
    wait_until(lambda: _level(administered, name) == 1)
    hand.has_nothing_to_do("update-feature", f"{name}=1")
    assert hand.run("update-feature", f"{name}=7").code == 1
    assert hand.run("update-feature", "no.such=1").code == 1
    assert hand.run("update-feature", "metadata.version=20", "--unsafe").code == 2


def _level(administered: Administered, name: str) -> int:
    printed = administered.tool(FEATURES, "describe")
    (level,) = re.findall(rf"Feature: {re.escape(name)}\s.*FinalizedVersionLevel: (\d+)", printed)
    return int(level)
