"""Arrow batches on real brokers are read by librdkafka, Kafka's Java consumer and its dump, also after leaders died."""

import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest
from confluent_kafka import TopicPartition as Position
from confluent_kafka.admin import NewTopic

from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.produce.arrow_writer import ArrowWriter, WriteOptions
from kafka_lagoon.produce.partitioner import partition_of
from kafka_lagoon.produce.producer_state import ProducerState
from kafka_lagoon.produce.sequences import init_producer_id
from kafka_lagoon.produce.targets import describe_targets
from kafka_lagoon.produce.transactions import TransactionalProducer
from kafka_lagoon.records.compressing import CODECS
from kafka_lagoon.sandbox.kafka import LocalKafka
from kafka_lagoon.topic_partition import TopicPartition
from tests.integration.every_broker import wait_until
from tests.integration.producers import ODD, Consumed, JavaProducers, Sent, consume, create, java_producers
from tests.integration.state import create_topics
from tests.integration.test_produce_and_fetch import RELEASES, connected, dumped, kept, soon
from tests.librdkafka import messages

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(300)]

HEADERS = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))
# Times that no other producer allows, but brokers accept.
ODD_TIMES = (Sent(b"before 1970", b"-", -5), Sent(b"none", b"-", -1), Sent(b"epoch", b"0", 0))


@pytest.fixture(params=RELEASES)
def release(request: pytest.FixtureRequest) -> LocalKafka:
    """Brokers of each release."""
    return request.getfixturevalue(request.param)


def arrow(records: Sequence[Sent]) -> pa.RecordBatch:
    """Return the records as columns."""
    pairs = [[{"key": name, "value": value} for name, value in one.headers] for one in records]
    return pa.RecordBatch.from_pydict(
        {
            "key": pa.array([one.key for one in records], pa.binary()),
            "value": pa.array([one.value for one in records], pa.binary()),
            "headers": pa.array(pairs, HEADERS),
            "timestamp_ms": pa.array([one.timestamp_ms for one in records], pa.int64()),
        }
    )


def numbered(cluster: Cluster) -> ProducerState:
    """Make a state with a new producer id."""
    return ProducerState(init_producer_id(cluster, soon()).producer._replace(sequence=0))


@contextmanager
def writing(cluster: Cluster, options: WriteOptions) -> Iterator[ArrowWriter]:
    with ArrowWriter(cluster, {}, numbered(cluster), options) as writer:
        yield writer


def test_every_codec_is_read_by_others(release: LocalKafka) -> None:
    """librdkafka reads nulls, empty fields, headers and odd times; Kafka's dump finds every batch valid."""
    topics = {codec: f"columns-{codec}" for codec in CODECS}
    for topic in topics.values():
        kept(release, topic)
    written: dict[str, list[int]] = {}
    with connected(release) as (cluster, _):
        for codec, topic in topics.items():
            # Odd records of 20 kB and more get batches of their own.
            options = WriteOptions(codec=CODECS[codec], target_batch_bytes=2_000)
            with writing(cluster, options) as writer:
                writer.write(arrow([*ODD, *ODD_TIMES]), topic=topic, partition=0)
            assert not writer.failures
            written[topic] = [(one.first, one.count, one.base_offset) for one in writer.take_written()]
    sent = [*ODD, *ODD_TIMES]
    read = consume(release, dict.fromkeys(topics.values(), 0), "read_uncommitted")
    for topic in topics.values():
        assert [_plain(one) for one in read[topic]] == [(at, *_timed(one)) for at, one in enumerate(sent)]
    for codec, topic in topics.items():
        batches = dumped(release, [topic])[topic] if codec == "none" else ()
        assert {(one.codec, one.magic, one.is_valid) for one in batches} <= {(codec, 2, True)}
        assert [(one.base_sequence, one.count, one.base_offset) for one in batches] == (
            written[topic] if batches else []
        )
        assert [one.timestamp_ms for batch in batches for one in batch.records] == (
            [one.timestamp_ms for one in sent] if batches else []
        )


def _timed(sent: Sent) -> tuple[Any, ...]:
    return sent.timestamp_ms, sent.key, sent.value, sent.headers


def _plain(read: Consumed) -> tuple[Any, ...]:
    return read.offset, read.timestamp_ms, read.key, read.value, read.headers


def test_transactions(release: LocalKafka) -> None:
    """A committed transaction is read completely, an aborted one is not; partitions are added as the release requires."""
    topics = ["columns-first", "columns-second"]
    for topic in topics:
        kept(release, topic)
    expected = []
    with connected(release) as (cluster, _):
        producer = TransactionalProducer(cluster, "columns-transactions", 60_000)
        for value, is_kept in ((b"1", True), (b"2", False), (b"3", True)):
            transaction = producer.begin(soon())
            options = WriteOptions(target_batch_bytes=300, codec=CODECS["zstd"])
            state = ProducerState(transaction.producer)
            with ArrowWriter(cluster, {}, state, options, transaction=transaction) as writer:
                for topic in topics:
                    writer.write(arrow([Sent(b"k", value * 10)] * 50), topic=topic, partition=0)
            assert not writer.failures
            if is_kept:
                producer.commit(soon())
                expected += [value * 10] * 50
            else:
                producer.abort(soon())
    read = consume(release, dict.fromkeys(topics, 0), "read_committed")
    assert {topic: [record.value for record in read[topic]] for topic in topics} == dict.fromkeys(topics, expected)


def test_java_reads_keys_where_it_would_put_them(kafka: LocalKafka) -> None:
    """Kafka's consumer reads each key in the partition of Java's partitioner, with its headers and time, in order."""
    kept = {"retention.ms": "-1"}  # the records have times of 2023
    new = NewTopic("columns-keyed", num_partitions=5, replication_factor=3, config=kept)
    create_topics(kafka.bootstrap_servers, [new])
    times = 1_700_000_000_000
    sent = [Sent(b"key-%d" % (number % 40), b"%d" % number, times - number, (("n", b"x"),)) for number in range(400)]
    with connected(kafka) as (cluster, _), writing(cluster, WriteOptions(codec=CODECS["snappy"])) as writer:
        writer.write(arrow(sent), topic="columns-keyed")
    assert not writer.failures
    with java_producers(kafka) as java:
        read = _consumed_by_java(java, kafka, "columns-keyed", 5, len(sent))
    for partition in range(5):
        expected = [one for one in sent if partition_of(one.key or b"", 5) == partition]
        assert read[partition] == [(one.timestamp_ms, one.key, one.value, "n", b"x") for one in expected]


def _consumed_by_java(
    java: JavaProducers, kafka: LocalKafka, topic: str, partitions: int, count: int
) -> dict[int, list[tuple[Any, ...]]]:
    """Return timestamp, key, value and the only header of each record, by partition, from Kafka's consumer."""
    jvm = java._jvm
    settings = jvm.java.util.HashMap()
    settings.put("bootstrap.servers", kafka.bootstrap_servers)
    settings.put("check.crcs", "true")
    as_bytes = jvm.org.apache.kafka.common.serialization.ByteArrayDeserializer
    consumer = jvm.org.apache.kafka.clients.consumer.KafkaConsumer(settings, as_bytes(), as_bytes())
    some = jvm.java.util.ArrayList()
    for partition in range(partitions):
        some.add(jvm.org.apache.kafka.common.TopicPartition(topic, partition))
    consumer.assign(some)
    consumer.seekToBeginning(some)
    read: dict[int, list[tuple[Any, ...]]] = {partition: [] for partition in range(partitions)}
    deadline = time.monotonic() + 60
    while sum(map(len, read.values())) < count:
        assert time.monotonic() < deadline
        polled = consumer.poll(jvm.java.time.Duration.ofMillis(500)).iterator()
        while polled.hasNext():
            record = polled.next()
            (header,) = record.headers().toArray()
            fields = record.timestamp(), record.key(), record.value(), header.key(), header.value()
            read[record.partition()].append(fields)
    consumer.close()
    return read


def _write_while_leaders_die(kafka: LocalKafka, topic: str, killed: Sequence[int]) -> None:
    """Write to six partitions while some brokers are killed and restarted in turn; then read everything."""
    new = NewTopic(topic, num_partitions=6, replication_factor=3, config={"min.insync.replicas": "2"})
    create_topics(kafka.bootstrap_servers, [new])
    has_ended = threading.Event()

    def kill() -> None:
        try:
            for broker_id in killed:
                time.sleep(0.5)
                kafka.kill(broker_id)
                time.sleep(0.5)
                kafka.start(broker_id)
                wait_until(lambda: len(kafka.known_brokers(killed[0])) == 3, "the broker did not come back")
        finally:
            has_ended.set()

    given: dict[int, list[bytes]] = {partition: [] for partition in range(6)}
    options = WriteOptions(target_batch_bytes=4_000, buffer_bytes=200_000, codec=CODECS["lz4"])
    killer = threading.Thread(target=kill)
    with connected(kafka) as (cluster, _), writing(cluster, options) as writer:
        killer.start()
        number = 0
        while not has_ended.is_set() or number < 50_000:
            values = [b"%d" % one for one in range(number, number + 300)]
            partitions = [one % 6 for one in range(number, number + 300)]
            for partition, value in zip(partitions, values, strict=True):
                given[partition].append(value)
            writer.write(
                pa.RecordBatch.from_pydict({"partition": pa.array(partitions), "value": pa.array(values)}), topic=topic
            )
            number += 300
            time.sleep(0.003)
    killer.join()
    assert not writer.failures
    written = writer.take_written()
    assert sum(one.count for one in written) == number
    read = _values(kafka, topic)
    assert {partition: [value for _, value in some] for partition, some in read.items()} == given
    for part in written:  # the records are at their known offsets
        if part.base_offset is not None:
            offsets = [offset for offset, _ in read[part.partition.partition][part.first : part.first + part.count]]
            assert offsets == list(range(part.base_offset, part.base_offset + part.count))


def _values(kafka: LocalKafka, topic: str) -> dict[int, list[tuple[int, bytes | None]]]:
    """Return offset and value of every record, by partition, from librdkafka."""
    read: dict[int, list[tuple[int, bytes | None]]] = {partition: [] for partition in range(6)}
    for message in messages(kafka.bootstrap_servers, [Position(topic, partition, 0) for partition in read]):
        read[message.partition() or 0].append((message.offset() or 0, message.value()))
    return read


@pytest.mark.proof
def test_leaders_that_die(kafka: LocalKafka) -> None:
    """A broker is killed with batches in flight: nothing is missing, doubled or out of order."""
    _write_while_leaders_die(kafka, "columns-loss", [2])


@pytest.mark.proof
@pytest.mark.timeout(1_200)
def test_leaders_that_die_again_and_again(kafka: LocalKafka) -> None:
    """The same with one broker after another, many times."""
    _write_while_leaders_die(kafka, "columns-losses", [1, 2, 3] * 8)


def test_a_limit_that_became_lower(kafka: LocalKafka) -> None:
    """The broker refuses a batch that is now too large; earlier records are written, with known offsets."""
    create(kafka, "columns-limit", max_message_bytes="3000")
    with connected(kafka) as (cluster, _):
        targets = describe_targets(cluster, {"columns-limit"}, soon())
        assert targets["columns-limit"].max_batch_bytes == 3_000
        higher = {"columns-limit": replace(targets["columns-limit"], max_batch_bytes=None)}
        with ArrowWriter(cluster, higher, numbered(cluster), WriteOptions(target_batch_bytes=100)) as writer:
            writer.write(arrow([Sent(None, b"a"), Sent(None, b"b" * 4_000), Sent(None, b"c")]), topic="columns-limit")
    assert [(one.first, one.count, one.base_offset) for one in writer.take_written()] == [(0, 1, 0)]
    assert [(one.first, one.failure.name) for one in writer.failures] == [
        (1, "MESSAGE_TOO_LARGE"),
        (2, "AFTER_UNWRITTEN_BATCH"),
    ]
    assert writer.failures[0].partition == TopicPartition("columns-limit", 0)
