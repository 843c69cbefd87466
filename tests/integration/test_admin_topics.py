"""Topics, their records and configs, altered by `lagoon admin` and read back with Kafka's own tools."""

import re
from pathlib import Path

import pytest

from tests.integration.administered import Administered
from tests.integration.altering import Hand
from tests.integration.every_broker import wait_until
from tests.integration.kafka_tools import CONFIGS, GET_OFFSETS, TOPICS
from tests.integration.state import commit, produce


@pytest.fixture
def hand(administered: Administered, capsys: pytest.CaptureFixture[str]) -> Hand:
    """Runs verbs."""
    return Hand(administered, capsys)


def described(administered: Administered, topic: str) -> str:
    """Return a topic as kafka-topics describes it."""
    return administered.tool(TOPICS, "--describe", "--topic", topic)


def configs(administered: Administered, kind: str, *entity: str) -> dict[str, str]:
    """Return the configs of an entity by kafka-configs."""
    printed = administered.tool(CONFIGS, "--describe", "--entity-type", kind, *entity)
    return dict(re.findall(r"^  ([\w.]+)=(\S*)", printed, re.MULTILINE))


def test_create_extend_delete(administered: Administered, hand: Hand) -> None:
    """A topic is created as requested, extended to a total, and deleted; a second run of each changes nothing."""
    hand.done("create-topic", "made", "--partitions", "2", "--replication-factor", "3", "--config", "retention.ms=9000")
    wait_until(lambda: "made" in administered.tool(TOPICS, "--list").split())
    text = described(administered, "made")
    assert re.search(r"PartitionCount: 2\s+ReplicationFactor: 3\s", text)
    assert "retention.ms=9000" in text
    assert hand.run("create-topic", "made").code == 1
    hand.has_nothing_to_do("create-topic", "made", "--if-not-exists")

    assert "keys go to other partitions" in hand.run("create-partitions", "made", "--partitions", "4").beside
    wait_until(lambda: "PartitionCount: 4\t" in described(administered, "made"))
    hand.has_nothing_to_do("create-partitions", "made", "--partitions", "4")
    fewer = hand.run("create-partitions", "made", "--partitions", "3")
    assert (fewer.code, "cannot have fewer" in fewer.beside) == (1, True)

    refused = hand.run("delete-topic", "made")
    assert (refused.code, "--allow-deletions" in refused.beside) == (2, True)
    assert "made" in administered.tool(TOPICS, "--list").split()
    hand.done("delete-topic", "made", "--allow-deletions")
    wait_until(lambda: "made" not in administered.tool(TOPICS, "--list").split())
    hand.has_nothing_to_do("delete-topic", "made", "--if-exists")


def test_assignments(administered: Administered, hand: Hand) -> None:
    """Replicas are on the requested brokers, also those of new partitions."""
    hand.done("create-topic", "assigned", "--assignment", "0=3,1", "--assignment", "1=2,3")
    hand.done("create-partitions", "assigned", "--partitions", "3", "--assignment", "2=1,2")
    wanted = ["3,1", "2,3", "1,2"]
    wait_until(lambda: re.findall(r"Replicas: (\S+)", described(administered, "assigned")) == wanted)


def test_failures_are_of_each_topic(administered: Administered, hand: Hand) -> None:
    """A refused action has a reason and does not stop others: exit 3. A dry run reports the same, and changes nothing."""
    arguments = ("create-topic", "well", "--replication-factor", "2", "--partitions", "1")
    wrong = ("create-topic", "ill", "--config", "retention.mss=1")
    assert hand.run(*wrong).code == 1
    looked = hand.run(*wrong, confirm="--dry-run")
    assert (looked.code, "Unknown topic config name: retention.mss" in looked.beside) == (3, True)
    ran = hand.run(*arguments, "in/valid", "--json")
    assert ran.code == 3, ran.beside
    assert "INVALID_TOPIC_EXCEPTION" in ran.beside
    assert [(one["resource_name"], one["outcome"]) for one in ran.results()] == [("well", "done")]
    listed = administered.tool(TOPICS, "--list").split()
    assert ("well" in listed, "ill" in listed) == (True, False)


def test_delete_records(administered: Administered, hand: Hand) -> None:
    """Logs start at the given offset; later records stay, and an offset beyond the end is refused."""
    hand.done("create-topic", "logs", "--partitions", "2", "--replication-factor", "3")
    produce(administered.bootstrap_servers, "logs", 60)
    ends = _offsets(administered, "latest")
    assert hand.run("delete-records", "logs", "--before", "5").code == 2
    hand.done("delete-records", "logs:0", "--before", "5", "--allow-record-deletion")
    assert _offsets(administered, "earliest") == {0: 5, 1: 0}
    hand.has_nothing_to_do("delete-records", "logs:0", "--before", "5", "--allow-record-deletion")
    hand.done("delete-records", "logs", "--before", "latest-3", "--allow-record-deletion")
    assert _offsets(administered, "earliest") == {0: ends[0] - 3, 1: ends[1] - 3}
    beyond = hand.run("delete-records", "logs", "--before", "1000", "--allow-record-deletion")
    assert (beyond.code, "OFFSET_OUT_OF_RANGE" in beyond.beside) == (1, True)
    hand.done("delete-records", "logs", "--before", "latest", "--allow-record-deletion")
    assert _offsets(administered, "earliest") == ends == _offsets(administered, "latest")


def _offsets(administered: Administered, time: str) -> dict[int, int]:
    printed = administered.tool(GET_OFFSETS, "--topic", "logs", "--time", time)
    return {int(line.split(":")[1]): int(line.split(":")[2]) for line in printed.splitlines()}


def test_topic_configs(administered: Administered, hand: Hand) -> None:
    """Only named configs change; lists are edited; keeping less needs an option, keeping more does not."""
    hand.done("create-topic", "set", "--partitions", "1", "--config", "retention.ms=9000", "--config", "flush.ms=7")
    hand.done("alter-configs", "topic", "set", "--config", "retention.ms=10000", "--config", "segment.ms=60000")
    wanted = {"retention.ms": "10000", "flush.ms": "7", "segment.ms": "60000"}
    wait_until(lambda: configs(administered, "topics", "--entity-name", "set") == wanted)

    lower = ("alter-configs", "topic", "set", "--config", "retention.ms=1000")
    assert hand.run(*lower).code == 2
    hand.done(*lower, "--allow-shrinking-retention")
    hand.done("alter-configs", "topic", "set", "--unset", "flush.ms")
    hand.done("alter-configs", "topic", "set", "--unset", "retention.ms", "--allow-shrinking-retention")
    wait_until(lambda: configs(administered, "topics", "--entity-name", "set") == {"segment.ms": "60000"})
    policy = ("alter-configs", "topic", "set", "--append", "cleanup.policy=compact")
    assert hand.run(*policy).code == 2
    hand.done(*policy, "--allow-shrinking-retention")
    wait_until(
        lambda: configs(administered, "topics", "--entity-name", "set").get("cleanup.policy") == "delete,compact"
    )
    hand.done("alter-configs", "topic", "set", "--subtract", "cleanup.policy=compact")
    wait_until(lambda: configs(administered, "topics", "--entity-name", "set").get("cleanup.policy") == "delete")
    assert hand.run("alter-configs", "topic", "set", "--append", "segment.ms=5").code == 1
    hand.has_nothing_to_do("alter-configs", "topic", "set", "--config", "segment.ms=60000")


def test_configs_of_others(administered: Administered, hand: Hand) -> None:
    """Configs of one broker, of all brokers, of groups and client metrics."""
    hand.done("alter-configs", "broker", "2", "--config", "log.cleaner.threads=2")
    hand.done("alter-configs", "broker", "<default>", "--config", "message.max.bytes=1500000")
    hand.done("alter-configs", "group", "readers", "--config", "consumer.session.timeout.ms=50000")
    hand.done("alter-configs", "client-metrics", "push", "--config", "interval.ms=20000", "--config", "metrics=")
    wait_until(lambda: configs(administered, "brokers", "--entity-name", "2") == {"log.cleaner.threads": "2"})
    wait_until(lambda: configs(administered, "brokers", "--entity-default").get("message.max.bytes") == "1500000")
    wait_until(
        lambda: (
            configs(administered, "groups", "--entity-name", "readers").get("consumer.session.timeout.ms") == "50000"
        )
    )
    wait_until(lambda: configs(administered, "client-metrics", "--entity-name", "push").get("interval.ms") == "20000")

    hand.done("alter-configs", "broker", "2", "--unset", "log.cleaner.threads")
    hand.done("alter-configs", "broker", "<default>", "--unset", "message.max.bytes")
    hand.done("alter-configs", "group", "readers", "--unset", "consumer.session.timeout.ms")
    hand.done("alter-configs", "client-metrics", "push", "--unset", "interval.ms", "--unset", "metrics")
    wait_until(lambda: configs(administered, "brokers", "--entity-name", "2") == {})
    wait_until(lambda: "message.max.bytes" not in configs(administered, "brokers", "--entity-default"))
    assert "consumer.session.timeout.ms" not in administered.tool(CONFIGS, "--describe", "--entity-type", "groups")
    unknown = hand.run("alter-configs", "broker-logger", "3", "--config", "no.such.logger=TRACE")
    assert (unknown.code, "Logger no.such.logger does not exist!" in unknown.beside) == (1, True)


def test_lists_of_brokers_that_are_not_set(administered: Administered, hand: Hand) -> None:
    """Brokers list them neither for all brokers nor with the prefix of a listener; the value in effect is kept."""
    policy, mechanisms = "log.cleanup.policy", "listener.name.unused.sasl.enabled.mechanisms"
    hand.has_nothing_to_do("alter-configs", "broker", "<default>", "--subtract", f"{policy}=compact")
    allowed = "--allow-shrinking-retention"
    for name, entity, edit in ((policy, "<default>", "compact"), (mechanisms, "1", "PLAIN")):
        ran = hand.run("alter-configs", "broker", entity, "--append", f"{name}={edit}", allowed, "--json")
        assert ran.code == 0, ran.beside
        (after,) = [one["after"] for one in ran.results()]
        first, *rest = after[name].split(",")
        assert (first in ("delete", "GSSAPI", "SCRAM-SHA-256"), rest[-1:]) == (True, [edit])
        hand.done("alter-configs", "broker", entity, "--unset", name, allowed)
    wait_until(lambda: configs(administered, "brokers", "--entity-name", "1") == {})


def test_secrets_of_brokers(administered: Administered, hand: Hand, tmp_path: Path) -> None:
    """A sensitive config is set from a file and never shown; its value cannot be compared, so it is set again."""
    secret = "Wq7-not-to-be-seen"  # noqa: S105
    (tmp_path / "password").write_text(f"{secret}\n")
    listener = "listener.name.unused.ssl.key.password"
    arguments = ("alter-configs", "broker", "1", "--config", f"{listener}=file:{tmp_path}/password")
    for _ in range(2):
        ran = hand.run(*arguments, "--json")
        assert ran.code == 0, ran.beside
        assert [one["after"] for one in ran.results()] == [{listener: "(sensitive)"}]
        assert secret not in ran.printed + ran.beside
    hand.done("alter-configs", "broker", "1", "--unset", listener)
    wait_until(lambda: configs(administered, "brokers", "--entity-name", "1") == {})


def test_what_needs_a_guard_of_its_own(administered: Administered, hand: Hand) -> None:
    """Internal topics, and more partitions than a cluster can have, need more options than other topics."""
    hand.done("create-topic", "guarded", "--partitions", "1")
    produce(administered.bootstrap_servers, "guarded", 3)
    commit(administered.bootstrap_servers, "has-commits", {("guarded", 0): 1})
    before = administered.tool(GET_OFFSETS, "--topic", "__consumer_offsets")
    for command, guard in (
        ("delete-topic __consumer_offsets --allow-deletions", "--allow-internal"),
        ("delete-records __consumer_offsets --before latest --allow-record-deletion", "--allow-internal"),
        ("create-partitions __consumer_offsets --partitions 99", "--allow-internal"),
        (
            "alter-configs topic __consumer_offsets --config cleanup.policy=delete --allow-shrinking-retention",
            "--allow-internal",
        ),
        ("create-topic absurd --partitions 2147483647", "--allow-many-partitions"),
    ):
        refused = hand.run(*command.split())
        assert (refused.code, guard in refused.beside) == (2, True), command
    assert administered.tool(GET_OFFSETS, "--topic", "__consumer_offsets") == before
    assert "absurd" not in administered.tool(TOPICS, "--list").split()


def test_several_thousand_partitions_are_noted(administered: Administered, hand: Hand) -> None:
    """A line beside the plan names their cost."""
    noted = hand.run("create-topic", "several", "--partitions", "3000", "--dry-run")
    assert "3,000 new partitions" in noted.beside
    assert "several" not in administered.tool(TOPICS, "--list").split()
