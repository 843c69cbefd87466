"""Kafka's own topics, decoded in Spark from a real broker, compared with the formatters of Kafka's console consumer."""

import json
import time
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from confluent_kafka import Consumer, ConsumerGroupTopicPartitions, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from pyspark.sql import DataFrame, Row, SparkSession

from kafka_lagoon.notebooks import register_source
from kafka_lagoon.sandbox.kafka import LocalKafka
from kafka_lagoon.source.internal_topics import consumer_offsets, transaction_state
from tests.cookbook.pages import VALUES, run_snippet
from tests.librdkafka import wait_until_stable
from tests.source.source_topics import create, produce

TOPIC, PREFIX = "internal-topics", "internal-topics-"
CONSOLE_CONSUMER = "org.apache.kafka.tools.consumer.ConsoleConsumer"
FORMATTERS = "org.apache.kafka.tools.consumer."


@pytest.fixture(scope="module")
def load(spark: SparkSession, kafka: LocalKafka) -> Callable[[str], DataFrame]:
    """Load topics after commits, groups and transactions of every kind."""
    register_source(spark)
    create(kafka, TOPIC, partitions=2)
    produce(kafka, TOPIC, [f"v{number}" for number in range(10)])
    for protocol in ("classic", "consumer"):
        _consume_and_commit(kafka, protocol)
    _commit_in_transaction(kafka, "committed")
    _commit_in_transaction(kafka, "aborted")
    client = AdminClient({"bootstrap.servers": kafka.bootstrap_servers})
    gone = ConsumerGroupTopicPartitions(f"{PREFIX}gone", [TopicPartition(TOPIC, 0, 3, metadata="by hand")])
    client.alter_consumer_group_offsets([gone])[gone.group_id].result()
    client.delete_consumer_groups([gone.group_id])[gone.group_id].result()

    def load(topic: str) -> DataFrame:
        options = {"kafka.bootstrap.servers": kafka.bootstrap_servers, "subscribe": topic}
        return spark.read.format("lagoon").options(**options, **{"kafka.isolation.level": "read_uncommitted"}).load()

    return load


def _consume_and_commit(kafka: LocalKafka, protocol: str) -> None:
    own = Consumer(
        {
            "bootstrap.servers": kafka.bootstrap_servers,
            "group.id": PREFIX + protocol,
            "group.protocol": protocol,
            "client.id": f"client-{protocol}",
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
        }
    )
    own.subscribe([TOPIC])
    deadline = time.monotonic() + 60
    while own.poll(0.5) is None:
        assert time.monotonic() < deadline
    own.commit(offsets=[TopicPartition(TOPIC, 0, 4, metadata="four"), TopicPartition(TOPIC, 1, 0)], asynchronous=False)
    own.close()


def _commit_in_transaction(kafka: LocalKafka, end: str) -> None:
    producer = Producer({"bootstrap.servers": kafka.bootstrap_servers, "transactional.id": f"{PREFIX}{end}"})
    producer.init_transactions(30)
    producer.begin_transaction()
    producer.produce(TOPIC, b"in a transaction", partition=1)
    group = Consumer({"bootstrap.servers": kafka.bootstrap_servers, "group.id": f"{PREFIX}transaction-{end}"})
    producer.send_offsets_to_transaction([TopicPartition(TOPIC, 0, 6)], group.consumer_group_metadata(), 30)
    if end == "committed":
        producer.commit_transaction(30)
    else:
        producer.abort_transaction(30)
    wait_until_stable(kafka.bootstrap_servers, [TOPIC])
    group.close()


def _printed(kafka: LocalKafka, topic: str, formatter: str) -> list[dict[str, Any]]:
    """Return the console consumer's output for a topic, an object per record."""
    options = ("--bootstrap-server", kafka.bootstrap_servers, "--from-beginning", "--timeout-ms", "4000")
    text = kafka.tool(CONSOLE_CONSUMER, *options, "--topic", topic, "--formatter", FORMATTERS + formatter)
    objects, position = [], text.find("{")  # the formatters print no line breaks
    while position >= 0:
        made, position = json.JSONDecoder().raw_decode(text, position)
        objects.append(made)
        position = text.find("{", position)
    return objects


def _ms(time: datetime | None) -> int | None:
    return time and round(time.replace(tzinfo=UTC).timestamp() * 1000)


@pytest.fixture(scope="module")
def offsets(load: Callable[[str], DataFrame]) -> list[Row]:
    """Return all records of __consumer_offsets about this file's groups."""
    return [row for row in consumer_offsets(load("__consumer_offsets")).collect() if _is_ours(row.group_id)]


def _is_ours(name: str | None) -> bool:
    return (name or "").startswith(PREFIX)


def test_commits_are_those_of_kafkas_formatter(offsets: list[Row], kafka: LocalKafka) -> None:
    """Each commit, including those of aborted transactions, and each tombstone are the same."""
    theirs = Counter(
        (
            key["group"],
            key["topic"],
            key["partition"],
            *map((value or {}).get, ("offset", "metadata", "commitTimestamp")),
        )
        for one in _printed(kafka, "__consumer_offsets", "OffsetsMessageFormatter")
        if _is_ours((key := one["key"]["data"])["group"])
        for value in [one["value"] and one["value"]["data"]]
    )
    ours = Counter(
        (row.group_id, row.topic, row.partition, row.committed_offset, row.metadata, _ms(row.committed_at))
        for row in offsets
        if row.record_type == "offset_commit"
    )
    assert ours == theirs
    assert {group for group, *_ in ours} == {
        PREFIX + name for name in ("classic", "consumer", "transaction-committed", "transaction-aborted", "gone")
    }
    assert [row.problem for row in offsets if row.problem] == []


def test_groups_are_those_of_kafkas_formatter(offsets: list[Row], kafka: LocalKafka) -> None:
    """Classic groups have the subscriptions and assignments of their members."""
    theirs = Counter(
        (one["key"]["data"]["group"], data["generation"], data["protocol"], len(data["members"]))
        for one in _printed(kafka, "__consumer_offsets", "GroupMetadataMessageFormatter")
        if one["key"]["type"] == 2 and _is_ours(one["key"]["data"]["group"]) and one["value"]
        for data in [one["value"]["data"]]
    )
    details = [
        (row.group_id, json.loads(row.details))
        for row in offsets
        if row.record_type == "group_metadata" and row.details
    ]
    assert Counter((name, one["generation"], one["protocol"], len(one["members"])) for name, one in details) == theirs
    members = [member for name, one in details if name == f"{PREFIX}classic" for member in one["members"]]
    assert {(one["client_id"], *one["subscription"]["topics"]) for one in members} == {("client-classic", TOPIC)}
    owned = [part for one in members if one["assignment"] for part in one["assignment"]["assigned_partitions"]]
    assert {"topic": TOPIC, "partitions": [0, 1]} in owned


def test_members_of_consumer_groups(offsets: list[Row]) -> None:
    """Groups of the new protocol have a record for each member and its assignment."""
    of_group = [row for row in offsets if row.group_id == f"{PREFIX}consumer"]
    details = {(row.record_type, row.is_tombstone): row for row in of_group}
    member = json.loads(details["consumer_group_member_metadata", False].details)
    assert (member["client_id"], member["subscribed_topic_names"]) == ("client-consumer", [TOPIC])
    assert details["consumer_group_member_metadata", True].member_id
    assigned = [
        json.loads(row.details)["assigned_partitions"]
        for row in of_group
        if row.record_type == "consumer_group_current_member_assignment" and row.details
    ]
    assert any(sorted(one["partitions"]) == [0, 1] for topics in assigned for one in topics)


def test_transactions_are_those_of_kafkas_formatter(load: Callable[[str], DataFrame], kafka: LocalKafka) -> None:
    """Each step of each transaction is the same, with its partitions."""
    rows = [row for row in transaction_state(load("__transaction_state")).collect() if _is_ours(row.transactional_id)]
    theirs = Counter(
        (
            one["key"]["data"]["transactionalId"],
            data["transactionStatus"],
            data["producerId"],
            data["producerEpoch"],
            data["transactionLastUpdateTimestampMs"],
        )
        for one in _printed(kafka, "__transaction_state", "TransactionLogMessageFormatter")
        if _is_ours(one["key"]["data"]["transactionalId"])
        for data in [one["value"]["data"]]
    )
    ours = Counter(
        (row.transactional_id, row.state, row.producer_id, row.producer_epoch, _ms(row.updated_at)) for row in rows
    )
    assert ours == theirs
    ended = {row.transactional_id: row.state for row in sorted(rows, key=lambda row: row.log_offset)}
    assert ended == {f"{PREFIX}committed": "CompleteCommit", f"{PREFIX}aborted": "CompleteAbort"}
    ongoing = {part.topic for row in rows if row.state == "Ongoing" for part in row.partitions}
    assert {TOPIC, "__consumer_offsets"} <= ongoing


@pytest.mark.proof
@pytest.mark.usefixtures("load")
def test_the_snippet_of_the_page_runs(
    spark: SparkSession, kafka: LocalKafka, capsys: pytest.CaptureFixture[str]
) -> None:
    """The snippet of docs/values.md shows the newest commits and the steps of transactions."""
    names = run_snippet(VALUES.read_text("utf-8"), "consumer_offsets", spark, kafka.bootstrap_servers)
    assert names["commits"].columns[:3] == ["log_partition", "log_offset", "written_at"]
    assert f"{PREFIX}classic" in {row.group_id for row in names["commits"].collect()}
    assert "CompleteCommit" in capsys.readouterr().out


def test_what_is_no_record_of_kafkas(spark: SparkSession) -> None:
    """Such rows are kept, also from table `records`, with the reason for their nulls; the offset column is optional."""
    odd_name = b"\0\2\0\3g\xff\\"  # bytes that are not UTF-8, which are escaped
    values = [(None, b"x"), (b"\0\1", None), (b"\0\x63", b""), (odd_name, None)]
    frame = spark.createDataFrame(values, "key binary, value binary")
    rows = consumer_offsets(frame).collect()
    assert [(row.problem, row.is_tombstone, row.group_id) for row in rows] == [
        ("KEY_UNREADABLE", False, None),
        ("KEY_UNREADABLE", True, None),
        ("UNKNOWN_RECORD_TYPE", False, None),
        (None, True, "g\\xff\\"),
    ]
    assert "log_offset" not in rows[0]
    assert [row.problem for row in transaction_state(frame).collect()] == [
        "KEY_UNREADABLE",
        "UNKNOWN_RECORD_TYPE",
        "UNKNOWN_RECORD_TYPE",
        "UNKNOWN_RECORD_TYPE",
    ]
