"""Reads records from a real broker into Delta and Spark, against Spark's own Kafka connector and other clients.

One Spark session on two cores runs ours and the connector in turns, in fresh tables. Ours is the whole ingest: plan, reading
with checksums verified, Parquet, the commit with positions, and the ranges.
"""

import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import kafka as kafka_python
from confluent_kafka import Consumer, TopicPartition
from pyspark.sql import DataFrame, SparkSession

from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.client.request_stats import RequestStats
from kafka_lagoon.clock import SYSTEM_CLOCK, Deadline
from kafka_lagoon.delta.open_warehouse import open_warehouse
from kafka_lagoon.delta.warehouse import Warehouse
from kafka_lagoon.fetch.offset_specs import EARLIEST, OffsetSpecs
from kafka_lagoon.fetch.planning import plan
from kafka_lagoon.fetch.read_spec import ReadSpec
from kafka_lagoon.jars.locked_jars import jar_paths
from kafka_lagoon.notebooks import register_source
from kafka_lagoon.runs.ingest import RunDeadline, archive_new_records, lock_archive
from kafka_lagoon.sandbox.kafka import LocalKafka
from kafka_lagoon.settings import Settings
from kafka_lagoon.settings_sources import load
from tests.bench.measure import Comparison, Findings, Sample, alternate, timed
from tests.bench.ready_batches import ready_batches
from tests.bench.record_topics import LARGE_ZSTD, PARTITIONS, SMALL, SMALL_ZSTD, BenchTopic, fill

_ROUNDS = 4
_PEERS_RECORDS = 300_000  # kafka-python reads only these, and its time is scaled


def run() -> Findings:
    """Compare, for every topic, the ingest and the data source with the connector, and plain reading with other clients."""
    comparisons: list[Comparison] = []
    with tempfile.TemporaryDirectory(prefix="bench-") as name, LocalKafka(Path(name, "kafka"), heap_mb=1024) as kafka:
        folder, servers = Path(name), kafka.bootstrap_servers
        for topic in (SMALL, SMALL_ZSTD, LARGE_ZSTD):
            fill(servers, topic)
        with session(folder) as spark:
            for topic in (SMALL, SMALL_ZSTD, LARGE_ZSTD):
                comparisons += _into_spark(spark, folder, servers, topic)
        comparisons += _plain_reading(servers, SMALL)
    return Findings(comparisons=comparisons)


@contextmanager
def session(folder: Path) -> Iterator[SparkSession]:
    """Make a session with two cores, the connector's jars beside Delta's, and the JIT compilers of a server."""
    os.environ.pop("SPARK_CONF_DIR", None)
    os.environ["PYSPARK_PYTHON"] = sys.executable
    jars = ",".join(map(str, jar_paths("connector-4.2.0")))
    settings = {
        "spark.jars": jars,
        "spark.driver.memory": "4g",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": "2",
        "spark.databricks.delta.snapshotPartitions": "2",
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        "spark.sql.python.filterPushdown.enabled": "true",
        "spark.sql.warehouse.dir": str(folder / "spark"),
    }
    builder = SparkSession.builder.master("local[2]").appName("bench")
    for key, value in settings.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    register_source(spark)
    try:
        yield spark
    finally:
        spark.stop()


def _into_spark(spark: SparkSession, folder: Path, servers: str, topic: BenchTopic) -> list[Comparison]:
    fresh = _fresh(folder, topic.name)
    prepared: list[tuple[Warehouse, Settings]] = []

    def prepare() -> None:
        settings = load(None, {}, [f"warehouse={next(fresh)}", f"kafka.bootstrap_servers={servers}"])
        prepared.append((open_warehouse(spark, settings, SYSTEM_CLOCK), settings))

    def ours_delta() -> None:
        _ingest(*prepared[-1], topic)

    def theirs_delta() -> None:
        _connector(spark, servers, topic).write.format("delta").save(next(fresh))

    samples = alternate(
        {
            "ours delta": _prepared(prepare, ours_delta),
            "connector delta": timed(theirs_delta),
            "ours noop": timed(lambda: _to_nothing(_source(spark, servers, topic))),
            "connector noop": timed(lambda: _to_nothing(_connector(spark, servers, topic))),
            "ready noop": timed(lambda: _to_nothing(ready_batches(spark, topic))),
            "ours keys": timed(lambda: _to_nothing(_source(spark, servers, topic).select("key"))),
            "connector keys": timed(lambda: _to_nothing(_connector(spark, servers, topic).select("key"))),
            "ours counted": timed(lambda: _count(_source(spark, servers, topic), topic)),
            "connector counted": timed(lambda: _count(_connector(spark, servers, topic), topic)),
        },
        rounds=_ROUNDS,
    )
    size = f"{topic.records:,} records of {topic.value_bytes + 16} bytes, {topic.codec}"
    peer = "Spark's Kafka connector"
    return [
        Comparison(
            what=f"ingest into Delta: {size}", ours=samples["ours delta"], peer=peer, theirs=samples["connector delta"]
        ),
        Comparison(
            what=f"data source into noop: {size}",
            ours=samples["ours noop"],
            peer=peer,
            theirs=samples["connector noop"],
        ),
        Comparison(
            what="the same",
            ours=samples["ours noop"],
            peer="a Python data source that hands over one ready Arrow batch again and again",
            theirs=samples["ready noop"],
        ),
        Comparison(what="the same, keys alone", ours=samples["ours keys"], peer=peer, theirs=samples["connector keys"]),
        Comparison(
            what="count of the same", ours=samples["ours counted"], peer=peer, theirs=samples["connector counted"]
        ),
    ]


def _fresh(folder: Path, name: str) -> Iterator[str]:
    """Yield new folders; only the last two are kept."""
    made: list[Path] = []
    while True:
        made.append(folder / f"{name}-{len(made)}")
        if len(made) > 2:
            shutil.rmtree(made[-3], ignore_errors=True)
        yield str(made[-1])


def _prepared(prepare: Callable[[], None], function: Callable[[], None]) -> Callable[[], Sample]:
    """Make a case whose tables exist before the clock starts, as in every run but the first."""

    def run() -> Sample:
        prepare()
        return timed(function)()

    return run


def _ingest(warehouse: Warehouse, settings: Settings, topic: BenchTopic) -> None:
    kafka = settings.named_clusters()["default"]
    deadline = Deadline.after(SYSTEM_CLOCK, 60_000)
    start = OffsetSpecs(name="ingest.start", default=EARLIEST)
    wanted = ReadSpec(topics=(topic.name,), pattern=None, start=start)
    with (
        Cluster.connect(kafka, SYSTEM_CLOCK, RequestStats(), deadline) as cluster,
        lock_archive(warehouse, settings, "bench", SYSTEM_CLOCK) as lock,
    ):
        until = RunDeadline(clock=SYSTEM_CLOCK)
        planned = plan(cluster, wanted, lock.topics, deadline)
        done = archive_new_records(lock, "bench", cluster, settings, planned, lambda *_: None, until)
    assert sum(row.records for row in done.reconciled.ranges) == topic.records, done.reconciled.ranges


def _connector(spark: SparkSession, servers: str, topic: BenchTopic) -> DataFrame:
    reader = spark.read.format("kafka").option("kafka.bootstrap.servers", servers).option("subscribe", topic.name)
    return reader.option("startingOffsets", "earliest").option("maxPartitionFetchBytes", 8 << 20).load()


def _source(spark: SparkSession, servers: str, topic: BenchTopic) -> DataFrame:
    reader = spark.read.format("lagoon").option("kafka.bootstrap.servers", servers).option("subscribe", topic.name)
    return reader.option("startingOffsets", "earliest").load()


def _to_nothing(rows: DataFrame) -> None:
    rows.write.format("noop").mode("overwrite").save()


def _count(rows: DataFrame, topic: BenchTopic) -> None:
    assert rows.count() == topic.records


def _plain_reading(servers: str, topic: BenchTopic) -> list[Comparison]:
    """Compare reading alone, in Python: our decoder's columns against the clients' objects, one process each."""
    cases: Mapping[str, Callable[[], Any]] = {
        "ours": lambda: _read_by_us(servers, topic),
        "confluent": lambda: _read_by_confluent(servers, topic),
    }
    samples = alternate({name: timed(case) for name, case in cases.items()}, rounds=3)
    slow = [_scaled(_read_by_kafka_python(servers, topic), topic) for _ in range(2)]
    what = f"read {topic.records:,} records of {topic.value_bytes + 16} bytes in one Python process"
    return [
        Comparison(what=what, ours=samples["ours"], peer="confluent-kafka", theirs=samples["confluent"]),
        Comparison(
            what="the same",
            ours=samples["ours"],
            peer=f"kafka-python (scaled from {_PEERS_RECORDS:,} records)",
            theirs=slow,
        ),
    ]


def _read_by_us(servers: str, topic: BenchTopic) -> None:
    from kafka_lagoon.fetch.reader import SplitReader  # noqa: PLC0415  the driver of the other cases needs no decoder
    from kafka_lagoon.fetch.split import ReadOptions, Split  # noqa: PLC0415
    from kafka_lagoon.kafka_settings import KafkaSettings  # noqa: PLC0415

    rows = 0
    with Cluster.connect(
        KafkaSettings(bootstrap_servers=servers), SYSTEM_CLOCK, RequestStats(), Deadline.after(SYSTEM_CLOCK, 60_000)
    ) as cluster:
        cluster.refresh([topic.name], Deadline.after(SYSTEM_CLOCK, 60_000))
        share = topic.records // PARTITIONS
        for partition in range(PARTITIONS):
            split = Split(
                topic=topic.name,
                topic_id=None,
                partition=partition,
                from_offset=0,
                to_offset=share,
                stable_end=share,
            )
            reader = SplitReader(cluster, split, ReadOptions())
            rows += sum(batch.num_rows for batch in reader.batches())
    assert rows == topic.records


def _read_by_confluent(servers: str, topic: BenchTopic) -> None:
    consumer = Consumer(
        {
            "bootstrap.servers": servers,
            "group.id": "bench",
            "enable.auto.commit": False,
            # With its default it pauses for a second at 100,000 waiting records, which makes it seven times slower.
            "queued.min.messages": 1_000_000,
            "queued.max.messages.kbytes": 1 << 20,
            "fetch.queue.backoff.ms": 10,
        }
    )
    consumer.assign([TopicPartition(topic.name, partition, 0) for partition in range(PARTITIONS)])
    rows = 0
    while rows < topic.records:
        wanted = min(10_000, topic.records - rows)  # with a larger number the client would wait
        rows += sum(1 for message in consumer.consume(wanted, timeout=5) if message.value() is not None)
    consumer.close()


def _read_by_kafka_python(servers: str, topic: BenchTopic) -> Sample:
    def read() -> None:
        consumer = kafka_python.KafkaConsumer(
            bootstrap_servers=servers.split(","), enable_auto_commit=False, auto_offset_reset="earliest"
        )
        consumer.assign([kafka_python.TopicPartition(topic.name, partition) for partition in range(PARTITIONS)])
        rows = 0
        while rows < _PEERS_RECORDS:
            rows += sum(map(len, consumer.poll(timeout_ms=1000, max_records=10_000).values()))
        consumer.close()

    return timed(read)()


def _scaled(sample: Sample, topic: BenchTopic) -> Sample:
    factor = topic.records / _PEERS_RECORDS
    return Sample(wall_s=sample.wall_s * factor, cpu_s=sample.cpu_s * factor)
