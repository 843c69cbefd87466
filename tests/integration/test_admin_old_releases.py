"""Verbs of `lagoon admin` on the oldest releases: with ZooKeeper, where one broker is the controller, and the last 3.x."""

import re

import pytest
from confluent_kafka import Consumer, TopicPartition

from kafka_lagoon.cli.main import main
from kafka_lagoon.sandbox.kafka import LocalKafka
from tests.integration.every_broker import wait_until
from tests.integration.kafka_tools import TOPICS
from tests.integration.state import produce

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(300)]
TOPIC = "altered-by-admin"
TOOLS = {"kafka_282": "kafka.admin.TopicCommand", "kafka_392": TOPICS}
OLD = pytest.mark.parametrize("release", TOOLS)


def run(kafka: LocalKafka, capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    """Return exit code and lines of a verb."""
    capsys.readouterr()
    code = main(["admin", *arguments, "-b", kafka.bootstrap_servers, "--yes"])
    return code, "".join(capsys.readouterr())


@OLD
def test_a_topic_from_its_creation_to_its_deletion(
    request: pytest.FixtureRequest, capsys: pytest.CaptureFixture[str], release: str
) -> None:
    """Kafka's own tool of that release shows the same."""
    kafka: LocalKafka = request.getfixturevalue(release)

    def described() -> str:
        return kafka.tool(TOOLS[release], "--bootstrap-server", kafka.bootstrap_servers, "--describe", "--topic", TOPIC)

    def done(*arguments: str) -> None:
        code, lines = run(kafka, capsys, *arguments)
        assert code == 0, lines

    done("create-topic", TOPIC, "--partitions", "1", "--replication-factor", "1", "--config", "retention.ms=70000")
    done("create-partitions", TOPIC, "--partitions", "2")
    done("alter-configs", "topic", TOPIC, "--config", "retention.ms=80000", "--config", "segment.ms=60000")
    text = described()
    assert re.search(r"PartitionCount: 2\s", text)
    assert {"retention.ms=80000", "segment.ms=60000"} <= set(re.split(r"[,\s]", text))
    produce(kafka.bootstrap_servers, TOPIC, 40)
    done("delete-records", TOPIC, "--before", "latest", "--allow-record-deletion")
    consumer = Consumer({"bootstrap.servers": kafka.bootstrap_servers, "group.id": TOPIC})
    bounds = [consumer.get_watermark_offsets(TopicPartition(TOPIC, number), timeout=30) for number in range(2)]
    consumer.close()
    assert sum(start for start, _ in bounds) == 40
    done("elect-leaders", TOPIC)
    done("delete-topic", TOPIC, "--allow-deletions")
    wait_until(
        lambda: run(kafka, capsys, "delete-topic", TOPIC, "--if-exists", "--allow-deletions")[1].startswith("nothing")
    )


def test_what_zookeeper_does_not_have(kafka_282: LocalKafka, capsys: pytest.CaptureFixture[str]) -> None:
    """Without quorum, registered brokers and features each verb is a failure that says so."""
    for arguments in (
        ("remove-voter", "1", "--allow-deletions"),
        ("unregister-broker", "7", "--allow-deletions"),
        ("update-feature", "group.version=1"),
    ):
        code, lines = run(kafka_282, capsys, *arguments)
        assert code == 1, lines
        assert re.search(r"UNSUPPORTED_VERSION|UNKNOWN_FEATURE", lines), lines


@pytest.mark.parametrize(
    ("release", "command", "said"),
    [
        ("kafka_282", "alter-configs group g --config consumer.session.timeout.ms=50000", "needs Kafka 4.0 or newer"),
        ("kafka_392", "alter-configs group g --config consumer.session.timeout.ms=50000", "needs Kafka 4.0 or newer"),
        ("kafka_282", "alter-configs client-metrics m --config interval.ms=100", "needs Kafka 3.7 or newer"),
        ("kafka_282", "create-token", "only who has logged in gets a token"),
        ("kafka_392", "create-token", "only who has logged in gets a token"),
        ("kafka_392", "remove-voter 1 --allow-deletions --dry-run", "controller.quorum.voters"),
        ("kafka_392", "add-voter 9 --listener C://h:1", "controller.quorum.voters"),
    ],
)
def test_what_a_release_cannot_is_said(
    request: pytest.FixtureRequest, capsys: pytest.CaptureFixture[str], release: str, command: str, said: str
) -> None:
    """The message has the cause besides the name of the error; exit 1, because nothing was done."""
    code, lines = run(request.getfixturevalue(release), capsys, *command.split())
    assert (code, said in lines) == (1, True), lines
