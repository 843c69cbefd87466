"""docs/values.md: its statements and snippets as they stand, on the data source, table `records` and a real broker."""

import base64
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession

from kafka_lagoon.delta.warehouse import at_path
from kafka_lagoon.query.spark_engine import make_available
from kafka_lagoon.sandbox.kafka import LocalKafka
from tests.cookbook.archive import make_archive
from tests.cookbook.pages import VALUES, by_duckdb, markdown, renewed, statements
from tests.registry.fake_registry import Registry, serving
from tests.source.source_topics import create, produce

PAGE = VALUES.read_text("utf-8")
SAMPLES = json.loads((VALUES.parents[1] / "tests" / "registry" / "samples.json").read_text("utf-8"))
VALUES_OF_SAMPLES = [base64.b64decode(one["value"]) for one in SAMPLES["values"]]


def _snippet(words: str) -> str:
    (snippet,) = (one for one in re.findall(r"^```python\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE) if words in one)
    return snippet


def test_json_in_both_engines(spark: SparkSession, tmp_path: Path) -> None:
    """DuckDB's statement and Spark's give the answer of the page."""
    make_archive(tmp_path)
    for_duckdb, for_spark = statements(PAGE)
    assert renewed(PAGE, lambda statement: by_duckdb(tmp_path, statement)) == PAGE
    make_available(at_path(spark, str(tmp_path)), {"records"})
    assert markdown(pa.table(spark.sql(for_spark).toArrow())) == by_duckdb(tmp_path, for_duckdb)


@pytest.fixture
def registry() -> Iterator[Registry]:
    """With the schemas of the samples."""
    schemas = {int(number): schema for number, schema in SAMPLES["schemas"].items()}
    with serving(Registry(schemas, SAMPLES["subjects"])) as running:
        yield running


def test_values_of_a_schema_registry(
    spark: SparkSession, kafka: LocalKafka, registry: Registry, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The snippet on a topic with several schemas, and with records that have none."""
    monkeypatch.chdir(VALUES.parents[1])
    monkeypatch.setattr(sys, "path", [*sys.path])  # addPyFile adds to it
    create(kafka, "orders-avro")
    produce(kafka, "orders-avro", [*VALUES_OF_SAMPLES, b"plain text", None])
    names = _run(_snippet("addPyFile"), spark, kafka, registry.url)
    rows = sorted(names["orders"].collect(), key=lambda row: row.offset)
    assert [row.json and json.loads(row.json) for row in rows] == [
        *(one["json"] for one in SAMPLES["values"]),
        None,
        None,
    ]
    assert [row.problem for row in rows[-3:]] == [None, "NOT_IN_WIRE_FORMAT", "NO_VALUE"]
    typed = {row.offset: row.order for row in names["typed"].collect()}
    assert (typed[2].id, typed[2].total, typed[10]) == (3, "12.50", None)


def _run(snippet: str, spark: SparkSession, kafka: LocalKafka, registry: str = "") -> dict[str, Any]:
    names = {"spark": spark}
    exec(snippet.replace("localhost:9092", kafka.bootstrap_servers).replace("http://localhost:8081", registry), names)  # noqa: S102
    return names


def test_kafkas_own_topics(spark: SparkSession, kafka: LocalKafka) -> None:
    """The snippet runs; what it decodes is compared with Kafka's formatters in test_internal_topics.py."""
    names = _run(_snippet("consumer_offsets"), spark, kafka)
    assert isinstance(names["steps"], DataFrame)
    assert names["commits"].columns[:3] == ["log_partition", "log_offset", "written_at"]
