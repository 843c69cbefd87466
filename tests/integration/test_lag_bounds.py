"""The lag bounds under load: every sample agrees with the times that a producer and a committer have recorded."""

import threading
import time
from bisect import bisect_right
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from kafka_lagoon.admin.offsets import KINDS_OF_LAG
from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.client.request_stats import RequestStats
from kafka_lagoon.clock import SYSTEM_CLOCK, Deadline
from kafka_lagoon.kafka_settings import KafkaSettings
from kafka_lagoon.sandbox.kafka import LocalKafka
from kafka_lagoon.snapshot.group_state import lag_of, read_groups
from kafka_lagoon.snapshot.offsets import offset_rows
from kafka_lagoon.snapshot.topology import read_topology
from kafka_lagoon.tables.group_rows import ConsumerLagRow
from tests.integration.producers import create

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(1_800)]
TOPIC = "lag-bounds"


@dataclass
class Log:
    """Increasing offsets, with the times (epoch milliseconds) at which they were requested and confirmed."""

    begun: list[tuple[float, int]] = field(default_factory=list)
    confirmed: list[tuple[float, int]] = field(default_factory=list)

    def note(self, offset: int, act: Callable[[], object]) -> None:
        """Record the times of a call that brings the log up to an offset."""
        self.begun.append((_now(), offset))
        act()
        self.confirmed.append((_now(), offset))


def _now() -> float:
    return time.time_ns() / 1e6


def _offset_then(noted: list[tuple[float, int]], moment: float) -> int:
    """Return the offset that had been recorded at a time."""
    place = bisect_right(noted, moment, key=lambda pair: pair[0])
    return noted[place - 1][1] if place else 0


@contextmanager
def load(kafka: LocalKafka, topic: str) -> Iterator[tuple[Log, Log]]:
    """Write and acknowledge records one by one, and commits after them, as fast as possible."""
    ends, commits, is_over = Log(), Log(), threading.Event()
    producer = Producer({"bootstrap.servers": kafka.bootstrap_servers, "linger.ms": 0, "acks": "all"})
    consumer = Consumer(
        {"bootstrap.servers": kafka.bootstrap_servers, "group.id": f"{topic}-group", "enable.auto.commit": False}
    )

    def produce() -> None:
        number = 0
        while not is_over.is_set():
            number += 1
            producer.produce(topic, b"v" * 20, partition=0)
            ends.note(number, lambda: producer.flush(30))

    def commit() -> None:
        while not is_over.is_set():
            offset = max(_offset_then(ends.confirmed, _now()) - 3, _offset_then(commits.begun, _now()))
            partition = TopicPartition(topic, 0, offset)
            commits.note(offset, partial(consumer.commit, offsets=[partition], asynchronous=False))

    threads = [threading.Thread(target=work) for work in (produce, commit)]
    for thread in threads:
        thread.start()
    try:
        yield ends, commits
    finally:
        is_over.set()
        for thread in threads:
            thread.join(60)
        consumer.close()


@pytest.mark.proof
@pytest.mark.parametrize("samples", [100, 10_000])
def test_the_true_lag_lies_between_the_bounds(kafka: LocalKafka, samples: int) -> None:
    """In every sample the lower end was sent, and the commit was in force, while the commit was read.

    An offset that is acknowledged when the commit is read is below the upper end.
    """
    topic, moved = f"{TOPIC}-{samples}", 0
    create(kafka, topic, retention_ms="-1")
    with load(kafka, topic) as (ends, commits), connected(kafka) as cluster:
        while not commits.confirmed:
            time.sleep(0.01)
        for _ in range(samples):
            began = _now()
            lag, read_at_ms = _sample(cluster, topic)
            over = _now()
            assert lag.committed_offset is not None
            assert lag.lag is not None
            assert lag.lag_lower_bound is not None
            lower_end, upper_end = lag.committed_offset + lag.lag_lower_bound, lag.committed_offset + lag.lag
            assert _offset_then(ends.confirmed, read_at_ms) <= upper_end
            assert lower_end <= _offset_then(ends.begun, over)
            assert lower_end <= upper_end
            assert _offset_then(commits.confirmed, began) <= lag.committed_offset <= _offset_then(commits.begun, over)
            moved += lower_end < upper_end
    assert moved, "nothing was produced while samples were taken"


@contextmanager
def connected(kafka: LocalKafka) -> Iterator[Cluster]:
    """Connect with the machine's clock, which the recorded times have."""
    settings, deadline = (
        KafkaSettings(bootstrap_servers=kafka.bootstrap_servers),
        Deadline.after(SYSTEM_CLOCK, 30_000),
    )
    with Cluster.connect(settings, SYSTEM_CLOCK, RequestStats(), deadline) as cluster:
        yield cluster


def _sample(cluster: Cluster, topic: str) -> tuple[ConsumerLagRow, int]:
    """Return the group's row, and the time at which its commit was received."""
    deadline = Deadline.after(SYSTEM_CLOCK, 30_000)
    topology = read_topology(cluster, [topic], deadline)
    state = read_groups(cluster, topology, deadline, lambda _, __: None, KINDS_OF_LAG, only={f"{topic}-group"})
    (lag,) = lag_of(topology, state, offset_rows(topology, state.after))
    (commit,) = state.commits.rows
    assert commit.read_at_ms is not None
    return lag, commit.read_at_ms
