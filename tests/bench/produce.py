"""Writes rows of a Parquet file to topics of a real broker: our sink against Spark's, our writer against other clients.

Everybody is idempotent and waits for all in-sync replicas. The connector and the other clients have batches of 128 KB and
100 ms to fill them; with their defaults they are slower. Processor seconds are those of Spark's JVM and its Python workers, or
of this process, never the broker's. A sink in Python that takes all rows and writes none shows what Spark takes for itself.
"""

import os
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from confluent_kafka import Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic, OffsetSpec
from kafka import KafkaProducer
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.datasource import DataSource, DataSourceArrowWriter, WriterCommitMessage

from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.client.request_stats import RequestStats
from kafka_lagoon.clock import Deadline
from kafka_lagoon.kafka_settings import KafkaSettings
from kafka_lagoon.produce.arrow_writer import ArrowWriter, WriteOptions
from kafka_lagoon.produce.producer_state import ProducerState
from kafka_lagoon.produce.sequences import init_producer_id
from kafka_lagoon.produce.targets import describe_targets
from kafka_lagoon.records.compressing import CODECS
from kafka_lagoon.sandbox.kafka import LocalKafka
from tests.bench.measure import Comparison, Findings, Sample, alternate, timed
from tests.bench.record_topics import json_values
from tests.bench.records import session
from tests.clock import CLOCK
from tests.integration.every_broker import wait_until
from tests.processor_time import jvm_of, seconds_of_tree

ROWS = int(os.environ.get("BENCH_PRODUCE_ROWS", "2000000"))
_ROUNDS = int(os.environ.get("BENCH_PRODUCE_ROUNDS", "5"))
_PLAIN_ROWS = ROWS // 10  # kafka-python writes about 40,000 records per second
_VALUE_BYTES, _PARTITIONS, _BATCH_BYTES, _LINGER_MS = 100, 4, 131_072, 100


def run() -> Findings:
    """Compare Spark's sinks with and without compression, then plain clients."""
    with tempfile.TemporaryDirectory(prefix="bench-") as name, LocalKafka(Path(name, "kafka"), heap_mb=1024) as kafka:
        rows = Path(name, "rows.parquet")
        pq.write_table(_rows(ROWS), rows, row_group_size=ROWS // 8)
        with session(Path(name)) as spark:
            comparisons = list(_sinks(spark, kafka.bootstrap_servers, spark.read.parquet(str(rows))))
        comparisons += _clients(kafka.bootstrap_servers, _rows(_PLAIN_ROWS))
    return Findings(comparisons=comparisons)


def _rows(count: int) -> pa.Table:
    """Make rows with keys of 16 bytes and values of JSON, as in the topics that the benchmarks read."""
    values = [value for value, _ in zip(json_values(_VALUE_BYTES), range(50_000), strict=False)]
    keys = [b"k%015d" % (number % 1_000_003) for number in range(count)]
    chosen = [values[number % len(values)] for number in range(count)]
    return pa.table({"key": pa.array(keys, pa.binary()), "value": pa.array(chosen, pa.binary())})


def _sinks(spark: SparkSession, servers: str, rows: DataFrame) -> Iterator[Comparison]:
    spark.dataSource.register(_sink_of_nothing())
    for codec in ("none", "zstd"):
        samples = alternate(
            {
                "nothing": _processes(jvm_of(spark), lambda: rows.write.format("nothing").mode("append").save()),
                "ours": _into_topic(
                    spark, servers, lambda topic, codec=codec: _ours(rows, servers, topic, codec, "none")
                ),
                "task": _into_topic(
                    spark, servers, lambda topic, codec=codec: _ours(rows, servers, topic, codec, "task")
                ),
                "theirs": _into_topic(
                    spark, servers, lambda topic, codec=codec: _connector(rows, servers, topic, codec)
                ),
            },
            rounds=_ROUNDS,
        )
        peers = {"theirs": "Spark's Kafka connector", "nothing": "a Python sink that writes nothing"}
        for name, words in (("ours", "data source, as a sink"), ("task", "the same in transactions")):
            what = f"{words}: {ROWS:,} rows of {_VALUE_BYTES + 16} bytes, {codec}"
            for key, peer in peers.items():
                yield Comparison(what=what, ours=samples[name], peer=peer, theirs=samples[key])
                yield Comparison(what=what, ours=samples[name], peer=peer, theirs=samples[key], measure="cpu_s")


def _sink_of_nothing() -> type[DataSource]:
    # Classes of a function are pickled by value; workers could not import this module.

    class Writer(DataSourceArrowWriter):
        def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
            for _ in iterator:
                pass
            return WriterCommitMessage()

        def commit(self, messages: Sequence[WriterCommitMessage | None]) -> None:
            pass

    class Nothing(DataSource):
        @classmethod
        def name(cls) -> str:
            return "nothing"

        def writer(self, _schema: object, _overwrite: bool) -> DataSourceArrowWriter:
            return Writer()

    return Nothing


def _ours(rows: DataFrame, servers: str, topic: str, codec: str, transactions: str) -> None:
    writer = rows.write.format("lagoon").mode("append").option("kafka.bootstrap.servers", servers)
    writer.option("topic", topic).option("kafka.compression.type", codec).option("transactions", transactions).save()


def _connector(rows: DataFrame, servers: str, topic: str, codec: str) -> None:
    writer = rows.write.format("kafka").mode("append").option("kafka.bootstrap.servers", servers).option("topic", topic)
    writer = writer.option("kafka.enable.idempotence", "true").option("kafka.acks", "all")
    writer = writer.option("kafka.batch.size", str(_BATCH_BYTES)).option("kafka.linger.ms", str(_LINGER_MS))
    writer.option("kafka.compression.type", codec).save()


def _clients(servers: str, rows: pa.Table) -> Iterator[Comparison]:
    samples = alternate(
        {
            "ours": _into_topic(None, servers, lambda topic: _writer(servers, topic, rows)),
            "confluent-kafka": _into_topic(None, servers, lambda topic: _confluent(servers, topic, rows)),
            "kafka-python": _into_topic(None, servers, lambda topic: _kafka_python(servers, topic, rows)),
        },
        rounds=_ROUNDS,
    )
    for peer in ("confluent-kafka", "kafka-python"):
        what = f"plain producing: {_PLAIN_ROWS:,} rows of {_VALUE_BYTES + 16} bytes, none"
        yield Comparison(what=what, ours=samples["ours"], peer=peer, theirs=samples[peer])
        yield Comparison(what=what, ours=samples["ours"], peer=peer, theirs=samples[peer], measure="cpu_s")


def _writer(servers: str, topic: str, rows: pa.Table) -> None:
    deadline = Deadline.after(CLOCK, 60_000)
    with Cluster.connect(KafkaSettings(bootstrap_servers=servers), CLOCK, RequestStats(), deadline) as cluster:
        topics = describe_targets(cluster, {topic}, deadline)
        state = ProducerState(init_producer_id(cluster, deadline).producer._replace(sequence=0))
        with ArrowWriter(cluster, topics, state, WriteOptions(codec=CODECS["none"])) as writer:
            for batch in rows.to_batches(max_chunksize=10_000):
                writer.write(batch, topic=topic)
        assert not writer.failures


def _confluent(servers: str, topic: str, rows: pa.Table) -> None:
    properties = {
        "bootstrap.servers": servers,
        "enable.idempotence": True,
        "linger.ms": _LINGER_MS,
        "batch.size": _BATCH_BYTES,
        "queue.buffering.max.messages": 1_000_000,
        "partitioner": "murmur2_random",
    }
    producer = Producer(properties)
    for batch in rows.to_batches(max_chunksize=10_000):
        for key, value in zip(batch.column(0).to_pylist(), batch.column(1).to_pylist(), strict=True):
            producer.produce(topic, value, key)
        producer.poll(0)
    assert producer.flush(120) == 0


def _kafka_python(servers: str, topic: str, rows: pa.Table) -> None:
    producer = KafkaProducer(
        bootstrap_servers=servers.split(","),
        enable_idempotence=True,
        acks="all",
        linger_ms=_LINGER_MS,
        batch_size=_BATCH_BYTES,
    )
    for batch in rows.to_batches(max_chunksize=10_000):
        for key, value in zip(batch.column(0).to_pylist(), batch.column(1).to_pylist(), strict=True):
            producer.send(topic, value, key)
    producer.flush(120)
    producer.close()


def _into_topic(spark: SparkSession | None, servers: str, write: Callable[[str], None]) -> Callable[[], Sample]:
    """Make a case that writes to a new topic, checks the number of rows, and deletes the topic."""
    admin = AdminClient({"bootstrap.servers": servers})
    count = ROWS if spark else _PLAIN_ROWS

    def run() -> Sample:
        topic = f"bench-{time.monotonic_ns()}"
        admin.create_topics([NewTopic(topic, _PARTITIONS, 1)])[topic].result(30)
        wait_until(lambda: admin.list_topics(topic, 30).topics[topic].error is None, f"{topic} is not known")
        sample = (_processes(jvm_of(spark), lambda: write(topic)) if spark else timed(lambda: write(topic)))()
        assert _records(servers, topic) >= count, "rows are missing"
        admin.delete_topics([topic])[topic].result(30)
        return sample

    return run


def _processes(jvm: int, write: Callable[[], None]) -> Callable[[], Sample]:
    """Make a case of Spark: its processor seconds are those of the JVM and of the Python workers that it starts."""

    def run() -> Sample:
        wall, cpu = time.perf_counter(), seconds_of_tree(jvm)
        write()
        return Sample(wall_s=time.perf_counter() - wall, cpu_s=seconds_of_tree(jvm) - cpu)

    return run


def _records(servers: str, topic: str) -> int:
    """Count the assigned offsets, including those of transaction markers."""
    client = AdminClient({"bootstrap.servers": servers})  # kept until the broker has answered
    wanted = {TopicPartition(topic, number): OffsetSpec.latest() for number in range(_PARTITIONS)}
    return sum(future.result().offset for future in client.list_offsets(wanted).values())
