"""Reads partitions to their ends with librdkafka's consumer, which is not our code."""

import time
from collections.abc import Collection, Iterable, Iterator

from confluent_kafka import Consumer, IsolationLevel, KafkaError, KafkaException, Message, TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec

READ_COMMITTED = "read_committed"
READ_UNCOMMITTED = "read_uncommitted"
_TIMEOUT_S = 60


def messages(
    bootstrap_servers: str,
    starts: Iterable[TopicPartition],
    isolation_level: str = READ_COMMITTED,
    *,
    has_open_transactions: bool = False,
    **properties: str | int | bool,
) -> Iterator[Message]:
    """Read each partition from the offset that is given with it to its end.

    Committed records are read when the markers of all transactions are written, unless some transactions stay open.
    """
    partitions = list(starts)
    if isolation_level == READ_COMMITTED and not has_open_transactions:
        wait_until_stable(bootstrap_servers, {one.topic for one in partitions})
    fixed = {
        "bootstrap.servers": bootstrap_servers,
        "group.id": "reads-to-the-end",
        "enable.auto.commit": False,
        "enable.partition.eof": True,
        "isolation.level": isolation_level,
        "fetch.wait.max.ms": 10,
        "log_level": 0,
    }
    consumer = Consumer({**fixed, **{name.replace("_", "."): value for name, value in properties.items()}})
    try:
        consumer.assign(partitions)
        unfinished = {(one.topic, one.partition) for one in partitions}
        while unfinished:
            message = consumer.poll(_TIMEOUT_S)  # consume() would wait until its time is over
            assert message is not None, f"the consumer came to no end of {unfinished}"
            if (error := message.error()) is None:
                yield message
            elif error.code() == KafkaError._PARTITION_EOF:
                # A partition to which records come meanwhile ends more than once.
                unfinished.discard((message.topic(), message.partition()))
            else:
                raise KafkaException(error)
    finally:
        consumer.close()


def wait_until_stable(bootstrap_servers: str, topics: Collection[str]) -> None:
    """Wait until the markers of transactions are written, which happens after brokers have answered their end."""
    client = AdminClient({"bootstrap.servers": bootstrap_servers, "log_level": 0})
    known = client.list_topics(timeout=_TIMEOUT_S).topics
    places = [TopicPartition(topic, number) for topic in topics for number in known[topic].partitions]
    latest = dict.fromkeys(places, OffsetSpec.latest())
    until = time.monotonic() + _TIMEOUT_S
    while True:
        committed, written = (
            [future.result(_TIMEOUT_S).offset for future in client.list_offsets(latest, isolation_level=level).values()]
            for level in (IsolationLevel.READ_COMMITTED, IsolationLevel.READ_UNCOMMITTED)
        )
        if committed == written:
            return
        assert time.monotonic() < until, (
            f"a transaction does not end: stable up to {committed}, written up to {written}"
        )
        time.sleep(0.02)
