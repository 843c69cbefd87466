"""Spark reads the data source by columns: those that a query needs, and the values that it reads by rows."""

import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from py4j.protocol import Py4JError
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql.pandas.functions import arrow_udf

from kafka_lagoon.notebooks import register_source
from kafka_lagoon.sandbox.kafka import LocalKafka
from kafka_lagoon.source import columnar
from kafka_lagoon.source.columnar import SourceOfRows, source_for
from kafka_lagoon.source.data_source import LagoonSource
from tests.effort import first
from tests.java_classes import COLUMNAR_SOURCE, JAR, compiled, jar
from tests.source.source_topics import create, fill_mixed, produce

MIXED, LONG = "columnar-mixed", "columnar-long"
BATCHES = 3  # of 50,000 rows, and a short one
RECORDS = BATCHES * 50_000 + 7
PROJECT = Path(__file__).resolve().parents[2]
PATHS = f"{PROJECT / 'pipeline'}:{PROJECT}"


class Rows(LagoonSource):
    """The source as Spark reads it without our Java class."""

    @classmethod
    def name(cls) -> str:
        return "lagoon_by_rows"


@pytest.fixture(scope="module")
def session(spark: SparkSession) -> SparkSession:
    """The session, with the source in both ways."""
    register_source(spark)
    spark.dataSource.register(Rows)
    return spark


@pytest.fixture(scope="module")
def mixed(kafka: LocalKafka, session: SparkSession) -> str:  # noqa: ARG001  a failure without Spark comes first
    """A topic with records of every kind."""
    fill_mixed(kafka, MIXED)
    return MIXED


@pytest.fixture(scope="module")
def long(kafka: LocalKafka, session: SparkSession) -> str:  # noqa: ARG001  as above
    """A partition of several Arrow batches."""
    create(kafka, LONG, partitions=1)
    produce(kafka, LONG, list(map(value, range(RECORDS))))
    return LONG


def value(number: int) -> str:
    """Return the value of a record, of 100 bytes."""
    return f"value {number}".ljust(100)


def load(session: SparkSession, kafka: LocalKafka, topic: str, name: str = "lagoon", **options: str) -> DataFrame:
    """Load a topic by columns, or by rows."""
    reader = session.read.format(name).option("kafka.bootstrap.servers", kafka.bootstrap_servers).options(**options)
    return reader.option("subscribe", topic).option("startingOffsets", "earliest").load()


def plan_of(frame: DataFrame) -> str:
    """Return the physical plan as text."""
    return str(frame._jdf.queryExecution().executedPlan().toString())


def in_order(frame: DataFrame) -> list[Row]:
    """Return all rows in the order of the logs."""
    return sorted(frame.collect(), key=lambda row: (row.partition, row.offset))


def received(frame: DataFrame) -> int:
    """Return the bytes that Python workers sent to Spark for a query."""
    assert frame._jdf.queryExecution().toRdd().count() == RECORDS  # rows that no Python makes
    metrics = frame._jdf.queryExecution().executedPlan().collectLeaves().head().metrics()
    return int(metrics.apply("pythonDataReceived").value())


def test_the_jar_is_what_its_source_says(session: SparkSession) -> None:
    """`python -m tests.java_classes` builds it again."""
    assert JAR.read_bytes() == jar(compiled(session.sparkContext._jvm, COLUMNAR_SOURCE))


@pytest.mark.parametrize(
    "columns",
    first(
        [
            (["*"],),
            (["headers.key", "partition"],),
            (["key"],),
            (["headers", "offset"],),
            (["topic", "timestamp"],),
            (["timestampType", "value", "partition"],),
        ]
    ),
)
def test_columns_have_the_values_of_rows(
    session: SparkSession, kafka: LocalKafka, mixed: str, columns: list[str]
) -> None:
    """Whatever columns are selected, in whatever order, alone or after a filter on another one."""
    for condition in ("true", "offset % 3 = 1", "key IS NULL"):
        by_columns, by_rows = (
            load(session, kafka, mixed, name, includeHeaders="true").where(condition).select(*columns)
            for name in ("lagoon", "lagoon_by_rows")
        )
        assert by_columns.schema == by_rows.schema
        rows = by_rows.collect()
        assert sorted(map(str, by_columns.collect())) == sorted(map(str, rows))
        assert by_columns.count() == len(rows) > 0
        assert "ColumnarToRow" in plan_of(by_columns)
        assert "ColumnarToRow" not in plan_of(by_rows)


def test_only_needed_columns_are_read(session: SparkSession, kafka: LocalKafka, long: str) -> None:
    """The plan names them, and the values of the others do not leave the Python workers."""
    everything = load(session, kafka, long)
    offsets = everything.select("offset")
    assert "BatchScan lagoon[offset#" in plan_of(offsets)
    assert RECORDS * 8 < received(offsets) < received(everything) / 2
    assert everything.count() == RECORDS
    assert everything.where("offset >= 7").count() == RECORDS - 7


@pytest.mark.parametrize("name", first(["lagoon", "lagoon_by_rows"]))
def test_each_scan_has_its_own_filters(session: SparkSession, kafka: LocalKafka, mixed: str, name: str) -> None:
    """One DataFrame in several queries, and several times in one. Spark keeps the plan of a Python source for all of them."""
    frame = load(session, kafka, mixed, name)
    everything = in_order(frame)
    of_partition = [row for row in everything if row.partition == 0]
    assert 0 < len(of_partition) < len(everything)
    assert frame.where("partition = 0").count() == len(of_partition)
    assert frame.count() == len(everything)
    for condition in ("partition = 0", "offset < 3", "timestamp < '2023-11-15'"):
        halves = frame.where(condition).union(frame.where(f"NOT ({condition})"))
        assert in_order(halves) == everything
    frame.createOrReplaceTempView("of_one_frame")
    counts = "(SELECT count(*) FROM of_one_frame WHERE partition = 0), (SELECT count(*) FROM of_one_frame)"
    assert tuple(session.sql(f"SELECT {counts}").first() or ()) == (len(of_partition), len(everything))


def test_each_query_has_a_plan_of_its_own(session: SparkSession, kafka: LocalKafka) -> None:
    """Records that were written meanwhile are read by the next query of a DataFrame, as with Spark's connector."""
    create(kafka, "columnar-growing", partitions=1)
    produce(kafka, "columnar-growing", ["a", "b"])
    frame = load(session, kafka, "columnar-growing")
    assert frame.count() == 2
    produce(kafka, "columnar-growing", ["c"])
    assert (frame.count(), frame.where("offset >= 1").count()) == (3, 2)


@pytest.mark.proof
def test_arrow_functions_keep_their_rows(session: SparkSession, kafka: LocalKafka, long: str) -> None:
    """Spark keeps the batches of other sources while it reads on; ours are read into the same memory."""

    @arrow_udf("string")
    def upper(values: pa.Array) -> pa.Array:
        return pc.utf8_upper(values.cast(pa.string()))

    frame = load(session, kafka, long)
    rows = frame.select("offset", frame.value.cast("string").alias("text"), "value", upper("value").alias("upper"))
    assert [tuple(row) for row in rows.orderBy("offset").collect()] == [
        (number, value(number), value(number).encode(), value(number).upper()) for number in range(RECORDS)
    ]


def test_a_stream_reads_by_rows(session: SparkSession, kafka: LocalKafka, mixed: str, tmp_path: Path) -> None:
    """A stream gets the rows of a batch."""
    reader = session.readStream.format("lagoon").option("kafka.bootstrap.servers", kafka.bootstrap_servers)
    rows = reader.option("subscribe", mixed).option("startingOffsets", "earliest").load()
    writer = rows.writeStream.format("memory").queryName("by_rows").option("checkpointLocation", str(tmp_path))
    writer.trigger(availableNow=True).start().awaitTermination(60)
    assert in_order(session.table("by_rows")) == in_order(load(session, kafka, mixed))


def test_large_types_of_arrow(session: SparkSession, kafka: LocalKafka, mixed: str) -> None:
    """A setting of Spark's gives strings and bytes offsets of 64 bits: the values are the same."""
    setting = "spark.sql.execution.arrow.useLargeVarTypes"
    small = in_order(load(session, kafka, mixed))
    session.conf.set(setting, "true")
    try:
        assert in_order(load(session, kafka, mixed)) == small
    finally:
        session.conf.unset(setting)


@pytest.mark.proof
@pytest.mark.parametrize("master", ["local[2,4]", "local-cluster[2,1,1024]"])
def test_a_task_that_is_killed_is_read_again(kafka: LocalKafka, long: str, master: str) -> None:
    """Its Python worker dies after the first Arrow batch: each record is read once. Executors get the Java class."""
    environment = os.environ | {
        "PYTHONPATH": PATHS,
        "SPARK_CONF_DIR": str(PROJECT / "conf"),
        "PYSPARK_PYTHON": sys.executable,
        "PYSPARK_SUBMIT_ARGS": f"--master {master} --conf spark.executorEnv.PYTHONPATH={PATHS} pyspark-shell",
    }
    words = [sys.executable, "-m", "tests.source.faulty_read", kafka.bootstrap_servers, long]
    done = subprocess.run(words, env=environment, cwd=PROJECT, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout.splitlines()[-1]) == {"counted": [RECORDS, RECORDS], "is_columnar": True}


class _Refusing:
    def sessionState(self) -> Any:  # noqa: N802  Spark's name
        raise Py4JError("no jars here")


@pytest.mark.parametrize(
    "session_of_others",
    [
        SimpleNamespace(version="4.2.0"),
        SimpleNamespace(version="4.3.0", _jsparkSession=None),
        SimpleNamespace(version="4.2.0", _jsparkSession=_Refusing()),
    ],
    ids=["Spark Connect", "another Spark", "jars refused"],
)
def test_without_the_class_rows_are_read(session_of_others: Any) -> None:
    """The Python source is registered under its name."""
    assert source_for(session_of_others) is LagoonSource


def test_a_package_without_the_jar(session: SparkSession, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Spark only logs that a jar is not there, and would then know no source of this name."""
    monkeypatch.setattr(columnar, "_JAR", tmp_path / "absent.jar")
    assert source_for(session) is LagoonSource


def test_a_session_is_registered_again(session: SparkSession) -> None:
    """A second call changes nothing."""
    assert source_for(session) is SourceOfRows
    register_source(session)


def test_other_threads(session: SparkSession, kafka: LocalKafka) -> None:
    """A thread that did not register the source reads topics by columns, too, and writes to them."""
    create(kafka, "columnar-threads", partitions=1)

    def copied() -> tuple[int, str]:
        rows = session.createDataFrame([("v",)], "value string")
        writer = rows.write.format("lagoon").mode("append").option("topic", "columnar-threads")
        writer.option("kafka.bootstrap.servers", kafka.bootstrap_servers).save()
        frame = load(session, kafka, "columnar-threads")
        return frame.count(), plan_of(frame)

    with ThreadPoolExecutor(1) as pool:
        count, plan = pool.submit(copied).result()
    assert count == 1
    assert "ColumnarToRow" in plan
