"""Compares a topic with itself: `lagoon compare` against two consumers of librdkafka whose messages Python compares.

Both read every record twice, once for each side, as they would of two clusters. Each round is a process of its own, so that its
start and its largest size count, too.
"""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from confluent_kafka import Consumer, TopicPartition

from kafka_lagoon.sandbox.kafka import LocalKafka
from tests.bench.measure import Comparison, Findings, Sample, alternate
from tests.bench.record_topics import PARTITIONS, SMALL, SMALL_ZSTD, BenchTopic, fill

_ROUNDS = 3
_AT_ONCE, _WAIT_S = 1_000, 0.05  # it waits for this many messages, also at the end of a partition


def run() -> Findings:
    """Measure processor seconds of both, for small records, plain and compressed."""
    comparisons: list[Comparison] = []
    notes: list[str] = []
    with tempfile.TemporaryDirectory(prefix="bench-") as name, LocalKafka(Path(name, "kafka"), heap_mb=1024) as kafka:
        for topic in (SMALL, SMALL_ZSTD):
            fill(kafka.bootstrap_servers, topic)
            samples = alternate(
                {
                    "ours": _process(*_ours(kafka.bootstrap_servers, topic)),
                    "theirs": _process(
                        sys.executable, "-m", "tests.bench.compare", kafka.bootstrap_servers, topic.name
                    ),
                },
                rounds=_ROUNDS,
            )
            what = f"compare {topic.records:,} records of {topic.value_bytes + 16} bytes with as many, {topic.codec}"
            ours, theirs = samples["ours"], samples["theirs"]
            made = partial(Comparison, what=what, ours=ours, peer="two librdkafka consumers", theirs=theirs)
            comparisons += [made(measure="cpu_s"), made(measure="wall_s")]
            notes.append(f"{topic.name}: largest process {_peak(ours):.0f} MB against {_peak(theirs):.0f} MB.")
    return Findings(comparisons=comparisons, notes=notes)


def _ours(servers: str, topic: BenchTopic) -> list[str]:
    sides = [f"default:{topic.name}"] * 2
    return [sys.executable, "-m", "kafka_lagoon", "compare", *sides, "--set", f"kafka.bootstrap_servers={servers}"]


def _process(*command: str) -> Callable[[], Sample]:
    def once() -> Sample:
        began = time.perf_counter()
        child = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        assert child.returncode == 0
        wall_s = time.perf_counter() - began
        return Sample(wall_s=wall_s, cpu_s=usage.ru_utime + usage.ru_stime, peak_mb=usage.ru_maxrss / 1024)

    return once


def _peak(samples: list[Sample]) -> float:
    return max(one.peak_mb or 0 for one in samples)


def compare_by_librdkafka(servers: str, topic: str) -> None:
    """Compare a topic with itself, message by message."""
    for number in range(PARTITIONS):
        left, right = (_messages(servers, topic, number) for _ in range(2))
        assert all(message == other for message, other in zip(left, right, strict=True))


def _messages(servers: str, topic: str, partition: int) -> Iterator[tuple[Any, ...]]:
    consumer = Consumer(
        {
            "bootstrap.servers": servers,
            "group.id": "bench-compare",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "queued.max.messages.kbytes": 16_384,
        }
    )
    consumer.assign([TopicPartition(topic, partition, 0)])
    while True:
        for message in consumer.consume(_AT_ONCE, _WAIT_S):
            if message.error():
                consumer.close()
                return
            yield message.key(), message.value(), message.timestamp()[1], message.headers()


if __name__ == "__main__":
    compare_by_librdkafka(*sys.argv[1:])
