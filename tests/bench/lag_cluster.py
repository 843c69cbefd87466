"""Fills a cluster with 2,000 partitions, records, and 300 groups that have committed on 40 of them."""

from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import ExitStack, contextmanager
from pathlib import Path

from confluent_kafka import Consumer, ConsumerGroupTopicPartitions, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from kafka_lagoon.sandbox.kafka import LocalKafka

TOPICS, PARTITIONS_EACH = 200, 10
GROUPS, TOPICS_OF_A_GROUP = 300, 4
_LIVE: tuple[dict[str, str], ...] = ({}, {}, {"group.protocol": "consumer"}, {"group.protocol": "consumer"})
_RECORDS_EACH = 3
_QUIET = {"log.connection.close": False}  # brokers are stopped here before their clients
_TIMEOUT_S = 120


@contextmanager
def many_groups(folder: Path) -> Iterator[LocalKafka]:
    """Run three brokers with the groups, and four more groups with a live member each, two of each protocol."""
    with LocalKafka(folder, brokers=3, heap_mb=512) as kafka, ExitStack() as members:
        admin = AdminClient({"bootstrap.servers": kafka.bootstrap_servers, **_QUIET})
        names = [f"topic-{number:03}" for number in range(TOPICS)]
        topics = [NewTopic(name, PARTITIONS_EACH, 1) for name in names]
        for future in admin.create_topics(topics, operation_timeout=_TIMEOUT_S).values():
            future.result(_TIMEOUT_S)
        _produce(kafka.bootstrap_servers, names)
        _commit(admin, names)
        for number, more in enumerate(_LIVE):
            member = _member(kafka.bootstrap_servers, f"live-{number}", names[number], more)
            members.callback(member.close)
        yield kafka


def _produce(bootstrap_servers: str, names: list[str]) -> None:
    producer = Producer({"bootstrap.servers": bootstrap_servers, "linger.ms": 50, "acks": 1, **_QUIET})
    for name in names:
        for partition in range(PARTITIONS_EACH):
            for _ in range(_RECORDS_EACH):
                producer.produce(name, b"value", partition=partition)
    assert producer.flush(_TIMEOUT_S) == 0


def _commit(admin: AdminClient, names: list[str]) -> None:
    """Commit offsets for groups that never had a member; one request per group, many at once.

    The first ones are refused while the brokers still make the topic for commits, so those are asked for again.
    """
    left = list(range(GROUPS))
    while left:
        altered = {group: admin.alter_consumer_group_offsets([_offsets(group, names)]) for group in left}
        left = [group for group, futures in altered.items() if any(_is_refused(one) for one in futures.values())]


def _offsets(group: int, names: list[str]) -> ConsumerGroupTopicPartitions:
    own = [names[(group + place * 50) % TOPICS] for place in range(TOPICS_OF_A_GROUP)]
    offsets = [TopicPartition(name, index, group % _RECORDS_EACH) for name in own for index in range(PARTITIONS_EACH)]
    return ConsumerGroupTopicPartitions(f"group-{group:03}", offsets)


def _is_refused(future: Future[ConsumerGroupTopicPartitions]) -> bool:
    return any(one.error for one in future.result(_TIMEOUT_S).topic_partitions)


def _member(bootstrap_servers: str, group_id: str, topic: str, more: dict[str, str]) -> Consumer:
    """Make a member that has joined and never commits; librdkafka's threads keep it alive."""
    member = Consumer(
        {
            "bootstrap.servers": bootstrap_servers,
            "group.id": group_id,
            "enable.auto.commit": False,
            "max.poll.interval.ms": 3_600_000,
            "fetch.wait.max.ms": 10_000,
            **_QUIET,
            **more,
        }
    )
    member.subscribe([topic])
    while not member.assignment():
        member.poll(0.1)
    member.pause(member.assignment())
    return member
