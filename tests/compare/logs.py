"""Logs of records on a fake cluster, and comparisons of two of them."""

from collections.abc import Sequence

from kafka_lagoon.compare.result import Comparison, How
from kafka_lagoon.compare.sequences import CompareLimits, Report
from kafka_lagoon.compare.sides import TopicOfCluster, Wanted
from kafka_lagoon.compare.topics import compare_topics
from kafka_lagoon.fetch.split import ReadOptions
from kafka_lagoon.kafka_settings import KafkaSettings
from kafka_lagoon.records.encoding import Record, encode_batch
from tests.clock import CLOCK
from tests.fake.cluster import FakeBatch, FakePartition

LIMITS = CompareLimits(window=64, different=500)
HOW = How(limits=LIMITS, read=ReadOptions(fetch_bytes=600, fetch_wait_ms=10, stall_timeout_ms=1_500))


def record(number: int, **more: bytes) -> Record:
    """Make a record that differs from all others."""
    return Record(1_000 + number, more.get("key", b"k%d" % number), more.get("value", b"v%d" % number))


def append(log: FakePartition, records: Sequence[Record], size: int = 10, gap: int = 0) -> None:
    """Append batches with these numbers of records, and gaps of this many offsets between them."""
    for start in range(0, len(records), size):
        part = records[start : start + size]
        base, data = log.high_watermark + (gap if start else 0), encode_batch(part)
        log.append(FakeBatch(base, base + len(part) - 1, base.to_bytes(8, "big") + data[8:]))


def compare(
    settings: KafkaSettings,
    left: str,
    right: str,
    wanted: Wanted | None = None,
    how: How = HOW,
    report: Report = lambda _: None,
) -> Comparison:
    """Compare two topics of one cluster."""
    sides = (TopicOfCluster(cluster="c", kafka=settings, topic=topic) for topic in (left, right))
    return compare_topics(*sides, wanted or Wanted(), how, CLOCK, report)
