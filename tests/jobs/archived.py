"""Compares an archive with Kafka: the records of a read_committed consumer, and those of the tables."""

import hashlib
from collections import Counter, defaultdict
from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path

from confluent_kafka import TopicPartition
from confluent_kafka.admin import AdminClient

from tests.jobs.commands import rows
from tests.librdkafka import messages

Key = tuple[str, int, int, str]


def digest(key: bytes | None, value: bytes | None) -> str:
    """Return a short hash in which null and empty differ."""
    return hashlib.sha256(repr((key, value)).encode()).hexdigest()[:16]


def consumed(bootstrap_servers: str, topics: Iterable[str]) -> Counter[Key]:
    """Return every record that librdkafka's consumer reads with read_committed."""
    known = AdminClient({"bootstrap.servers": bootstrap_servers}).list_topics(timeout=30).topics
    starts = [TopicPartition(topic, number, 0) for topic in topics for number in known[topic].partitions]
    return Counter(
        (message.topic(), message.partition(), message.offset(), digest(message.key(), message.value()))
        for message in messages(bootstrap_servers, starts)
    )


def archived(warehouse: Path) -> Counter[Key]:
    """Return every record in the table."""
    return Counter(
        (row["topic"], row["partition"], row["offset"], digest(row["key"], row["value"]))
        for row in rows(warehouse, "records", "topic", "partition", "offset", "key", "value")
    )


def assert_tiled(warehouse: Path) -> None:
    """Check that the ranges of each partition, in the order of the runs, have no gaps and overlaps, and their counts add up."""
    sequences = defaultdict(list)
    for row in sorted(rows(warehouse, "record_ranges"), key=lambda row: (row["ingest_id"], row["from_offset"])):
        sequences[row["topic_id"], row["topic"], row["partition"]].append(row)
    for where, ranges in sequences.items():
        for before, after in pairwise(ranges):
            assert before["to_offset"] == after["from_offset"], where
        for row in ranges:
            parts = ("records", "control", "aborted", "compacted", "lost", "corrupt")
            assert sum(row[part] for part in parts) == max(0, row["to_offset"] - row["from_offset"]), row
    counted = sum(row["records"] for ranges in sequences.values() for row in ranges)
    assert counted == len(rows(warehouse, "records", "offset"))
