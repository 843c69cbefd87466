"""Creates every shape of group and topic on a cluster, with librdkafka's client."""

import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from confluent_kafka import Consumer, KafkaException, Producer, ShareConsumer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from tests.integration import every_broker

RECORDS = 120
# Errors of a coordinator that loads the group, is not elected yet, or is another broker.
_COORDINATOR_MOVES = {14, 15, 16}


def create_topics(bootstrap_servers: str, topics: list[NewTopic]) -> None:
    """Create topics and wait until every broker knows their leaders."""
    admin = AdminClient({"bootstrap.servers": bootstrap_servers})
    for future in admin.create_topics(topics, operation_timeout=30).values():
        future.result(30)
    every_broker.knows_topics(bootstrap_servers, [topic.topic for topic in topics])


def delete_topics(bootstrap_servers: str, topics: list[str]) -> None:
    """Delete topics and wait until no broker knows them any more."""
    admin = AdminClient({"bootstrap.servers": bootstrap_servers})
    for future in admin.delete_topics(topics, operation_timeout=30).values():
        future.result(30)
    every_broker.has_forgotten_topics(bootstrap_servers, topics)


def produce(bootstrap_servers: str, topic: str, records: int = RECORDS) -> None:
    """Produce records with keys, which spread over the partitions."""
    producer = Producer({"bootstrap.servers": bootstrap_servers, "linger.ms": 5})
    for number in range(records):
        producer.produce(topic, key=str(number).encode(), value=b"v" * 50)
    assert producer.flush(30) == 0


def commit(bootstrap_servers: str, group_id: str, offsets: dict[tuple[str, int], int]) -> None:
    """Store offsets for a group that never had a member."""
    consumer = _consumer(bootstrap_servers, group_id)
    offsets_to_commit = [TopicPartition(topic, partition, offset) for (topic, partition), offset in offsets.items()]

    def is_committed() -> bool:
        try:
            consumer.commit(offsets=offsets_to_commit, asynchronous=False)
        except KafkaException as error:
            if error.args[0].code() in _COORDINATOR_MOVES:
                return False
            raise
        return True

    every_broker.wait_until(is_committed, f"{group_id} has no coordinator")
    consumer.close()


def _consumer(bootstrap_servers: str, group_id: str, **more: str | bool) -> Consumer:
    return Consumer(
        {
            "bootstrap.servers": bootstrap_servers,
            "group.id": group_id,
            "client.id": f"client-of-{group_id}",
            "enable.auto.commit": False,
            "auto.offset.reset": "earliest",
            **more,
        }
    )


@contextmanager
def live_member(bootstrap_servers: str, group_id: str, topic: str, **more: str | bool) -> Iterator[None]:
    """Make a member that owns all partitions of the topic, stays alive and commits nothing."""
    consumer = _consumer(bootstrap_servers, group_id, **more)
    assigned, stop = threading.Event(), threading.Event()
    consumer.subscribe([topic], on_assign=lambda *_: assigned.set())

    def poll() -> None:
        while not stop.is_set():
            consumer.poll(0.1)

    thread = threading.Thread(target=poll, daemon=True)
    thread.start()
    assert assigned.wait(60), f"{group_id} was assigned nothing"
    try:
        yield
    finally:
        stop.set()
        thread.join(10)
        consumer.close()


@contextmanager
def sharing(bootstrap_servers: str, group_id: str, topic: str) -> Iterator[None]:
    """Make a member of a share group that has read a record, and stays alive."""
    consumer = ShareConsumer(
        {"bootstrap.servers": bootstrap_servers, "group.id": group_id, "client.id": "sharer", "log_level": 0}
    )
    consumer.subscribe([topic])
    stop, read = threading.Event(), threading.Event()

    def poll() -> None:
        while not stop.is_set():
            if consumer.poll(0.2):
                read.set()

    thread = threading.Thread(target=poll, daemon=True)
    thread.start()
    try:
        for _ in range(60):  # a share group begins at the end, at the time when it gets its partitions
            produce(bootstrap_servers, topic, 30)
            if read.wait(0.5):
                break
        assert read.is_set(), f"{group_id} was given nothing"
        yield
    finally:
        stop.set()
        thread.join(10)
        consumer.close()


@contextmanager
def every_shape(
    bootstrap_servers: str, replication: int, *, with_new_protocol: bool, prefix: str = ""
) -> Iterator[None]:
    """Create topics and groups of every shape, with live members until the context ends; their state does not change.

    `prefix` keeps the names of one test's topics and groups apart from another's on the same brokers.
    """
    orders, strict, compacted, single, empty = (
        prefix + name for name in ("orders", "strict", "compacted", "single", "empty")
    )
    create_topics(
        bootstrap_servers,
        [
            NewTopic(orders, num_partitions=4, replication_factor=replication, config={"min.insync.replicas": "1"}),
            NewTopic(strict, 2, replication, config={"min.insync.replicas": str(max(1, replication - 1))}),
            NewTopic(compacted, 2, replication, config={"cleanup.policy": "compact"}),
            NewTopic(single, 3, 1),
            NewTopic(empty, 2, replication),
        ],
    )
    for topic in (orders, strict, compacted, single):
        produce(bootstrap_servers, topic)
    everywhere = [(orders, partition) for partition in range(4)]
    commit(bootstrap_servers, f"{prefix}lagging", dict.fromkeys(everywhere, 3))
    commit(bootstrap_servers, f"{prefix}partly", {(orders, 1): 0, (single, 2): 1})
    commit(bootstrap_servers, f"{prefix}ahead", {(orders, 0): 10_000})
    with ExitStack() as stack:
        stack.enter_context(live_member(bootstrap_servers, f"{prefix}uncommitted", strict))
        stack.enter_context(live_member(bootstrap_servers, f"{prefix}on-empty", empty))
        if with_new_protocol:
            new_style = {"group.protocol": "consumer"}
            stack.enter_context(live_member(bootstrap_servers, f"{prefix}new-style", orders, **new_style))
        yield
