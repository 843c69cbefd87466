"""Runs views by Spark and DuckDB over tables in memory, which have the rows of all examples."""

from collections.abc import Container, Mapping
from typing import Any

import duckdb
import pyarrow as pa
from pyspark.sql import SparkSession

from kafka_lagoon.query import duckdb_engine
from kafka_lagoon.query.duckdb_tables import TableQuery
from kafka_lagoon.query.statements import type_name
from kafka_lagoon.query.views import CREATE, VIEWS, with_needs

Rows = list[dict[str, Any]]


class Engines:
    """Spark and DuckDB with the same tables; each view is run once, and only views of `both` are run by Spark, too."""

    def __init__(self, spark: SparkSession, tables: Mapping[str, pa.Table], both: Container[str]) -> None:
        self._spark, self._tables, self._both = spark, tables, both
        self._results: dict[str, Rows] = {}

    def rows(self, view: str) -> Rows:
        """Return all rows of a view, after a check that columns, types and rows are the same with both engines."""
        if view not in self._results:
            here = by_duckdb(self._tables, view)
            self._results[view] = _sorted(here)
            if view in self._both:
                there = self._by_spark(view)
                assert _schema(here) == _schema(there)
                assert self._results[view] == _sorted(there)
        return self._results[view]

    def _by_spark(self, view: str) -> pa.Table:
        needed = with_needs({view})
        for name in needed & self._tables.keys():
            self._spark.createDataFrame(self._tables[name]).createOrReplaceTempView(name)
        for each in VIEWS:
            if each.name in needed:
                self._spark.sql(each.sql.replace(CREATE, "CREATE OR REPLACE TEMPORARY VIEW", 1))
        return self._spark.table(view).toArrow()


def by_duckdb(tables: Mapping[str, pa.Table], view: str) -> pa.Table:
    """Return the rows of a view over these tables, by DuckDB."""
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        for name, table in tables.items():
            connection.register(f"given_{name}", table)
        duckdb_engine.create(connection, {view}, lambda table: TableQuery(f"SELECT * FROM given_{table.name}"))
        return connection.sql(f"FROM {view}").to_arrow_table()


def _schema(table: pa.Table) -> list[tuple[str, str]]:
    return [(one.name, type_name(one.type)) for one in table.schema]


def _sorted(table: pa.Table) -> Rows:
    return sorted(table.to_pylist(), key=repr)
