"""Restores archived records to a real broker: `lagoon restore` against Spark's connector with the same rows of the same table.

Ours is the whole job after its cluster has answered: plan, topics, writing, reading everything back, receipts. The connector
is idempotent and waits for all in-sync replicas, with batches of 128 KB and 100 ms to fill them; it keeps neither times nor
order, and nobody checks what it wrote. So ours is also measured without reading back, which is what the connector does: plan,
writing and commits remain. Processor seconds are those of Spark's JVM, its Python workers and this process.
"""

import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from unittest.mock import patch

from confluent_kafka import TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic, OffsetSpec
from pyspark.sql import SparkSession

from kafka_lagoon.cli.main import options_of
from kafka_lagoon.cli.restore_arguments import restore_arguments
from kafka_lagoon.client.request_stats import RequestStats
from kafka_lagoon.clock import SYSTEM_CLOCK
from kafka_lagoon.delta.open_warehouse import open_warehouse
from kafka_lagoon.restore.writing import Writing
from kafka_lagoon.runs.context import RunContext
from kafka_lagoon.runs.restore import restore
from kafka_lagoon.sandbox.kafka import LocalKafka
from kafka_lagoon.settings_sources import load
from kafka_lagoon.tables.schema import WRITE_TABLES
from tests.bench import connector_job
from tests.bench.measure import Comparison, Findings, Sample, alternate
from tests.bench.record_topics import PARTITIONS, BenchTopic, fill
from tests.bench.records import _ingest, session
from tests.processor_time import jvm_of, seconds_of_tree

_RECORDS = int(os.environ.get("BENCH_RESTORE_RECORDS", "3000000"))
_ROUNDS = int(os.environ.get("BENCH_RESTORE_ROUNDS", "3"))


class _Silent:
    """Ignores progress."""

    def connected(self, cluster_id: str | None) -> None:
        """Nothing."""

    def begun(self, restore_id: str) -> None:
        """Nothing."""

    def step(self, name: str, items: int) -> None:
        """Nothing."""


def run() -> Findings:
    """Compare both for small records, plain and compressed."""
    comparisons: list[Comparison] = []
    notes: list[str] = []
    with tempfile.TemporaryDirectory(prefix="bench-") as name, LocalKafka(Path(name, "kafka"), heap_mb=1024) as kafka:
        servers = kafka.bootstrap_servers
        with session(Path(name)) as spark:
            for codec in ("none", "zstd"):
                topic = BenchTopic(name=f"archived-{codec}", records=_RECORDS, value_bytes=100, codec=codec)
                fill(servers, topic)
                lake = Path(name, f"lake-{codec}")
                settings = load(None, {}, [f"warehouse={lake}", f"kafka.bootstrap_servers={servers}"])
                _ingest(open_warehouse(spark, settings, SYSTEM_CLOCK), settings, topic)
                more, peak = _compared(spark, servers, lake, topic)
                comparisons += more
                notes.append(f"Largest Python worker of a restore ({codec}): {peak:.0f} MB.")
    return Findings(comparisons=comparisons, notes=notes)


def _compared(spark: SparkSession, servers: str, lake: Path, topic: BenchTopic) -> tuple[list[Comparison], float]:
    peaks: list[float] = []
    samples = alternate(
        {
            "ours": _case(spark, servers, lambda target: _restore(lake, servers, topic, target, peaks)),
            "writing": _case(spark, servers, lambda target: _write_only(lake, servers, topic, target)),
            "transactions": _case(
                spark, servers, lambda target: _restore(lake, servers, topic, target, peaks, "--transactional")
            ),
            "connector": _case(
                spark,
                servers,
                lambda target: connector_job.restore(
                    spark, servers, topic.name, str(lake / "records"), target, topic.codec
                ),
            ),
        },
        rounds=_ROUNDS,
    )
    what = f"{topic.records:,} records of {topic.value_bytes + 16} bytes, {topic.codec}"
    peer = "Spark's Kafka connector, which checks nothing"
    pairs = (
        ("ours", f"restore with receipts: {what}"),
        ("writing", f"restore without reading back: {what}"),
        ("transactions", f"restore in transactions: {what}"),
    )
    return [
        Comparison(what=words, ours=samples[name], peer=peer, theirs=samples["connector"], measure=measure)
        for name, words in pairs
        for measure in ("wall_s", "cpu_s")
    ], max(peaks)


def _restore(lake: Path, servers: str, topic: BenchTopic, target: str, peaks: list[float], *more: str) -> None:
    argv = [
        *("--yes", "--warehouse", str(lake), "--set", f"clusters.new.bootstrap_servers={servers}"),
        *("--from-cluster", "bench", "--to-cluster", "new", "--topics", topic.name),
        *("--rename", f"{topic.name}={target}", *more),
    ]
    arguments = restore_arguments(options_of("restore", argv), {}, SYSTEM_CLOCK)
    context = RunContext("restore", arguments.settings, SYSTEM_CLOCK, WRITE_TABLES)
    result = restore(context, arguments.request, RequestStats(), _Silent())
    assert result.is_complete
    assert result.written == topic.records
    peaks.append(_largest_worker_mb())


def _write_only(lake: Path, servers: str, topic: BenchTopic, target: str) -> None:
    """A restore that checks as little as the connector does."""
    with patch.object(Writing, "check", lambda *_: []):
        _restore(lake, servers, topic, target, [])


def _case(spark: SparkSession, servers: str, write: Callable[[str], None]) -> Callable[[], Sample]:
    """Make a case that writes to a new topic, checks the number of records, and deletes the topic."""
    admin = AdminClient({"bootstrap.servers": servers})

    def run() -> Sample:
        target = f"bench-{time.monotonic_ns()}"
        admin.create_topics([NewTopic(target, PARTITIONS, 1)])[target].result(30)
        jvm = jvm_of(spark)
        wall, cpu, own = time.perf_counter(), seconds_of_tree(jvm), time.process_time()
        write(target)
        seconds = time.perf_counter() - wall
        sample = Sample(wall_s=seconds, cpu_s=seconds_of_tree(jvm) - cpu + time.process_time() - own)
        assert _records(admin, target) >= _RECORDS, "records are missing"
        admin.delete_topics([target])[target].result(30)
        return sample

    return run


def _records(admin: AdminClient, topic: str) -> int:
    """Count the assigned offsets, including those of transaction markers."""
    wanted = {TopicPartition(topic, number): OffsetSpec.latest() for number in range(PARTITIONS)}
    return sum(future.result().offset for future in admin.list_offsets(wanted).values())


def _largest_worker_mb() -> float:
    """Return the memory of the largest Python worker of Spark."""
    peaks = [0]
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if b"pyspark" in (folder / "cmdline").read_bytes() and b"daemon" in (folder / "cmdline").read_bytes():
                status = (folder / "status").read_text()
                peaks += [int(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS")]
        except OSError:
            continue
    return max(peaks) / 1024
