"""Reads topics as the product does: by ranges from brokers, and from the tables of an archive."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import pairwise
from operator import attrgetter
from pathlib import Path
from random import Random
from typing import Any

from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.client.request_stats import RequestStats
from kafka_lagoon.clock import SYSTEM_CLOCK, Deadline
from kafka_lagoon.fetch.reader import SplitReader
from kafka_lagoon.fetch.split import ReadOptions, Split
from kafka_lagoon.kafka_settings import KafkaSettings
from kafka_lagoon.sandbox.kafka import LocalKafka
from kafka_lagoon.wire.primitives import uuid_text
from tests.integration.producers import Consumed
from tests.jobs.commands import here, rows

_COLUMNS = ("offset", "timestamp_ms", "timestamp_type", "key", "value", "headers")
_NOTHING_LOST, _LOST = 0, 3
_BUDGET_MS = 120_000


def fetched(kafka: LocalKafka, topic: str, ends: Mapping[int, int], random: Random) -> Mapping[int, Sequence[Consumed]]:
    """Read every partition up to its end with read_committed, in random ranges, each by a reader of its own."""
    settings = KafkaSettings(bootstrap_servers=kafka.bootstrap_servers)
    deadline = Deadline.after(SYSTEM_CLOCK, _BUDGET_MS)
    with Cluster.connect(settings, SYSTEM_CLOCK, RequestStats(), deadline) as cluster:
        (described,) = cluster.refresh({topic}, deadline).topics
        topic_id = uuid_text(described.topic_id)
        return {
            partition: [
                record
                for split in _splits(topic, topic_id, partition, end, random)
                for record in _read(cluster, split, random.choice((500, 20_000, 8 << 20)))
            ]
            for partition, end in ends.items()
        }


def _splits(topic: str, topic_id: str, partition: int, end: int, random: Random) -> list[Split]:
    cuts = sorted({0, end, *(random.randrange(end + 1) for _ in range(random.randrange(12)))})
    return [
        Split(
            topic=topic,
            topic_id=topic_id,
            partition=partition,
            from_offset=start,
            to_offset=stop,
            stable_end=end,
            continues=start > 0,
        )
        for start, stop in pairwise(cuts)
    ]


def _read(cluster: Cluster, split: Split, fetch_bytes: int) -> list[Consumed]:
    reader = SplitReader(cluster, split, ReadOptions(fetch_bytes=fetch_bytes, fetch_wait_ms=10))
    read = [consumed(row) for batch in reader.batches() for row in batch.select(_COLUMNS).to_pylist()]
    outcome = reader.outcome
    assert outcome.failure is None, f"{split}: {outcome.failure} {outcome.detail}"
    assert outcome.counts.records == len(read), f"{split}: {outcome.counts} of {len(read)} records"
    return read


def consumed(row: Mapping[str, Any]) -> Consumed:
    """Make a row comparable with what a consumer returns."""
    headers = tuple((one["key"], one["value"]) for one in row["headers"])
    return Consumed(*(row[name] for name in _COLUMNS[:-1]), headers)


def ingest(kafka: LocalKafka, lake: Path, pattern: str) -> None:
    """Archive topics; records that were deleted before may be reported as lost."""
    servers = f"kafka.bootstrap_servers={kafka.bootstrap_servers}"
    done = here("ingest", "--warehouse", str(lake), "--pattern", pattern, "--set", servers)
    assert done.returncode in (_NOTHING_LOST, _LOST), (
        f"exit {done.returncode}: {done.stdout[-2000:]}{done.stderr[-2000:]}"
    )


def archived(lake: Path) -> Mapping[tuple[str, int], Sequence[Consumed]]:
    """The records of the tables by topic and partition, by offset."""
    by_partition: dict[tuple[str, int], list[Consumed]] = defaultdict(list)
    for row in rows(lake, "records", "topic", "partition", *_COLUMNS):
        by_partition[str(row["topic"]), int(str(row["partition"]))].append(consumed(row))
    return {where: sorted(some, key=attrgetter("offset")) for where, some in by_partition.items()}
