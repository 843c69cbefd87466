"""What the table tests share: a warehouse of its own for each test that asks."""

import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from pipeline.settings import Settings, load
from pipeline.tables.schema import RECORDS
from pipeline.tables.warehouse import Warehouse, open_warehouse
from tests.clock import CLOCK


def settings(*assignments: str) -> Settings:
    """Settings as `--set` would give them."""
    return load(None, {}, assignments, cluster_needed=False)


@pytest.fixture(scope="session")
def new_lake(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with all tables and no rows, to be copied: that is quicker than making the tables."""
    lake = tmp_path_factory.mktemp("new") / "lake"
    open_warehouse(spark, settings(f"warehouse={lake}"), CLOCK)
    return lake


@pytest.fixture
def warehouse(spark: SparkSession, new_lake: Path, tmp_path: Path) -> Warehouse:
    """An empty warehouse in a folder."""
    shutil.copytree(new_lake, tmp_path / "warehouse")
    return open_warehouse(spark, settings(f"warehouse={tmp_path / 'warehouse'}"), CLOCK)


def records_like(topic: str, first_offset: int, count: int, **columns: Any) -> pa.Table:
    """As many rows of table `records` without its partition column; `columns` are values for all rows."""
    given: dict[str, Any] = {
        "cluster": "name",
        "cluster_id": "cluster",
        "topic": topic,
        "partition": 0,
        "timestamp_ms": 0,
        **columns,
    }
    given |= {"timestamp_type": 0, "headers": [], "is_transactional": False, "ingest_id": "ingest"}
    schema = RECORDS.file_schema()
    values = {field.name: [given.get(field.name)] * count for field in schema}
    return pa.table({**values, "offset": range(first_offset, first_offset + count)}, schema)
