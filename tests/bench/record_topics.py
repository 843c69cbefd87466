"""Topics of records for the benchmarks, made by librdkafka's producer: small and large ones, plain and compressed."""

import json
import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from confluent_kafka import Producer
from confluent_kafka.admin import NewTopic

from tests.integration.state import create_topics

PARTITIONS = 4
_POOL = 50_000  # number of different values; keys differ more
_IN_A_ROW = 500  # consecutive records of one partition, so that its batches fill


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchTopic:
    """A topic: number of records, size of values, and codec."""

    name: str
    records: int
    value_bytes: int
    codec: str
    partitions: int = PARTITIONS


SMALL = BenchTopic(name="small", records=3_000_000, value_bytes=100, codec="none")
SMALL_ZSTD = BenchTopic(name="small-zstd", records=3_000_000, value_bytes=100, codec="zstd")
LARGE_ZSTD = BenchTopic(name="large-zstd", records=500_000, value_bytes=1000, codec="zstd")


def fill(bootstrap_servers: str, topic: BenchTopic) -> None:
    """Create the topic and produce its records: 16 bytes of key, JSON as value."""
    create_topics(bootstrap_servers, [NewTopic(topic.name, topic.partitions, 1)])
    producer = Producer(
        {
            "bootstrap.servers": bootstrap_servers,
            "compression.type": topic.codec,
            "linger.ms": 100,
            "batch.size": 131_072 if topic.value_bytes < 500 else 262_144,
            "queue.buffering.max.messages": 400_000,
            "queue.buffering.max.kbytes": 1 << 20,
            "acks": 1,
        }
    )
    values = list(json_values(topic.value_bytes))
    for number in range(topic.records):
        partition = number // _IN_A_ROW % topic.partitions
        while True:
            try:
                producer.produce(topic.name, values[number % _POOL], b"k%015d" % (number % 1_000_003), partition)
                break
            except BufferError:
                producer.poll(0.1)
        if number % 20_000 == 0:
            producer.poll(0)
    assert producer.flush(120) == 0


def json_values(size: int) -> Iterator[bytes]:
    """Make JSON documents of about `size` bytes with words of a short list, as in typical events."""
    dice = random.Random(7)
    words = ["order", "shipment", "invoice", "refund", "basket", "checkout", "delivery", "return", "payment", "account"]
    for number in range(_POOL):
        event = {"id": number, "user": f"u{dice.randrange(10**6):06}", "event": dice.choice(words)}
        event |= {
            "amount": dice.randrange(100_000) / 100,
            "ok": dice.random() < 0.5,
            "trace": f"{dice.getrandbits(32):08x}",
        }
        text, missing = "", size - len(_encoded(event, ""))
        while len(text) < missing:
            text += f"{dice.choice(words)} "
        yield _encoded(event, text)


def _encoded(event: Mapping[str, object], text: str) -> bytes:
    return json.dumps({**event, "text": text}, separators=(",", ":")).encode()
