"""Topics for the tests of the data source, filled by librdkafka."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from confluent_kafka import Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewPartitions, NewTopic

from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.client.request_stats import RequestStats
from kafka_lagoon.clock import Deadline
from kafka_lagoon.kafka_settings import KafkaSettings
from kafka_lagoon.protocol.messages.metadata import METADATA, MetadataRequest, MetadataRequestTopic
from kafka_lagoon.sandbox.kafka import LocalKafka
from tests.clock import CLOCK
from tests.integration.state import create_topics
from tests.librdkafka import wait_until_stable

DAY_MS = 86_400_000
START_MS = 1_700_000_000_000
CODECS = ("none", "gzip", "snappy", "lz4", "zstd")


def admin(kafka: LocalKafka) -> AdminClient:
    """Return a client that creates and deletes topics."""
    return AdminClient({"bootstrap.servers": kafka.bootstrap_servers})


def create(kafka: LocalKafka, topic: str, partitions: int = 1, replicas: int = 1, **config: str) -> None:
    """Create a topic that keeps old records; dots in names of properties are written as underscores."""
    properties = {"retention.ms": "-1"} | {name.replace("_", "."): text for name, text in config.items()}
    create_topics(kafka.bootstrap_servers, [NewTopic(topic, partitions, replicas, config=properties)])


def add_partitions(kafka: LocalKafka, topic: str, total: int) -> None:
    """Add partitions to a topic, and wait until every broker knows them."""
    client = admin(kafka)
    client.create_partitions([NewPartitions(topic, total)])[topic].result()
    _wait_until_known(kafka, topic, total)


def _wait_until_known(kafka: LocalKafka, topic: str, partitions: int) -> None:
    """Wait until all brokers know the topics, because a query may use any broker."""
    deadline = Deadline.after(CLOCK, 30_000)
    settings = KafkaSettings(bootstrap_servers=kafka.bootstrap_servers)
    request = MetadataRequest(topics=(MetadataRequestTopic(name=topic),), allow_auto_topic_creation=False)
    with Cluster.connect(settings, CLOCK, RequestStats(), deadline) as cluster:
        for broker in cluster.brokers.values():
            while len(broker.ask(METADATA, request, deadline).topics[0].partitions) < partitions:
                assert deadline.pause(0.05)


def delete_records(kafka: LocalKafka, topic: str, before_offset: int, partition: int = 0) -> None:
    """Move the log start offset of a partition."""
    client, position = admin(kafka), TopicPartition(topic, partition, before_offset)
    client.delete_records([position])[position].result()


def produce(kafka: LocalKafka, topic: str, values: Iterable[Any], partition: int = 0, **properties: Any) -> None:
    """Write a record for each value, which is bytes or arguments of produce(); timestamps are a second apart by default."""
    producer = _producer(kafka, properties)
    for number, value in enumerate(values):
        _send(producer, topic, partition, value, START_MS + 1_000 * number)
    assert producer.flush(30) == 0


@contextmanager
def open_transaction(
    kafka: LocalKafka, topic: str, values: Sequence[Any], partition: int = 0, *, commits: bool
) -> Iterator[None]:
    """Write this many records in a transaction that ends with the context, and wait until they are stable."""
    producer = _producer(kafka, {"transactional.id": f"{topic}-{partition}-{commits}"})
    producer.init_transactions(30)
    producer.begin_transaction()
    for value in values:
        _send(producer, topic, partition, value, START_MS)
    producer.flush(30)
    yield
    if commits:
        producer.commit_transaction(30)
    else:
        producer.abort_transaction(30)
    wait_until_stable(kafka.bootstrap_servers, [topic])


def _producer(kafka: LocalKafka, properties: Mapping[str, Any]) -> Producer:
    named = {name.replace("_", "."): value for name, value in properties.items()}
    fixed = {
        "bootstrap.servers": kafka.bootstrap_servers,
        "linger.ms": 50,
        # Order is kept even if the first batch is sent again, because the leader does not know the topic yet.
        "max.in.flight.requests.per.connection": 1,
        # On a busy machine records are made faster than they are sent.
        "queue.buffering.max.messages": 1_000_000,
    }
    return Producer({**fixed, **named})


def _send(producer: Producer, topic: str, partition: int, value: Any, timestamp_ms: int) -> None:
    arguments = value if isinstance(value, dict) else {"value": value}
    producer.produce(topic, partition=partition, **{"timestamp": timestamp_ms, **arguments})
    producer.poll(0)


def fill_mixed(kafka: LocalKafka, topic: str) -> None:
    """Fill three partitions with all codecs, headers, nulls, empty values, and committed and aborted transactions."""
    create(kafka, topic, partitions=3)
    odd: list[dict[str, Any]] = [
        {"key": None, "value": None},
        {"key": b"", "value": b""},
        {"key": b"k", "value": None, "headers": [("a", b"1"), ("a", b"2"), ("b", None), ("", b"")]},
        {"key": "schlüssel".encode(), "value": b"\x00\xff" * 50, "headers": [("ümlaut", b"\x00")]},
        {"key": b"k2", "value": b"v", "timestamp": START_MS + 10 * DAY_MS},
    ]
    for partition in range(3):
        for codec in CODECS:
            values = [*odd, *(b"%s-%d" % (codec.encode(), number) for number in range(40))]
            produce(kafka, topic, values, partition, compression_type=codec)
    for partition in range(2):
        with open_transaction(kafka, topic, [b"aborted"] * 7, partition, commits=False):
            pass
        with open_transaction(kafka, topic, [b"committed"] * 5, partition, commits=True):
            pass
