"""Groups and transactions that `lagoon admin` altered are read with Kafka's own tools and consumers."""

import csv
import re
from io import StringIO
from pathlib import Path

import pytest
from confluent_kafka import Consumer, KafkaError, Producer
from confluent_kafka import TopicPartition as Librdkafkas
from confluent_kafka.admin import AclOperation, NewTopic, ResourceType

from kafka_lagoon.topic_partition import TopicPartition
from tests.clock import CLOCK
from tests.integration import every_broker
from tests.integration.admin_verbs import admin
from tests.integration.administered import Administered, soon
from tests.integration.hanging import hang, unverified
from tests.integration.kafka_tools import CONSUMER_GROUPS
from tests.integration.secured import LIMITED, allow
from tests.integration.state import commit, create_topics, live_member, sharing
from tests.integration.streams_members import commit as commit_as_member
from tests.integration.streams_members import streams_members

pytestmark = pytest.mark.timeout(300)
SHARE_GROUPS = "org.apache.kafka.tools.consumer.group.ShareGroupCommand"
STREAMS_GROUPS = "org.apache.kafka.tools.streams.StreamsGroupCommand"
TRANSACTIONS = "org.apache.kafka.tools.TransactionsCommand"
TOPIC, OTHER, SHARED, STREAMED, WRITTEN = "reset-a", "reset.b-1", "reset-shared", "reset-streamed", "hung-1"
RECORDS, HOUR_MS = 10, 3_600_000


@pytest.fixture(scope="module", autouse=True)
def topics(administered: Administered) -> None:
    """Two topics whose records are a second apart, from 1970 on, and empty topics."""
    servers = administered.bootstrap_servers
    kept = {"retention.ms": "-1"}  # otherwise brokers delete such old records, half a minute after they have started
    create_topics(servers, [NewTopic(TOPIC, 2, 3, config=kept), NewTopic(OTHER, 1, 3, config=kept)])
    create_topics(servers, [NewTopic(SHARED, 2, 3), NewTopic(STREAMED, 2, 3), NewTopic(WRITTEN, 2, 3)])
    producer = Producer({"bootstrap.servers": servers})
    for topic, partition in ((TOPIC, 0), (TOPIC, 1), (OTHER, 0)):
        for number in range(RECORDS):
            producer.produce(topic, b"v", partition=partition, timestamp=(number + 1) * 1_000)
    assert producer.flush(30) == 0


def exported(administered: Administered, group_id: str) -> dict[tuple[str, int], int]:
    """Return the commits of a group, as kafka-consumer-groups exports them."""
    command = ("--group", group_id, "--reset-offsets", "--to-current", "--all-topics", "--export")
    printed = administered.tool(CONSUMER_GROUPS, *command)
    rows = [row for row in csv.reader(StringIO(printed)) if len(row) == 3 and row[1].isdecimal()]
    return {(topic.strip('"'), int(partition)): int(offset) for topic, partition, offset in rows}


def test_resets_equal_kafka_consumer_groups(
    administered: Administered, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """To the start, the end, an offset, a time, by a number and from a file; only differences are sent."""

    def reset(*arguments: str) -> dict[str, str]:
        ran = admin(administered, capsys, "reset-offsets", "resets", *arguments)
        assert ran.exit_code == 0, ran.lines
        return ran.outcomes()

    assert reset("--topic", TOPIC, "--topic", f"{OTHER}:0", "--to", "4") == dict.fromkeys(
        (f"resets {TOPIC}-0", f"resets {TOPIC}-1", f"resets {OTHER}-0"), "done"
    )
    every = {(TOPIC, 0): 4, (TOPIC, 1): 4, (OTHER, 0): 4}
    assert exported(administered, "resets") == every
    assert reset("--topic", f"{TOPIC}:1", "--to", "latest") == {f"resets {TOPIC}-1": "done"}
    assert exported(administered, "resets") == {**every, (TOPIC, 1): RECORDS}
    assert set(reset("--all-topics", "--shift-by", "-2")) == {
        f"resets {OTHER}-0",
        f"resets {TOPIC}-0",
        f"resets {TOPIC}-1",
    }
    assert exported(administered, "resets") == {(TOPIC, 0): 2, (TOPIC, 1): 8, (OTHER, 0): 2}
    reset("--topic", TOPIC, "--to", "1970-01-01T00:00:06.500Z")
    assert exported(administered, "resets") == {(TOPIC, 0): 6, (TOPIC, 1): 6, (OTHER, 0): 2}
    reset("--topic", OTHER, "--to", "earliest")
    file = tmp_path / "offsets.csv"
    file.write_text(f'"{TOPIC}",0,7\n{TOPIC},1,6\n')
    assert reset("--from-file", str(file)) == {f"resets {TOPIC}-0": "done"}
    assert exported(administered, "resets") == {(TOPIC, 0): 7, (TOPIC, 1): 6, (OTHER, 0): 0}


def test_a_consumer_goes_on_where_the_group_was_set(
    administered: Administered, capsys: pytest.CaptureFixture[str]
) -> None:
    """It continues at the set offsets, for groups of the classic and of the consumer protocol."""
    for protocol in ("classic", "consumer"):
        group_id = f"goes-on-{protocol}"
        with live_member(administered.bootstrap_servers, group_id, OTHER, **{"group.protocol": protocol}):
            busy = admin(administered, capsys, "reset-offsets", group_id, "--topic", OTHER, "--to", "7")
            assert (busy.exit_code, busy.actions, "NON_EMPTY_GROUP" in busy.lines) == (1, [], True)
        ran = admin(administered, capsys, "reset-offsets", group_id, "--topic", OTHER, "--to", "7")
        assert ran.outcomes() == {f"{group_id} {OTHER}-0": "done"}
        consumer = Consumer(
            {
                "bootstrap.servers": administered.bootstrap_servers,
                "group.id": group_id,
                "group.protocol": protocol,
                "enable.auto.commit": False,
            }
        )
        consumer.subscribe([OTHER])
        record = consumer.poll(60)
        assert record is not None
        assert record.offset() == 7
        consumer.close()
        assert admin(administered, capsys, "delete-group", group_id, "--allow-deletions").exit_code == 0


def test_each_partition_fails_for_itself(administered: Administered, capsys: pytest.CaptureFixture[str]) -> None:
    """An offset outside the log, a missing topic, and a shift without a commit fail; the others are set, exit 3."""
    ran = admin(administered, capsys, "reset-offsets", "fails", "--topic", f"{TOPIC},no-such-topic", "--to", "11")
    assert ran.exit_code == 2
    commit(administered.bootstrap_servers, "fails", {(TOPIC, 0): 9, (TOPIC, 1): 2})
    shift = ("reset-offsets", "fails", "--shift-by", "3")
    ran = admin(administered, capsys, *shift, "--topic", TOPIC, "--topic", OTHER, "--topic", "no-such-topic")
    assert (ran.exit_code, ran.outcomes()) == (3, {f"fails {TOPIC}-1": "done"})
    assert "12 is outside of the log, 0 to 10" in ran.lines
    assert all(word in ran.lines for word in ("NO_COMMIT", "UNKNOWN_TOPIC_OR_PARTITION"))
    assert exported(administered, "fails") == {(TOPIC, 0): 9, (TOPIC, 1): 5}
    ran = admin(administered, capsys, *shift, "--topic", TOPIC, user=LIMITED)
    assert ran.exit_code == 1
    assert exported(administered, "fails") == {(TOPIC, 0): 9, (TOPIC, 1): 5}


def test_offsets_and_groups_are_deleted(administered: Administered, capsys: pytest.CaptureFixture[str]) -> None:
    """Only the named ones, only without members, and only with --allow-deletions."""
    servers = administered.bootstrap_servers
    commit(servers, "deletes", {(TOPIC, 0): 1, (TOPIC, 1): 2, (OTHER, 0): 3})
    delete = ("delete-offsets", "deletes", "--topic", f"{TOPIC}:1")
    assert admin(administered, capsys, *delete).exit_code == 2
    assert admin(administered, capsys, *delete, "--allow-deletions").outcomes() == {f"deletes {TOPIC}-1": "done"}
    assert exported(administered, "deletes") == {(TOPIC, 0): 1, (OTHER, 0): 3}
    assert admin(administered, capsys, *delete, "--allow-deletions").actions == []
    with live_member(servers, "deletes", OTHER):
        group = admin(administered, capsys, "delete-group", "deletes", "--allow-deletions")
        assert (group.exit_code, group.actions) == (1, [])
        offsets = admin(administered, capsys, "delete-offsets", "deletes", "--all-topics", "--allow-deletions")
        assert offsets.outcomes()[f"deletes {OTHER}-0"] == "GROUP_SUBSCRIBED_TO_TOPIC"
    gone = admin(administered, capsys, "delete-group", "deletes", "no-such-group", "--allow-deletions")
    assert (gone.exit_code, gone.outcomes()) == (3, {"deletes": "done"})
    assert "deletes" not in administered.tool(CONSUMER_GROUPS, "--list").split()


def test_share_groups_equal_kafka_share_groups(administered: Administered, capsys: pytest.CaptureFixture[str]) -> None:
    """Start offsets are set by partition and deleted by topic, without members; the group is deleted like others."""
    servers = administered.bootstrap_servers
    with sharing(servers, "reset-queue", SHARED):
        busy = admin(administered, capsys, "reset-offsets", "reset-queue", "--topic", SHARED, "--to", "earliest")
        assert (busy.exit_code, "NON_EMPTY_GROUP" in busy.lines) == (1, True)
    ran = admin(administered, capsys, "reset-offsets", "reset-queue", "--topic", SHARED, "--to", "3")
    assert set(ran.outcomes().values()) == {"done"}
    assert started(administered, "reset-queue") == {(SHARED, "0"): "3", (SHARED, "1"): "3"}
    partial = admin(
        administered, capsys, "delete-offsets", "reset-queue", "--topic", f"{SHARED}:0", "--allow-deletions"
    )
    assert (partial.exit_code, "deletes its offsets of all partitions" in partial.lines) == (2, True)
    ran = admin(administered, capsys, "delete-offsets", "reset-queue", "--topic", SHARED, "--allow-deletions")
    assert ran.outcomes() == {f"reset-queue {SHARED}": "done"}
    assert started(administered, "reset-queue") == {}
    assert admin(administered, capsys, "delete-group", "reset-queue", "--allow-deletions").exit_code == 0
    assert "reset-queue" not in administered.tool(SHARE_GROUPS, "--list").split()


def started(administered: Administered, group_id: str) -> dict[tuple[str, str], str]:
    """Return topic, partition and start offset, as kafka-share-groups prints them."""
    printed = administered.tool(SHARE_GROUPS, "--describe", "--group", group_id, "--offsets")
    rows = [line.split() for line in printed.splitlines() if line.startswith(group_id)]
    return {(row[1], row[2]): row[3] for row in rows if row[3] != "-"}


def test_streams_groups_are_reset(administered: Administered, capsys: pytest.CaptureFixture[str]) -> None:
    """Commits are set as for other groups, without members, and the group is deleted."""
    with streams_members(administered.bootstrap_servers, "reset-streams", STREAMED, ["a"]) as (member,):
        commit_as_member(member, STREAMED, {0: 0})
        busy = admin(administered, capsys, "reset-offsets", "reset-streams", "--topic", STREAMED, "--to", "earliest")
        assert busy.exit_code == 1
    producer = Producer({"bootstrap.servers": administered.bootstrap_servers})
    for _ in range(5):
        producer.produce(STREAMED, b"v", partition=0)
    assert producer.flush(30) == 0
    ran = admin(administered, capsys, "reset-offsets", "reset-streams", "--topic", f"{STREAMED}:0", "--to", "4")
    assert ran.outcomes() == {f"reset-streams {STREAMED}-0": "done"}
    assert "reset-streams" in administered.tool(STREAMS_GROUPS, "--list").split()
    consumer = Consumer({"bootstrap.servers": administered.bootstrap_servers, "group.id": "reset-streams"})
    assert [one.offset for one in consumer.committed([Librdkafkas(STREAMED, 0)], timeout=30)] == [4]
    consumer.close()
    assert admin(administered, capsys, "delete-group", "reset-streams", "--allow-deletions").exit_code == 0
    assert "reset-streams" not in administered.tool(STREAMS_GROUPS, "--list").split()


def hanging(administered: Administered) -> set[tuple[str, str]]:
    """Return partition and producer of each hanging transaction, as kafka-transactions finds them."""
    printed = administered.tool(TRANSACTIONS, "find-hanging", "--topic", WRITTEN)
    rows = [line.split() for line in printed.splitlines() if line.startswith(WRITTEN)]
    return {(row[1], row[2]) for row in rows}


def test_hanging_transactions_are_aborted(administered: Administered, capsys: pytest.CaptureFixture[str]) -> None:
    """Exactly those that kafka-transactions finds are aborted: no recent one, and none that its coordinator knows."""
    hour_ago_ms = CLOCK.now_ms() - HOUR_MS
    with unverified(administered.kafka), administered.cluster() as cluster:
        ids = [
            hang(cluster, TopicPartition(WRITTEN, 0), transactional_id, at_ms, soon())
            for transactional_id, at_ms in (("hung", hour_ago_ms), (None, hour_ago_ms), (None, CLOCK.now_ms()))
        ]
    writer = Producer({"bootstrap.servers": administered.bootstrap_servers, "transactional.id": "still-there"})
    writer.init_transactions(60)
    writer.begin_transaction()
    writer.produce(WRITTEN, b"v", partition=1, timestamp=hour_ago_ms)
    assert writer.flush(30) == 0
    assert hanging(administered) == {("0", str(ids[0])), ("0", str(ids[1]))}
    refused = admin(administered, capsys, "abort-transaction", f"{WRITTEN}-1")
    assert (refused.exit_code, refused.actions, "fence-producer" in refused.lines) == (1, [], True)
    first = admin(administered, capsys, "abort-transaction", f"{WRITTEN}-0", "--producer-id", str(ids[1]))
    assert first.outcomes() == {f"{WRITTEN}-0 producer {ids[1]}": "done"}
    assert hanging(administered) == {("0", str(ids[0]))}
    rest = admin(administered, capsys, "abort-transaction", f"{WRITTEN}-0")
    assert (rest.exit_code, rest.outcomes()) == (3, {f"{WRITTEN}-0 producer {ids[0]}": "done"})
    assert "at most 15 minutes old" in rest.lines
    assert hanging(administered) == set()
    described = administered.tool(TRANSACTIONS, "describe-producers", "--topic", WRITTEN, "--partition", "0")
    still_open = {line.split()[0] for line in described.splitlines() if re.search(r"\d+\s*$", line)}
    assert still_open == {str(ids[2])}
    fenced = admin(administered, capsys, "fence-producer", "still-there", "no-such-id")
    assert (fenced.exit_code, fenced.outcomes()) == (3, {"still-there": "done"})
    with pytest.raises(Exception, match=r"fenced|epoch") as raised:
        writer.commit_transaction(30)
    assert raised.value.args[0].code() in (KafkaError._FENCED, KafkaError.INVALID_PRODUCER_EPOCH)
    assert "Ongoing" not in administered.tool(TRANSACTIONS, "describe", "--transactional-id", "still-there")


def test_who_may_not_fence_does_not(administered: Administered, capsys: pytest.CaptureFixture[str]) -> None:
    """A transactional id that may be described but not written is refused; its producer continues."""
    writer = Producer({"bootstrap.servers": administered.bootstrap_servers, "transactional.id": "not-ours"})
    writer.init_transactions(60)
    unseen = admin(administered, capsys, "fence-producer", "not-ours", user=LIMITED)
    assert (unseen.exit_code, unseen.actions) == (1, [])
    describing = allow(ResourceType.TRANSACTIONAL_ID, "not-ours", AclOperation.DESCRIBE)
    with every_broker.acls_in_effect(administered.bootstrap_servers, [describing]):
        refused = admin(administered, capsys, "fence-producer", "not-ours", user=LIMITED)
    assert refused.outcomes() == {"not-ours": "TRANSACTIONAL_ID_AUTHORIZATION_FAILED"}
    writer.begin_transaction()
    writer.produce(OTHER, b"v", partition=0, timestamp=99_000)
    writer.abort_transaction(30)
