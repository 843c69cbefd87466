"""docs/values.md: its statements and snippets run unchanged on the data source, table `records` and a real broker.

The snippet about Kafka's own topics runs in test_internal_topics.py, where they have records.
"""

import base64
import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from kafka_lagoon.delta.open_warehouse import at_path
from kafka_lagoon.query.spark_engine import make_available
from kafka_lagoon.query.statements import tuples
from kafka_lagoon.sandbox.kafka import LocalKafka
from tests.cookbook.archive import make_archive
from tests.cookbook.pages import VALUES, by_duckdb, markdown, renewed, run_snippet, statements
from tests.query.duckdb_rows import rows_of
from tests.registry.fake_registry import Registry, serving
from tests.source.source_topics import create, produce

PAGE = VALUES.read_text("utf-8")
SAMPLES = json.loads((VALUES.parents[1] / "tests" / "registry" / "samples.json").read_text("utf-8"))
VALUES_OF_SAMPLES = [base64.b64decode(one["value"]) for one in SAMPLES["values"]]


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    """The archive of the pages."""
    make_archive(tmp_path)
    return tmp_path


def test_json_in_duckdb(archive: Path) -> None:
    """DuckDB's statement gives the answer of the page."""
    assert renewed(PAGE, lambda statement: by_duckdb(archive, statement)) == PAGE


@pytest.mark.proof
def test_json_in_spark(spark: SparkSession, archive: Path) -> None:
    """Spark's statement gives the answer of DuckDB's."""
    for_duckdb, for_spark, by_key = statements(PAGE)
    make_available(at_path(spark, str(archive)), {"records", "records_now"})
    assert markdown(pa.table(spark.sql(for_spark).toArrow())) == by_duckdb(archive, for_duckdb)
    in_spark = by_key.replace("encode('Zoë')", "encode('Zoë', 'UTF-8')")
    assert markdown(pa.table(spark.sql(in_spark).toArrow())) == by_duckdb(archive, by_key)


# Values of which the page says that the engines differ: column id and the problem, in DuckDB and in Spark.
_DIFFERENT = {
    b'{"id": 7.9}': ((8, None), (7, None)),
    b'{"id": "7.9"}': ((8, None), (None, None)),
    b'{"id": true}': ((None, None), (1, None)),
    b'{"id": 1, "id": 2}': ((1, None), (None, "NOT_JSON")),
    b'{"id": NaN}': ((None, None), (None, "NOT_JSON")),
    b'{"id": 3,}': ((3, None), (None, "NOT_JSON")),
    b'{"id": 3}{"id": 4}': ((None, "NOT_JSON"), (3, None)),
    b'{"id": 3} x': ((None, "NOT_JSON"), (3, None)),
}


def test_values_that_differ_in_duckdb(tmp_path: Path) -> None:
    """The page names these values and their problems for DuckDB."""
    make_archive(tmp_path, [*_DIFFERENT])
    with rows_of(tmp_path, statements(PAGE)[0]) as rows:
        assert [(row[1], row[-1]) for row in tuples(rows)] == [in_duckdb for in_duckdb, _ in _DIFFERENT.values()]


@pytest.mark.proof
def test_values_that_differ_in_spark(spark: SparkSession, tmp_path: Path) -> None:
    """The page names these values and their problems for Spark."""
    make_archive(tmp_path, [*_DIFFERENT])
    make_available(at_path(spark, str(tmp_path)), {"records"})
    rows = spark.sql(statements(PAGE)[1]).collect()
    assert [(row.id, row.problem) for row in rows] == [in_spark for _, in_spark in _DIFFERENT.values()]


@pytest.fixture
def registry() -> Iterator[Registry]:
    """A registry with the schemas of the samples."""
    schemas = {int(number): schema for number, schema in SAMPLES["schemas"].items()}
    with serving(Registry(schemas, SAMPLES["subjects"])) as running:
        yield running


@pytest.mark.proof
def test_values_of_a_schema_registry(
    spark: SparkSession, kafka: LocalKafka, registry: Registry, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The snippet reads a topic with several schemas, and with records that have none."""
    monkeypatch.chdir(VALUES.parents[1])
    monkeypatch.setattr(sys, "path", [*sys.path])  # addPyFile changes it
    create(kafka, "orders-avro")
    produce(kafka, "orders-avro", [*VALUES_OF_SAMPLES, b"plain text", None])
    names = run_snippet(PAGE, "addPyFile", spark, kafka.bootstrap_servers, registry.url)
    rows = sorted(names["orders"].collect(), key=lambda row: row.offset)
    assert [row.json and json.loads(row.json) for row in rows] == [
        *(one["json"] for one in SAMPLES["values"]),
        None,
        None,
    ]
    assert [row.problem for row in rows[-3:]] == [None, "NOT_IN_WIRE_FORMAT", "NO_VALUE"]
    typed = {row.offset: row.order for row in names["typed"].collect()}
    assert (typed[2].id, typed[2].total, typed[10]) == (3, "12.50", None)
