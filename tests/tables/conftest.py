"""What the table tests share: one Spark session, and a warehouse of its own for each test that asks."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from pipeline.settings import Settings, load
from pipeline.tables.schema import RECORDS
from pipeline.tables.session import session
from pipeline.tables.warehouse import Warehouse, open_warehouse
from tests.clock import CLOCK


def settings(*assignments: str) -> Settings:
    """Settings as `--set` would give them."""
    return load(None, {}, assignments, cluster_needed=False)


# A JVM that lives for a minute gains nothing from its second compiler: this halves the CPU that the tests take.
_SHORT_LIVED = '--driver-java-options "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC" pyspark-shell'


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """The one session of the run, as the jobs make it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYSPARK_SUBMIT_ARGS", _SHORT_LIVED)
        made = session("tests")
        made.sparkContext.setLogLevel("OFF")
        yield made
        made.stop()


@pytest.fixture
def warehouse(spark: SparkSession, tmp_path: Path) -> Warehouse:
    """An empty warehouse in a folder."""
    return open_warehouse(spark, settings(f"warehouse={tmp_path / 'warehouse'}"), CLOCK)


def records_like(topic: str, first_offset: int, count: int, **columns: Any) -> pa.Table:
    """As many rows of table `records` without its partition column; `columns` are values for all rows."""
    given: dict[str, Any] = {"cluster_id": "cluster", "topic": topic, "partition": 0, "timestamp_ms": 0, **columns}
    given |= {"timestamp_type": 0, "headers": [], "is_transactional": False, "ingest_id": "ingest"}
    schema = RECORDS.file_schema()
    values = {field.name: [given.get(field.name)] * count for field in schema}
    return pa.table({**values, "offset": range(first_offset, first_offset + count)}, schema)
