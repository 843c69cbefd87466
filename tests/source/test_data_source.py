"""Batches of the data source in Spark, compared with Spark's own connector."""

from typing import Any

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F  # noqa: N812  its usual name

from kafka_lagoon.jars.locked_jars import jar_paths
from kafka_lagoon.notebooks import register_source
from kafka_lagoon.sandbox.kafka import LocalKafka
from tests.effort import first
from tests.source.source_topics import START_MS, create, delete_records, fill_mixed, open_transaction, produce

MIXED = "source-mixed"


@pytest.fixture(scope="module")
def source(spark: SparkSession) -> SparkSession:
    """The session, with our data source and Spark's connector."""
    register_source(spark)
    for jar in jar_paths("connector-4.2.0"):
        spark.sql(f"ADD JAR '{jar}'")
    return spark


@pytest.fixture(scope="module")
def mixed(kafka: LocalKafka, source: SparkSession) -> str:  # noqa: ARG001  a failure without Spark comes first
    """A topic with records of every kind."""
    fill_mixed(kafka, MIXED)
    return MIXED


@pytest.fixture(scope="module")
def theirs(source: SparkSession, kafka: LocalKafka, mixed: str) -> DataFrame:
    """Return the connector's rows of the topic, committed records only."""
    options = {"subscribe": mixed, "includeHeaders": "true", "kafka.isolation.level": "read_committed"}
    return load(source, kafka, "kafka", **options).cache()


def load(
    source: SparkSession, kafka: LocalKafka, name: str = "lagoon", schema: str | None = None, **options: Any
) -> Any:
    """Load a frame by one of the two sources."""
    reader = source.read.format(name).option("kafka.bootstrap.servers", kafka.bootstrap_servers).options(**options)
    return (reader.schema(schema) if schema else reader).load()


def rows(frame: DataFrame) -> list[Row]:
    """Return all rows in the order of the logs."""
    return sorted(frame.collect(), key=lambda row: (row.topic, row.partition, row.offset))


def test_rows_are_the_connectors(source: SparkSession, kafka: LocalKafka, mixed: str, theirs: DataFrame):
    """Columns, types and rows are the same; headers are null if a record has none."""
    ours = load(source, kafka, subscribe=mixed, includeHeaders="true")
    assert ours.schema == theirs.schema
    own_rows = rows(ours)
    assert own_rows == rows(theirs)
    assert len(own_rows) == 3 * 225 + 2 * 5


def test_uncommitted_rows_are_the_connectors(source: SparkSession, kafka: LocalKafka, mixed: str):
    """With read_uncommitted records of aborted transactions are included, as in the connector's default."""
    ours = rows(load(source, kafka, subscribe=mixed, **{"kafka.isolation.level": "read_uncommitted"}))
    assert ours == rows(load(source, kafka, "kafka", subscribe=mixed))
    assert len(ours) == 3 * 225 + 2 * 12


def test_columns_by_name(source: SparkSession, kafka: LocalKafka, mixed: str):
    """A schema selects columns of the connector and of table records, in any order."""
    ddl = "is_transactional boolean, topic_id string, offset bigint, topic string, timestamp_ms bigint, partition int"
    records = rows(load(source, kafka, schema=f"{ddl}, leader_epoch int, producer_id bigint", subscribe=mixed))
    assert len(records) == 3 * 225 + 10
    assert {row.is_transactional for row in records} == {True, False}
    assert {row.timestamp_ms for row in records} >= {START_MS, START_MS + 1_000}
    assert {(row.leader_epoch, len(row.topic_id)) for row in records} == {(0, 22)}
    assert load(source, kafka, schema="topic string", subscribe=mixed).count() == 3 * 225 + 10


@pytest.mark.proof
def test_aborted_records_are_marked(source: SparkSession, kafka: LocalKafka, mixed: str):
    """With read_uncommitted, column is_aborted marks aborted records; it is null while a transaction is open."""
    create(kafka, "source-open")
    options = {"kafka.isolation.level": "read_uncommitted", "schema": "value binary, is_aborted boolean"}
    records = load(source, kafka, subscribe=mixed, **options).filter("is_aborted").collect()
    assert [bytes(row.value) for row in records] == [b"aborted"] * 14
    with open_transaction(kafka, "source-open", [b"pending"], commits=True):
        assert load(source, kafka, subscribe="source-open", **options).first().is_aborted is None
        assert load(source, kafka, subscribe="source-open").isEmpty()


@pytest.mark.parametrize(
    "condition",
    first(
        [
            "partition in (0, 2) and offset >= 100",
            "topic > 'source' and partition < 1 and offset in (3, 99, 5000)",
            "timestamp > '2023-11-14 22:13:55' and timestamp < '2023-11-14 22:13:59'",
            "partition = 0 or offset < 10",
            "key is null and offset > 20",
            "partition = 1",
            "offset between 37 and 52",
            "topic = 'source-mixed' and offset = 40",
            "topic <> 'source-mixed'",
            "timestamp >= '2023-11-14 22:13:55' and partition = 0",
            "timestamp = '2023-11-24 22:13:20'",
            "timestamp > '2030-01-01'",
        ],
        5,
    ),
)
def test_filters_change_nothing(source: SparkSession, kafka: LocalKafka, mixed: str, theirs: DataFrame, condition: str):
    """A filter gives the same rows as if it were evaluated after the connector."""
    ours = load(source, kafka, subscribe=mixed, includeHeaders="true").filter(condition)
    assert rows(ours) == rows(theirs.filter(condition))


def test_filters_reach_the_source(source: SparkSession, kafka: LocalKafka, mixed: str):
    """Spark's plan no longer has filters on partitions and offsets; filters on times are evaluated again."""
    frame = load(source, kafka, subscribe=mixed).filter("partition = 1 and offset < 30 and timestamp > '2023-11-14'")
    plan = frame._jdf.queryExecution().executedPlan().toString()
    filters = [line for line in plan.splitlines() if "Filter" in line and "Scan" not in line]
    assert len(filters) == 1
    assert "timestamp" in filters[0]
    assert "partition" not in filters[0]
    assert frame.rdd.getNumPartitions() == 1


def test_loss_is_an_error_or_accepted(source: SparkSession, kafka: LocalKafka):
    """Records that are gone when the query is planned fail it; with failOnDataLoss=false the other records are read."""
    create(kafka, "source-lost")
    produce(kafka, "source-lost", [b"v"] * 30)
    delete_records(kafka, "source-lost", 10)
    options = {"subscribe": "source-lost", "startingOffsets": '{"source-lost":{"0":5}}'}
    with pytest.raises(PySparkException, match="LOST: startingOffsets: source-lost:0 has offsets 10 to 30, not 5"):
        load(source, kafka, **options).collect()
    accepted = load(source, kafka, **options, failOnDataLoss="false")
    assert [row.offset for row in accepted.collect()] == list(range(10, 30))


def test_loss_after_planning(source: SparkSession, kafka: LocalKafka):
    """Records that are deleted between planning and reading fail the task, or are left out."""
    create(kafka, "source-late")
    produce(kafka, "source-late", [b"v"] * 30)
    planned = [load(source, kafka, subscribe="source-late", failOnDataLoss=text) for text in ("true", "false")]
    for frame in planned:
        frame._jdf.queryExecution().toRdd().getNumPartitions()
    delete_records(kafka, "source-late", 12)
    with pytest.raises((PySparkException, Py4JJavaError), match="LOST: 12 of the offsets 0 to 29 of source-late:0"):
        planned[0].collect()
    assert [row.offset for row in planned[1].collect()] == list(range(12, 30))


@pytest.mark.parametrize(
    ("options", "line"),
    [
        (
            {"subscribe": "a", "startingOffest": "earliest"},
            "startingoffest: no such option (did you mean startingOffsets?)",
        ),
        ({"subscribe": "source-mixd"}, "there is no topic source-mixd (did you mean source-mixed?)"),
        ({"subscribe": MIXED, "endingOffsets": "earliest"}, "endingOffsets: a batch cannot end at earliest (-2)"),
        (
            {"subscribe": MIXED, "startingTimestamp": "99999999999999"},
            "startingTimestamp: source-mixed:0 has no record",
        ),
        ({"subscribe": MIXED, "schema": "key string"}, "column key: it is binary, not string: cast it in the query"),
    ],
)
def test_bad_options(source: SparkSession, kafka: LocalKafka, mixed: str, options: dict[str, str], line: str):
    """One line in Spark's message names the wrong option, and what to do."""
    assert mixed == MIXED
    with pytest.raises(PySparkException) as refused:
        load(source, kafka, **options).collect()
    assert f"ConfigError: {line}" in str(refused.value)


@pytest.mark.proof
def test_a_query_over_it(source: SparkSession, kafka: LocalKafka, mixed: str):
    """The frame can be queried like any other; more and smaller tasks give the same rows."""
    frame = load(source, kafka, subscribe=mixed, minPartitions="8")
    counted = frame.groupBy("partition").agg(F.count("*").alias("records"), F.countDistinct("offset").alias("offsets"))
    assert counted.orderBy("partition").collect() == [(0, 230, 230), (1, 230, 230), (2, 225, 225)]
    assert frame.rdd.getNumPartitions() >= 8
