"""DataFrames are written to topics: rows, refusals, and transactions that are committed or aborted."""

from datetime import UTC, datetime
from typing import Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession, functions

from kafka_lagoon.notebooks import register_source
from kafka_lagoon.produce.partitioner import partition_of
from kafka_lagoon.sandbox.kafka import LocalKafka
from tests.effort import first
from tests.librdkafka import wait_until_stable
from tests.source.source_topics import admin, create

pytestmark = pytest.mark.timeout(300)
MODES = ("run", *(pytest.param(mode, marks=pytest.mark.proof) for mode in ("none", "task")))


@pytest.fixture
def lagoon(spark: SparkSession) -> SparkSession:
    """A session with the data source."""
    register_source(spark)
    return spark


def save(frame: DataFrame, kafka: LocalKafka, **options: str) -> None:
    writer = frame.write.format("lagoon").mode("append").option("kafka.bootstrap.servers", kafka.bootstrap_servers)
    for name, value in options.items():
        writer = writer.option(name.replace("_", "."), value)
    writer.save()


def read(spark: SparkSession, kafka: LocalKafka, topic: str, level: str = "read_committed") -> list[Any]:
    """Return the records of a topic, by partition and offset."""
    if level == "read_committed":
        wait_until_stable(kafka.bootstrap_servers, [topic])
    reader = spark.read.format("lagoon").option("kafka.bootstrap.servers", kafka.bootstrap_servers)
    frame = reader.options(**{"subscribe": topic, "includeHeaders": "true", "kafka.isolation.level": level}).load()
    return sorted(frame.collect(), key=lambda row: (row.partition, row.offset))


@pytest.mark.parametrize("transactions", MODES)
def test_every_column(lagoon: SparkSession, kafka: LocalKafka, transactions: str) -> None:
    """Keys, values, headers, partitions and times are written unchanged; without a partition the key chooses it."""
    topic = f"sink-columns-{transactions}"
    create(kafka, topic, partitions=4)
    written_at = datetime(2024, 2, 29, 12, 30, 0, 123_000, UTC)
    rows = [
        (bytearray(b"k"), bytearray(b"\0\xff"), [("h", bytearray(b"1")), ("h", None)], 3, written_at),
        (None, bytearray(b""), [], 3, written_at),
        (bytearray(b"key"), None, None, None, None),
    ]
    schema = (
        "key binary, value binary, headers array<struct<key:string,value:binary>>, partition int, timestamp timestamp"
    )
    save(lagoon.createDataFrame(rows, schema).coalesce(1), kafka, topic=topic, transactions=transactions)
    first, second, third = sorted(read(lagoon, kafka, topic), key=lambda row: (row.value is None, row.offset))
    assert (first.key, first.value, first.partition) == (b"k", b"\0\xff", 3)
    assert [tuple(header) for header in first.headers] == [("h", b"1"), ("h", None)]
    assert first.timestamp.timestamp() == written_at.timestamp()
    assert (second.key, second.value, second.headers) == (None, b"", None)
    assert (third.key, third.value, third.partition) == (b"key", None, partition_of(b"key", 4))


@pytest.mark.proof
@pytest.mark.parametrize("transactions", MODES)
def test_several_tasks_and_topics(lagoon: SparkSession, kafka: LocalKafka, transactions: str) -> None:
    """Every row is written once, to the topic in its column, by any task."""
    names = [f"sink-several-{transactions}-{number}" for number in range(2)]
    for name in names:
        create(kafka, name, partitions=3)
    topic = functions.when(functions.col("id") % 2 == 0, names[0]).otherwise(names[1])
    rows = lagoon.range(0, 3_000, numPartitions=3).select(
        topic.alias("topic"),
        functions.col("id").cast("string").alias("value"),
        functions.spark_partition_id().alias("partition"),
    )
    save(rows, kafka, transactions=transactions, kafka_compression_type="zstd")
    for number, name in enumerate(names):
        assert sorted(int(row.value) for row in read(lagoon, kafka, name)) == list(range(number, 3_000, 2))


@pytest.mark.proof
def test_a_failing_task_undoes_all(lagoon: SparkSession, kafka: LocalKafka) -> None:
    """With transactions, consumers of committed records see no row, and no transaction stays open."""
    for transactions in ("task", "run"):
        topic = f"sink-fails-{transactions}"
        create(kafka, topic, partitions=2)
        value = functions.when(
            functions.col("id") == 59_999, functions.raise_error(functions.lit("the last row"))
        ).otherwise(functions.col("id").cast("string"))
        rows = lagoon.range(0, 60_000, numPartitions=2).select(
            value.alias("value"), functions.spark_partition_id().alias("partition")
        )
        # Small batches and a small buffer: the first of several Arrow batches is sent before the last row fails.
        small = {"kafka_batch_size": "4096", "kafka_buffer_memory": "65536"}
        # On a busy machine the row may fail before the task's process has begun.
        for _ in range(10):
            with pytest.raises(PySparkException, match="the last row"):
                save(rows, kafka, topic=topic, transactions=transactions, **small)
            if read(lagoon, kafka, topic, "read_uncommitted"):
                break
        save(lagoon.createDataFrame([("later",)], "value string"), kafka, topic=topic)
        assert [row.value for row in read(lagoon, kafka, topic)] == [b"later"]
        assert len(read(lagoon, kafka, topic, "read_uncommitted")) > 1


@pytest.mark.proof
def test_tasks_that_share_a_partition(lagoon: SparkSession, kafka: LocalKafka) -> None:
    """One transaction for all needs one writer per partition: nothing is committed, and a line says what to do."""
    create(kafka, "sink-shared")
    rows = lagoon.range(0, 100, numPartitions=2).select(functions.col("id").cast("string").alias("value"))
    with pytest.raises(PySparkException, match=r"several tasks wrote to sink-shared-0|another task writes"):
        save(rows, kafka, topic="sink-shared", transactions="run")
    assert read(lagoon, kafka, "sink-shared") == []
    save(rows.coalesce(1), kafka, topic="sink-shared", transactions="run")
    assert len(read(lagoon, kafka, "sink-shared")) == 100


def test_what_is_refused_before_a_record_is_written(lagoon: SparkSession, kafka: LocalKafka) -> None:
    """All faults of options and columns are listed together; a missing topic is not created."""
    create(kafka, "sink-refused")
    rows = lagoon.range(1).select(functions.col("id").alias("vlaue"), functions.col("id").alias("key"))
    with pytest.raises(PySparkException) as refused:
        save(rows, kafka, topic="sink-refused", transactions="all", kafka_acks="2", linger="5")
    for line in (
        "transactions: 'all' is neither none nor task nor run",
        "kafka.acks: '2' is neither all nor -1 nor 1 nor 0",
        "linger: no such option",
        "column vlaue: records have no such column (did you mean value?)",
        "column key: it must be string or binary, not bigint: cast it",
        "column value: must be there",
    ):
        assert line in str(refused.value)
    good = lagoon.range(1).select(functions.col("id").cast("string").alias("value"))
    with pytest.raises(PySparkException, match=r"there is no topic sink-refusde \(did you mean sink-refused\?\)"):
        save(good, kafka, topic="sink-refusde")
    overwriting = good.write.format("lagoon").mode("overwrite").option("topic", "sink-refused")
    with pytest.raises(PySparkException, match="mode must be append"):
        overwriting.option("kafka.bootstrap.servers", kafka.bootstrap_servers).save()
    with pytest.raises(PySparkException, match="row 0: there is no topic"):
        save(good.withColumn("topic", functions.lit(None).cast("string")), kafka)
    with pytest.raises(PySparkException, match="UNKNOWN_TOPIC_OR_PARTITION"):
        save(good.withColumn("topic", functions.lit("sink-unheard-of")), kafka)
    assert read(lagoon, kafka, "sink-refused") == []
    assert "sink-unheard-of" not in admin(kafka).list_topics(timeout=10).topics


FAULTS = {
    "partition": ("partition", "99", "task 0: row 0: partition 99 is not one of the 1 of topic {topic}"),
    "negative": ("partition", "-2", "task 0: row 0: there is no partition -2"),
    "too large": ("value", "repeat('x', 2000000)", "RECORD_TOO_LARGE"),
    "no topic": ("topic", "cast(null as string)", "task 0: row 0: there is no topic"),
    "unknown topic": ("topic", "'sink-unheard-of'", "UNKNOWN_TOPIC_OR_PARTITION"),
    "odd topic": ("topic", "'no/such name'", "INVALID_TOPIC_EXCEPTION"),
    "header": (
        "headers",
        "array(struct(cast(null as string) as key, cast('v' as binary) as value))",
        "a header without a name",
    ),
    "old": ("timestamp_ms", "1L", "INVALID_TIMESTAMP"),
    "no key": ("key", "cast(null as string)", "INVALID_RECORD"),
}


@pytest.mark.proof
@pytest.mark.parametrize("transactions", first(["run", "none"]))
def test_faults_of_data_have_their_reasons(lagoon: SparkSession, kafka: LocalKafka, transactions: str) -> None:
    """The exception names the fault of a row, if the sink refuses it and if a broker does."""
    good = lagoon.createDataFrame([("k", "v")] * 3, "key string, value string").coalesce(1)
    limits = {"message.timestamp.before.max.ms": "3600000", "cleanup.policy": "compact"}
    topic = f"sink-faults-{transactions}"
    create(kafka, topic, partitions=1, **limits)
    for fault, (column, value, words) in FAULTS.items():
        frame = good.withColumn(column, functions.expr(value))
        options = {} if column == "topic" else {"topic": topic}
        with pytest.raises(PySparkException) as refused:
            save(frame, kafka, transactions=transactions, **options)
        assert words.format(topic=topic) in str(refused.value), fault
        assert "was run before" not in str(refused.value)
    assert read(lagoon, kafka, topic) == []
