"""Settings of a warehouse in a folder, and rows for its table `records`."""

from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql import SparkSession

from kafka_lagoon.delta.open_warehouse import open_warehouse
from kafka_lagoon.delta.warehouse import Warehouse
from kafka_lagoon.settings import Settings
from kafka_lagoon.settings_sources import load
from kafka_lagoon.tables.record_tables import RECORDS
from tests.clock import CLOCK


def settings(*assignments: str) -> Settings:
    """Parse settings as `--set` does; warehouses are created."""
    return load(None, {}, ["create=true", *assignments], cluster_needed=False)


def open_at(spark: SparkSession, folder: Path) -> Warehouse:
    """Open the warehouse in a folder, with all tables."""
    return open_warehouse(spark, settings(f"warehouse={folder}"), CLOCK)


def records_like(topic: str, first_offset: int, count: int, **columns: Any) -> pa.Table:
    """Make this many rows of table `records` without its partition column; `columns` are values for all rows."""
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
