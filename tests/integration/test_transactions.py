"""Tables transactions, producers and reassignments, against the output of Kafka's own tools for the same cluster."""

import json
import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from confluent_kafka import Producer as Librdkafka
from confluent_kafka.admin import NewTopic

from kafka_lagoon.cli.main import main
from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.client.request_stats import RequestStats
from kafka_lagoon.clock import Deadline
from kafka_lagoon.kafka_settings import KafkaSettings
from kafka_lagoon.sandbox.kafka import LocalKafka
from kafka_lagoon.tables.cluster_rows import ReassignmentRow
from kafka_lagoon.tables.snapshot_rows import Snapshot
from kafka_lagoon.tables.transaction_rows import PartitionProducerRow, TransactionRow
from kafka_lagoon.topic_partition import TopicPartition
from tests.clock import CLOCK
from tests.integration.hanging import hang, unverified
from tests.integration.state import create_topics, delete_topics
from tests.integration.test_against_kafka_tools import snapshot_of
from tests.nulls import unexplained_of

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(300)]
TRANSACTIONS = "org.apache.kafka.tools.TransactionsCommand"
REASSIGNMENTS = "org.apache.kafka.tools.reassign.ReassignPartitionsCommand"
TOPIC, MOVING = "transactions", "moving"
OPEN, HANGING, OVER = 0, 1, 2  # partitions
HOUR_MS = 3_600_000


@dataclass(frozen=True, slots=True)
class Seen:
    """The rows of one snapshot, and the words of the lines that Kafka's tools print."""

    kafka: LocalKafka
    bootstrap_servers: str
    snapshot: Snapshot

    def lines(self, *command: str) -> list[list[str]]:
        """Return the words of each line below the header."""
        printed = self.kafka.tool(TRANSACTIONS, "--bootstrap-server", self.bootstrap_servers, *command)
        lines = printed.splitlines()[1:]
        return [line.split() for line in lines if line.strip()]


@pytest.fixture(scope="module")
def seen(kafka_392: LocalKafka) -> Iterator[Seen]:
    """Make brokers with open, ended and hanging transactions."""
    servers = kafka_392.bootstrap_servers
    create_topics(servers, [NewTopic(TOPIC, 3, 1)])
    hour_ago_ms = CLOCK.now_ms() - HOUR_MS
    with unverified(kafka_392), open_transaction(kafka_392, "seen-open", hour_ago_ms):
        end_transaction(kafka_392, "seen-over")
        write_outside_of_transactions(kafka_392, hour_ago_ms)
        yield Seen(kafka_392, servers, snapshot_of(kafka_392))
    delete_topics(servers, [TOPIC])


def _begin(kafka: LocalKafka, transactional_id: str, partition: int, at_ms: int) -> Librdkafka:
    producer = Librdkafka(
        {"bootstrap.servers": kafka.bootstrap_servers, "transactional.id": transactional_id, "log_level": 0}
    )
    producer.init_transactions(60)
    producer.begin_transaction()
    producer.produce(TOPIC, b"v", partition=partition, timestamp=at_ms)
    assert producer.flush(30) == 0
    return producer


@contextmanager
def open_transaction(kafka: LocalKafka, transactional_id: str, at_ms: int) -> Iterator[None]:
    """Open a transaction that its coordinator knows, with a record of that time."""
    producer = _begin(kafka, transactional_id, OPEN, at_ms)
    try:
        yield
    finally:
        producer.abort_transaction(30)


def end_transaction(kafka: LocalKafka, transactional_id: str) -> None:
    """Commit a transaction; its marker may be written later."""
    _begin(kafka, transactional_id, OVER, CLOCK.now_ms()).commit_transaction(30)


def write_outside_of_transactions(kafka: LocalKafka, at_ms: int) -> None:
    """Write transactional batches of producers without a transaction, one of them with a transactional id."""
    deadline = Deadline.after(CLOCK, 60_000)
    settings = KafkaSettings(bootstrap_servers=kafka.bootstrap_servers)
    with Cluster.connect(settings, CLOCK, RequestStats(), deadline) as cluster:
        for transactional_id in ("seen-idle", None):
            hang(cluster, TopicPartition(TOPIC, HANGING), transactional_id, at_ms, deadline)


def ours(seen: Seen) -> dict[str, TransactionRow]:
    """Return our rows of this test's transactions."""
    rows = {row.transactional_id: row for row in seen.snapshot.of(TransactionRow)}
    return {name: row for name, row in rows.items() if name.startswith("seen-")}


def test_transactions_equal_the_list(seen: Seen) -> None:
    """Every transactional id with its coordinator, producer and state."""
    printed = {tuple(words) for words in seen.lines("list")}
    rows = seen.snapshot.of(TransactionRow)
    assert {(row.transactional_id, str(row.coordinator_id), str(row.producer_id), row.state) for row in rows} == printed
    assert len(ours(seen)) == 3


@pytest.mark.parametrize("transactional_id", ["seen-open", "seen-over"])
def test_a_transaction_equals_its_description(seen: Seen, transactional_id: str) -> None:
    """Epoch, timeout, start and partitions are equal; an ended transaction keeps its time, and has no partitions."""
    row = ours(seen)[transactional_id]
    (words,) = seen.lines("describe", "--transactional-id", transactional_id)
    started_at_ms = "None" if row.started_at_ms is None else str(row.started_at_ms)
    assert words[2:7] == [
        str(row.producer_id),
        str(row.producer_epoch),
        row.state,
        str(row.timeout_ms),
        started_at_ms,
    ]
    partitions = [f"{one.topic}-{number}" for one in row.partitions or () for number in one.partitions]
    assert words[8:] == partitions
    assert partitions == ([f"{TOPIC}-{OPEN}"] if transactional_id == "seen-open" else [])
    assert row.duration_ms is not None
    assert row.problem is None


def test_producers_equal_the_description(seen: Seen) -> None:
    """Partitions with an open transaction are equal; producers of other partitions are not requested."""
    rows = [row for row in seen.snapshot.of(PartitionProducerRow) if row.topic == TOPIC]
    assert {row.partition for row in rows} == {OPEN, HANGING}
    printed = seen.lines("describe-producers", "--topic", TOPIC, "--partition", str(HANGING))
    written = [
        (
            row.producer_id,
            row.producer_epoch,
            row.coordinator_epoch,
            row.last_sequence,
            row.last_written_at_ms,
            row.open_since_offset,
        )
        for row in rows
        if row.partition == HANGING
    ]
    assert sorted([["-1" if value is None else str(value) for value in values] for values in written]) == sorted(
        printed
    )


def test_what_hangs_equals_find_hanging(seen: Seen) -> None:
    """A transaction that its coordinator will end does not hang, even if its records are old."""
    rows = [row for row in seen.snapshot.of(PartitionProducerRow) if row.topic == TOPIC]
    hanging = {
        (row.topic, str(row.partition), str(row.producer_id), str(row.open_since_offset), str(row.last_written_at_ms))
        for row in rows
        if row.is_hanging
    }
    lines = seen.lines("find-hanging", "--broker-id", "1")
    printed = {(words[0], words[1], words[2], words[5], words[6]) for words in lines}
    assert len(printed) == 2
    assert hanging == printed
    assert {(row.transactional_id, row.evidence) for row in rows} == {
        ("seen-open", "in_transaction"),
        ("seen-idle", "partition_not_in_transaction"),
        (None, "no_transaction"),
    }
    assert all(row.idle_ms is not None and row.idle_ms >= HOUR_MS for row in rows)
    assert unexplained_of(seen.snapshot) == []


def test_what_hangs_is_aborted(seen: Seen, capsys: pytest.CaptureFixture[str]) -> None:
    """lagoon admin aborts them, until kafka-transactions finds none; this test runs after those that need them."""
    command = ["admin", "abort-transaction", f"{TOPIC}-{HANGING}", "-b", seen.bootstrap_servers, "--yes"]
    assert main(command) == 0, capsys.readouterr()
    assert seen.lines("find-hanging", "--broker-id", "1") == []


def test_reassignments_equal_kafka_reassign_partitions(kafka: LocalKafka, tmp_path: Path) -> None:
    """Throttled moves have their added and removed brokers; cancelled ones are gone."""
    create_topics(kafka.bootstrap_servers, [NewTopic(MOVING, 2, replica_assignment=[[1], [2]])])
    _fill(kafka, MOVING)
    plan = tmp_path / "plan.json"
    moves = [{"topic": MOVING, "partition": partition, "replicas": [3]} for partition in (0, 1)]
    plan.write_text(json.dumps({"version": 1, "partitions": moves}))
    command = ("--bootstrap-server", kafka.bootstrap_servers, "--reassignment-json-file", str(plan))
    kafka.tool(REASSIGNMENTS, *command, "--execute", "--throttle", "1")
    try:
        snapshot = snapshot_of(kafka)
        printed = kafka.tool(REASSIGNMENTS, "--bootstrap-server", kafka.bootstrap_servers, "--list")
    finally:
        kafka.tool(REASSIGNMENTS, *command, "--cancel")
    rows = snapshot.of(ReassignmentRow)
    assert {(f"{row.topic}-{row.partition}", *map(_numbers, _replicas(row))) for row in rows} == set(
        re.findall(r"^(\S+): replicas: ([\d,]+)\. adding: ([\d,]+)\. removing: ([\d,]+)\.$", printed, re.MULTILINE)
    )
    assert {(row.partition, row.adding_replicas, row.removing_replicas) for row in rows} == {
        (0, (3,), (1,)),
        (1, (3,), (2,)),
    }
    assert unexplained_of(snapshot) == []
    assert not snapshot_of(kafka).of(ReassignmentRow)
    delete_topics(kafka.bootstrap_servers, [MOVING])


def _fill(kafka: LocalKafka, topic: str) -> None:
    """Write more than a follower gets at a throttle of one byte per second."""
    producer = Librdkafka({"bootstrap.servers": kafka.bootstrap_servers})
    for number in range(8):
        producer.produce(topic, os.urandom(900_000), partition=number % 2)
    assert producer.flush(60) == 0


def _replicas(row: ReassignmentRow) -> Sequence[Sequence[int]]:
    return row.replicas, row.adding_replicas, row.removing_replicas


def _numbers(numbers: Sequence[int]) -> str:
    return ",".join(map(str, numbers))
