"""Fills topics with real producers, so that logs have the bytes of real producers and brokers.

No byte in these logs is ours. librdkafka and Kafka's Java producer write them in every codec; brokers
convert, append their own times, compact and cut them. Topics have one partition and one replica: one folder holds the log.
"""

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from confluent_kafka import (
    TIMESTAMP_CREATE_TIME,
    TIMESTAMP_NOT_AVAILABLE,
    Consumer,
    KafkaException,
    Message,
    Producer,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient, NewTopic
from py4j.java_gateway import JavaGateway

from kafka_lagoon.jars.locked_jars import jar_paths
from kafka_lagoon.sandbox.kafka import LocalKafka
from tests.integration.every_broker import wait_until
from tests.integration.state import create_topics
from tests.java_gateway import SHORT_LIVED, java_gateway
from tests.librdkafka import messages

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
OLD_CODECS = CODECS[:4]  # before KIP-110
AS_SENT = 1_700_000_000_000
YEAR_10000, LAST_YEAR = 253_402_300_800_000, 9_000_000_000_000_000_000

_TIMEOUT_S = 60
_POLL_S = 0.05
ANY_TIME = {"retention.ms": "-1", "message.timestamp.after.max.ms": str(2**63 - 1)}


class Sent(NamedTuple):
    """A record as it is passed to a producer."""

    key: bytes | None
    value: bytes | None
    timestamp_ms: int = AS_SENT
    headers: tuple[tuple[str, bytes | None], ...] = ()
    partition: int = 0


class Consumed(NamedTuple):
    """A record as a consumer returns it."""

    offset: int
    timestamp_ms: int
    timestamp_type: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...]


# Keys and values that are null, empty, any byte, or long; invalid times; all headers that both producers allow.
ODD = (
    Sent(None, b"no key"),
    Sent(b"no value", None),
    Sent(None, None),
    Sent(b"", b""),
    Sent(bytes(range(256)), b"\n\r | offset: 7 payload: \0\xff"),
    Sent(b"long", b"abc" * 20_000),
    Sent(b"first millisecond", b"1970", 1),
    Sent(b"after the last year of timestamps", b"10000", YEAR_10000),
    Sent(b"far behind", b"285 million years", LAST_YEAR),
    Sent(b"back again", b"2023"),
    Sent(b"one header", b"h", AS_SENT, (("name", b"value"),)),
    Sent(b"twice", b"h", AS_SENT, (("same", b"1"), ("other", b"2"), ("same", b"1"), ("same", b"3"))),
    Sent(b"null and empty", b"h", AS_SENT, (("null", None), ("empty", b""), ("null", None))),
    Sent(b"odd keys", b"h", AS_SENT, (("", b""), ("a,b] key: 00", b"\xff\0"), ("ключ \U0001f511\x01\t", b"\n"))),
    Sent(b"long key", b"h", AS_SENT, (("k" * 300, b"v" * 20_000),)),
    Sent(b"many", b"h", AS_SENT, tuple((f"h{number}", b"%d" % number) for number in range(150))),
)
# Values that only Java's producer allows: librdkafka reads 0 as now, and ends a header's key at a NUL.
ODD_FOR_JAVA = (*ODD, Sent(b"epoch", b"0", 0), Sent(b"odd", b"h", AS_SENT, (("\0", None), ("a\nb\r\n", b"\0"))))


def plain(count: int, prefix: str = "value") -> list[Sent]:
    """Make records that compress well, a second apart."""
    return [
        Sent(b"key-%d" % number, f"{prefix}-{number}-{'x' * 60}".encode(), AS_SENT + 1000 * number)
        for number in range(count)
    ]


def create(kafka: LocalKafka, topic: str, **config: str) -> None:
    """Create a topic, and wait until its leader answers; settings have underscores for dots.

    A producer that comes before may write its second batch first, even with one request in flight.
    """
    settings = {name.replace("_", "."): value for name, value in config.items()}
    new = NewTopic(topic, num_partitions=1, replication_factor=1, config={**settings, "min.insync.replicas": "1"})
    create_topics(kafka.bootstrap_servers, [new])
    wait_until(lambda: _leader_answers(kafka, topic), f"{topic} has no leader")


def _leader_answers(kafka: LocalKafka, topic: str) -> bool:
    try:
        return log_starts(kafka, [topic]) == {topic: 0}
    except KafkaException:  # e.g. NOT_LEADER_OR_FOLLOWER
        return False


def any_time(kafka: LocalKafka, topic: str) -> None:
    """Create a topic that accepts and keeps records of any time."""
    create(kafka, topic, **ANY_TIME)


def queue(producer: Producer, topic: str, records: Iterable[Sent], failed: list[str]) -> None:
    """Queue records of librdkafka; the errors of those that are not acknowledged are added to `failed` until it is flushed."""
    for record in records:
        producer.produce(
            topic,
            record.value,
            record.key,
            partition=record.partition,
            timestamp=record.timestamp_ms,
            headers=list(record.headers) or None,
            on_delivery=lambda error, _: failed.append(str(error)) if error else None,
        )


def by_librdkafka(kafka: LocalKafka, topic: str, records: Sequence[Sent], **config: str | int) -> None:
    """Produce in batches of at most a dozen records, in order; settings have underscores for dots."""
    failed: list[str] = []
    settings = {name.replace("_", "."): value for name, value in config.items()}
    base = {"bootstrap.servers": kafka.bootstrap_servers, "log_level": 0, "linger.ms": 20, "batch.num.messages": 12}
    base["max.in.flight"] = 1  # a batch that is sent again would be after the next one
    producer = Producer({**base, **settings})
    queue(producer, topic, records, failed)
    assert producer.flush(_TIMEOUT_S) == 0
    assert not failed, failed


class JavaProducers:
    """Kafka's Java producers, in a JVM of their own; each producer lives until the JVM ends."""

    def __init__(self, gateway: JavaGateway, bootstrap_servers: str) -> None:
        self._jvm = gateway.jvm
        self._servers = bootstrap_servers

    def producer(self, **config: str) -> Any:
        """Make a KafkaProducer of bytes; settings have underscores for dots. With a transactional id it is initialised."""
        settings = self._jvm.java.util.HashMap()
        base = {"bootstrap_servers": self._servers, "linger_ms": "20", "batch_size": "4000"}
        for name, value in {**base, **config}.items():
            settings.put(name.replace("_", "."), value)
        bytes_as_they_are = self._jvm.org.apache.kafka.common.serialization.ByteArraySerializer
        producer = self._jvm.org.apache.kafka.clients.producer.KafkaProducer(
            settings, bytes_as_they_are(), bytes_as_they_are()
        )
        if "transactional_id" in config:
            producer.initTransactions()
        return producer

    def at_once(self) -> Any:
        """Java's duration of nothing, for a producer that is closed in the middle of a transaction."""
        return self._jvm.java.time.Duration.ZERO

    def send(self, producer: Any, topic: str, records: Sequence[Sent]) -> None:
        """Send and wait until all are written."""
        futures = [producer.send(self._record(topic, record)) for record in records]
        producer.flush()
        for future in futures:
            future.get()

    def _record(self, topic: str, record: Sent) -> Any:
        headers = self._jvm.java.util.ArrayList()
        for name, value in record.headers:
            headers.add(self._jvm.org.apache.kafka.common.header.internals.RecordHeader(name, value))
        return self._jvm.org.apache.kafka.clients.producer.ProducerRecord(
            topic, record.partition, record.timestamp_ms, record.key, record.value, headers
        )


@contextmanager
def java_producers(kafka: LocalKafka) -> Iterator[JavaProducers]:
    """Start Java producers of the cluster's own release."""
    with java_gateway(jar_paths(f"kafka-{kafka.version}"), "-Xmx256m", *SHORT_LIVED) as gateway:
        yield JavaProducers(gateway, kafka.bootstrap_servers)


def transactions(java: JavaProducers, topic: str, codec: str) -> None:
    """Write transactions of two producers: committed, aborted, both at once, an empty one, and an open one at the end."""
    producer, other = (
        java.producer(transactional_id=f"{topic}-{name}", compression_type=codec, transaction_timeout_ms="600000")
        for name in ("one", "two")
    )
    producer.beginTransaction()
    java.send(producer, topic, ODD_FOR_JAVA)
    producer.commitTransaction()
    for _ in range(2):
        producer.beginTransaction()
        other.beginTransaction()
        java.send(producer, topic, plain(20, "aborted"))
        java.send(other, topic, plain(20, "committed"))
        java.send(producer, topic, plain(5, "aborted"))
        producer.abortTransaction()
        java.send(other, topic, plain(5, "committed"))
        other.commitTransaction()
    producer.beginTransaction()
    java.send(producer, topic, plain(5, "open"))
    other.beginTransaction()
    java.send(other, topic, plain(5, "committed after the open one"))
    other.commitTransaction()
    other.beginTransaction()
    java.send(other, topic, plain(5, "aborted after the open one"))
    other.abortTransaction()


def compacted(kafka: LocalKafka, java: JavaProducers, topic: str, codec: str) -> None:
    """Write keys that are overwritten within and across batches, tombstones, and transactions, in several segments."""
    create(kafka, topic, **_COMPACTED)
    several = [b"%d" % number for number in range(60)]
    producer = java.producer(compression_type=codec)
    other = java.producer(compression_type=codec, transactional_id=topic)
    silent = java.producer(compression_type=codec)  # its last batch is kept for its sequence number, without a record
    java.send(silent, topic, [Sent(key, b"overwritten", _now_ms()) for key in several[::6]])
    for step in (1, 2, 3):
        java.send(producer, topic, [Sent(key, key + b"-%d" % step, _now_ms()) for key in several[::step]])
        other.beginTransaction()
        java.send(other, topic, [Sent(key, b"aborted", _now_ms()) for key in several[::7]])
        other.abortTransaction()
        other.beginTransaction()
        java.send(other, topic, [Sent(b"tx" + key, b"committed %d" % step, _now_ms()) for key in several[::step]])
        other.commitTransaction()
        time.sleep(2 * _SEGMENT_S)  # the next record starts a segment
    java.send(producer, topic, [Sent(key, None, _now_ms()) for key in several[:50:10]])
    time.sleep(2 * _SEGMENT_S)
    java.send(producer, topic, [Sent(b"last", b"in the active segment, which is never compacted", _now_ms())])


def compacted_messages(kafka: LocalKafka, topic: str, codec: str) -> None:
    """Write the same in a format before transactions."""
    create(kafka, topic, message_format_version="0.10.0", **_COMPACTED)
    several = [b"%d" % number for number in range(60)]
    for step in (1, 2, 3):
        sent = [Sent(key, key + b"-%d" % step, _now_ms()) for key in several[::step]]
        by_librdkafka(kafka, topic, sent, compression_type=codec)
        time.sleep(2 * _SEGMENT_S)
    by_librdkafka(kafka, topic, [Sent(b"last", b"in the active segment", _now_ms())])


_SEGMENT_S = 0.2
_COMPACTED = {
    "cleanup_policy": "compact",
    "min_cleanable_dirty_ratio": "0.01",
    "segment_ms": str(int(1000 * _SEGMENT_S)),
    "min_compaction_lag_ms": "0",
}


def wait_for_cleaner(kafka: LocalKafka, *topics: str) -> None:
    """Wait until all but the active segment of each topic is compacted, as the cleaner's checkpoint shows."""
    wait_until(lambda: all(_is_clean(folder(kafka, topic)) for topic in topics), "the cleaner did not come")


def _is_clean(log: Path) -> bool:
    active = max(int(path.stem) for path in log.glob("*.log"))
    notes = log.parent / "cleaner-offset-checkpoint"
    noted = notes.read_text().splitlines()[2:] if notes.is_file() else []
    first_dirty = {name: int(offset) for name, _, offset in (line.rsplit(" ", 2) for line in noted)}
    being_replaced = any(path.suffix in {".deleted", ".cleaned", ".swap"} for path in log.iterdir())
    return first_dirty.get(log.name.removesuffix("-0")) == active and not being_replaced


def delete_records(kafka: LocalKafka, topic: str, before: int) -> None:
    """Move the log start to an offset, which may be within a batch."""
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap_servers, "log_level": 0})
    (deleted,) = admin.delete_records([TopicPartition(topic, 0, before)]).values()
    deleted.result(_TIMEOUT_S)


def folder(kafka: LocalKafka, topic: str) -> Path:
    """Return the folder of the topic's log."""
    (log,) = kafka.directory.glob(f"broker-*/data/{topic}-0")
    return log


def log_starts(kafka: LocalKafka, topics: Sequence[str]) -> dict[str, int]:
    """Return the log start offsets, with librdkafka."""
    consumer = Consumer({"bootstrap.servers": kafka.bootstrap_servers, "group.id": "log-starts", "log_level": 0})
    return {topic: consumer.get_watermark_offsets(TopicPartition(topic, 0), _TIMEOUT_S)[0] for topic in topics}


def consume(
    kafka: LocalKafka,
    starts: Mapping[str, int],
    isolation_level: str,
    partition: int = 0,
    *,
    has_open_transactions: bool = False,
) -> dict[str, list[Consumed]]:
    """Return the records that librdkafka's consumer reads of a partition, from these offsets to the end."""
    places = [TopicPartition(topic, partition, start) for topic, start in starts.items()]
    read: dict[str, list[Consumed]] = {topic: [] for topic in starts}
    servers = kafka.bootstrap_servers
    for message in messages(servers, places, isolation_level, has_open_transactions=has_open_transactions):
        read[str(message.topic())].append(_consumed(message))
    return read


def _consumed(message: Message) -> Consumed:
    kind, timestamp_ms = message.timestamp()
    return Consumed(
        offset=message.offset(),
        timestamp_ms=timestamp_ms if kind != TIMESTAMP_NOT_AVAILABLE else -1,
        timestamp_type=kind - TIMESTAMP_CREATE_TIME,
        key=message.key(),
        value=message.value(),
        headers=tuple(message.headers() or ()),
    )


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
