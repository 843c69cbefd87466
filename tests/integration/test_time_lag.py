"""The time lag on real brokers, against the timestamps of Java producers and of librdkafka's consumer."""

from collections.abc import Iterator, Sequence
from datetime import timedelta
from typing import Any

import pytest

from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.client.request_stats import RequestStats
from kafka_lagoon.clock import Deadline
from kafka_lagoon.fetch.first_unread import first_unread
from kafka_lagoon.fetch.unread_positions import Position, UnreadRecords
from kafka_lagoon.kafka_settings import KafkaSettings
from kafka_lagoon.sandbox.kafka import LocalKafka
from kafka_lagoon.snapshot.collect import collect
from kafka_lagoon.tables.group_rows import ConsumerLagRow
from kafka_lagoon.tables.snapshot_rows import Snapshot
from tests.clock import CLOCK
from tests.integration.producers import (
    AS_SENT,
    CODECS,
    JavaProducers,
    Sent,
    compacted,
    consume,
    create,
    delete_records,
    java_producers,
    plain,
    wait_for_cleaner,
)
from tests.integration.state import commit

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(300)]
GROUP, PREFIX = "late-readers", "time-lag"
RETAINED = {"retention_ms": "-1"}


@pytest.fixture(scope="module")
def java(kafka: LocalKafka) -> Iterator[JavaProducers]:
    """Kafka's own producers."""
    with java_producers(kafka) as made:
        yield made


@pytest.fixture(scope="module")
def commits(kafka: LocalKafka, java: JavaProducers) -> dict[str, int]:
    """Make a topic for each case, and a group's commit in each."""
    offsets = {f"{PREFIX}-{codec}": 17 for codec in CODECS}
    for codec in CODECS:
        _plain(kafka, java, f"{PREFIX}-{codec}", compression_type=codec)
    for name, offset in (("append", 17), ("deleted", 3), ("end", 30), ("past-end", 33)):
        config = {"message_timestamp_type": "LogAppendTime"} if name == "append" else {}
        _plain(kafka, java, f"{PREFIX}-{name}", **config)
        offsets[f"{PREFIX}-{name}"] = offset
    delete_records(kafka, f"{PREFIX}-deleted", 10)
    offsets |= {f"{PREFIX}-compacted": 1, f"{PREFIX}-large": 1}
    compacted(kafka, java, f"{PREFIX}-compacted", "lz4")
    _large(kafka, java, f"{PREFIX}-large")
    _transactions(kafka, java)
    offsets |= {f"{PREFIX}-aborted": 2, f"{PREFIX}-open": 6, f"{PREFIX}-marker": 5}
    wait_for_cleaner(kafka, f"{PREFIX}-compacted")
    commit(kafka.bootstrap_servers, GROUP, {(topic, 0): offset for topic, offset in offsets.items()})
    return offsets


def _plain(kafka: LocalKafka, java: JavaProducers, topic: str, **config: str) -> None:
    codec = config.pop("compression_type", "none")
    create(kafka, topic, **RETAINED, **config)
    java.send(java.producer(compression_type=codec), topic, plain(30))


def _large(kafka: LocalKafka, java: JavaProducers, topic: str) -> None:
    """Write a batch of 5 MB between two small ones."""
    create(kafka, topic, **RETAINED, max_message_bytes=str(6 << 20))
    producer = java.producer(max_request_size=str(6 << 20))
    for size, time in ((1, AS_SENT), (5 << 20, AS_SENT + 1), (1, AS_SENT + 2)):
        java.send(producer, topic, [Sent(None, bytes(size), time)])


def _transactions(kafka: LocalKafka, java: JavaProducers) -> None:
    """Write an aborted transaction before five committed records, a committed one, and an open one after five records."""
    for name in ("aborted", "open", "marker"):
        topic = f"{PREFIX}-{name}"
        create(kafka, topic, **RETAINED)
        producer = java.producer(transactional_id=topic, transaction_timeout_ms="600000")
        producer.beginTransaction()
        java.send(producer, topic, plain(5, "first"))
        if name == "aborted":
            producer.abortTransaction()
        else:
            producer.commitTransaction()
        if name != "marker":
            producer.beginTransaction()
            java.send(producer, topic, plain(5, "second"))
        if name == "aborted":
            producer.commitTransaction()


@pytest.fixture(scope="module")
def snapshot(kafka: LocalKafka, commits: dict[str, int]) -> Snapshot:  # noqa: ARG001
    """Take one snapshot of all cases."""
    settings, deadline = KafkaSettings(bootstrap_servers=kafka.bootstrap_servers), Deadline.after(CLOCK, 60_000)
    with Cluster.connect(settings, CLOCK, RequestStats(), deadline) as cluster:

        def measure(positions: Sequence[Position]) -> UnreadRecords:
            return first_unread(cluster, positions, 64 << 20, deadline)

        return collect(cluster, "real", 1_000, deadline, lambda _, __: None, measure=measure)


@pytest.fixture(scope="module")
def rows(snapshot: Snapshot) -> dict[str, ConsumerLagRow]:
    """Return the group's rows by case."""
    return {one.topic.removeprefix(f"{PREFIX}-"): one for one in snapshot.of(ConsumerLagRow) if one.group_id == GROUP}


def seen(row: ConsumerLagRow) -> tuple[str | None, int | None, int | None]:
    return row.time_lag_method, row.first_unread_offset, row.first_unread_timestamp_ms


@pytest.mark.parametrize("codec", CODECS)
def test_the_time_that_the_producer_chose(rows: dict[str, ConsumerLagRow], snapshot: Snapshot, codec: str) -> None:
    """It is exact, in every codec; the age is by our clock."""
    row = rows[codec]
    assert seen(row) == ("exact", 17, AS_SENT + 17_000)
    assert row.first_unread_timestamp_type == "create_time"
    assert row.time_lag_ms is not None
    first, last = snapshot.published.started_at_ms, snapshot.published.finished_at_ms
    assert first <= AS_SENT + 17_000 + row.time_lag_ms <= last


def test_the_time_of_the_log(rows: dict[str, ConsumerLagRow], kafka: LocalKafka) -> None:
    """It is the time that librdkafka's consumer reads of the same record."""
    topic = f"{PREFIX}-append"
    (record, *_) = consume(kafka, {topic: 17}, "read_committed")[topic]
    assert seen(rows["append"]) == ("exact", 17, record.timestamp_ms)
    assert rows["append"].first_unread_timestamp_type == "log_append_time"


def test_gaps(rows: dict[str, ConsumerLagRow], kafka: LocalKafka) -> None:
    """After a compacted record or an aborted transaction the next record is that of librdkafka's consumer."""
    starts = {f"{PREFIX}-compacted": 1, f"{PREFIX}-aborted": 2}
    for topic, records in consume(kafka, starts, "read_committed").items():
        row = rows[topic.removeprefix(f"{PREFIX}-")]
        assert records[0].offset > starts[topic]
        assert seen(row) == ("next_after_gap", records[0].offset, records[0].timestamp_ms)


def test_the_ends_of_a_log(rows: dict[str, ConsumerLagRow]) -> None:
    """Deleted records, no more records, only a marker, and a commit past the end."""
    assert seen(rows["deleted"]) == ("below_log_start", 10, AS_SENT + 10_000)
    assert (rows["deleted"].records_lost, rows["deleted"].lag) == (7, 27)
    assert seen(rows["end"]) == seen(rows["marker"]) == ("caught_up", None, None)
    assert (rows["end"].time_lag_ms, rows["marker"].time_lag_ms) == (0, 0)
    assert (rows["end"].lag, rows["marker"].lag) == (0, 1)
    assert seen(rows["past-end"]) == ("unreadable", None, None)
    assert rows["past-end"].time_lag_problem == "COMMIT_PAST_END"


def test_a_batch_of_five_megabytes(rows: dict[str, ConsumerLagRow]) -> None:
    """It is read whole, alone."""
    assert seen(rows["large"]) == ("exact", 1, AS_SENT + 1)


def test_an_open_transaction(rows: dict[str, ConsumerLagRow], java: JavaProducers) -> None:
    """A Java consumer of committed records stops exactly at our last stable offset; lag differs by the open records."""
    row = rows["open"]
    assert seen(row) == ("blocked_by_open_transaction", 6, AS_SENT)
    assert (row.last_stable_offset, row.high_watermark) == (6, 11)
    assert (row.lag, row.lag_read_committed) == (5, 0)
    positions = {level: java_position(java, f"{PREFIX}-open", level) for level in ("committed", "uncommitted")}
    assert positions == {"committed": row.last_stable_offset, "uncommitted": row.high_watermark}


def java_position(java: JavaProducers, topic: str, level: str) -> int:
    """Return the position of Kafka's own consumer after its poll."""
    jvm: Any = java._jvm
    settings = jvm.java.util.HashMap()
    settings.put("bootstrap.servers", java._servers)
    settings.put("isolation.level", f"read_{level}")
    decoder = jvm.org.apache.kafka.common.serialization.ByteArrayDeserializer
    consumer = jvm.org.apache.kafka.clients.consumer.KafkaConsumer(settings, decoder(), decoder())
    partition = jvm.org.apache.kafka.common.TopicPartition(topic, 0)
    partitions = jvm.java.util.Collections.singletonList(partition)
    consumer.assign(partitions)
    consumer.seekToBeginning(partitions)
    waited = jvm.java.time.Duration.ofMillis(int(timedelta(seconds=1) / timedelta(milliseconds=1)))
    for _ in range(5):
        consumer.poll(waited)
    position: int = consumer.position(partition)
    consumer.close()
    return position
