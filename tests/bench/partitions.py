"""Reads and writes 2,000 partitions with twenty records each on a real broker, as executors do, in this process.

Spark's connector is not compared: it takes minutes. What the driver does for many partitions is in planning.py.
"""

import tempfile
from collections.abc import Sequence
from pathlib import Path
from time import perf_counter, process_time
from unittest.mock import patch

from confluent_kafka import Producer
from confluent_kafka.admin import NewTopic

from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.client.request_stats import RequestStats
from kafka_lagoon.clock import SYSTEM_CLOCK, Deadline
from kafka_lagoon.fetch.offset_specs import EARLIEST, OffsetSpecs
from kafka_lagoon.fetch.planning import plan
from kafka_lagoon.fetch.read_spec import ReadSpec
from kafka_lagoon.fetch.split import ReadOptions
from kafka_lagoon.fetch.tasks import Task, divide
from kafka_lagoon.ingest import archive_task
from kafka_lagoon.ingest.archive_task import TaskSettings
from kafka_lagoon.kafka_settings import KafkaSettings
from kafka_lagoon.sandbox.kafka import LocalKafka
from tests.bench.measure import Findings, Sample
from tests.integration.state import create_topics

TOPIC, PARTITIONS, RECORDS = "many", 2_000, 20
_ROUNDS = 5
_BUDGET_MS = 120_000
_START = OffsetSpecs(name="start", default=EARLIEST)


def run() -> Findings:
    """Return the best of several runs."""
    with tempfile.TemporaryDirectory(prefix="bench-") as name, LocalKafka(Path(name, "kafka"), heap_mb=1024) as kafka:
        fill(kafka.bootstrap_servers, TOPIC, PARTITIONS)
        tasks = tasks_of(kafka.bootstrap_servers, TOPIC)
        runs = [archived(kafka.bootstrap_servers, tasks, Path(name, f"run-{number}")) for number in range(_ROUNDS)]
    best, requests = min(runs, key=lambda timed: timed[0].cpu_s)
    note = (
        f"{PARTITIONS:,} partitions of {RECORDS} records as one file: {best.cpu_s:.2f} processor seconds, {best.wall_s:.1f} s and "
        f"{requests} Fetch requests of one task, with its connection and metadata."
    )
    return Findings(comparisons=[], notes=[note])


def fill(bootstrap_servers: str, topic: str, partitions: int) -> None:
    """Make a topic whose partitions have twenty records of 116 bytes each."""
    create_topics(bootstrap_servers, [NewTopic(topic, partitions, 1)])
    producer = Producer(
        {
            "bootstrap.servers": bootstrap_servers,
            "linger.ms": 200,
            "queue.buffering.max.messages": 10**6,
            "log_level": 2,  # the producer asks for metadata of every new partition
        }
    )
    for partition in range(partitions):
        for number in range(RECORDS):
            producer.produce(topic, b"v%099d" % number, b"k%015d" % number, partition)
        producer.poll(0)
    assert producer.flush(120) == 0


def tasks_of(bootstrap_servers: str, topic: str) -> Sequence[Task]:
    """Make the tasks of a run on two cores over a topic."""
    deadline = Deadline.after(SYSTEM_CLOCK, _BUDGET_MS)
    settings = KafkaSettings(bootstrap_servers=bootstrap_servers)
    with Cluster.connect(settings, SYSTEM_CLOCK, RequestStats(), deadline) as cluster:
        planned = plan(cluster, ReadSpec(topics=(topic,), pattern=None, start=_START), {}, deadline)
    return divide(planned.ranges, planned.bytes_of, 2, 256 << 20)


def archived(bootstrap_servers: str, tasks: Sequence[Task], folder: Path) -> tuple[Sample, int]:
    """Carry out the tasks one after the other; return their cost and the number of Fetch requests."""
    settings = TaskSettings(
        kafka=KafkaSettings(bootstrap_servers=bootstrap_servers),
        clock=SYSTEM_CLOCK,
        options=ReadOptions(),
        folder=f"file:{folder}",
        ingest_id=folder.name,
        cluster="bench",
        cluster_id="bench",
        target_bytes=128 << 20,
        compression="zstd-fast",
    )
    stats = RequestStats()
    wall, cpu = perf_counter(), process_time()
    with patch.object(archive_task, "RequestStats", lambda: stats):
        results = [archive_task.archive(settings, task) for task in tasks]
    sample = Sample(wall_s=perf_counter() - wall, cpu_s=process_time() - cpu)
    outcomes = [outcome for result in results for outcome in result.outcome.outcomes]
    assert not any(outcome.failure for outcome in outcomes)
    expected = sum(outcome.split.to_offset - outcome.split.from_offset for outcome in outcomes)
    assert sum(file.statistics.rows for result in results for file in result.files) == expected
    return sample, sum(api.requests for (name, _), api in stats.by_api.items() if name == "Fetch")
