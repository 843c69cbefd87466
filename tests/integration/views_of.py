"""Queries the views over snapshots that were just collected, with DuckDB, without a warehouse."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import duckdb
import pyarrow as pa

from kafka_lagoon.delta.arrow import arrow_table
from kafka_lagoon.query import duckdb_engine
from kafka_lagoon.query.duckdb_tables import TableQuery
from kafka_lagoon.tables.schema import SNAPSHOT_DATE, STATE_TABLES
from kafka_lagoon.tables.snapshot_rows import Snapshot
from kafka_lagoon.tables.table import Table


def rows_of_view(snapshots: Sequence[Snapshot], view: str) -> list[dict[str, Any]]:
    """Return all rows of a view over these snapshots, as if all of them were published."""
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        tables = {table.name: _of_all(table, snapshots) for table in STATE_TABLES}
        for name, rows in tables.items():
            connection.register(f"given_{name}", rows)
        duckdb_engine.create(connection, {view}, lambda table: TableQuery(f"SELECT * FROM given_{table.name}"))
        return connection.sql(f"FROM {view}").to_arrow_table().to_pylist()


def _of_all(table: Table, snapshots: Sequence[Snapshot]) -> pa.Table:
    return pa.concat_tables([_of_one(table, snapshot) for snapshot in snapshots])


def _of_one(table: Table, snapshot: Snapshot) -> pa.Table:
    rows = arrow_table(table, snapshot.header, snapshot.of(table.row))
    day = datetime.fromtimestamp(snapshot.header.captured_at_ms / 1000, UTC).date()
    return rows.append_column(SNAPSHOT_DATE, pa.array([day] * len(rows), pa.date32()))
