"""Popular readers return the same rows for every filter on our tables as a full scan.

The rows are counted in Python among those of the Parquet files themselves, which no log and no statistics stand before.
`make test` tries a part of the filters of each table, `make proof` all of them.
"""

import random
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from functools import reduce
from operator import and_
from pathlib import Path
from typing import Any

import deltalake
import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable
from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812  everybody's name for it

from kafka_lagoon.delta.maintain import MaintainOptions, maintain
from kafka_lagoon.delta.open_warehouse import at_path, open_warehouse
from kafka_lagoon.delta.warehouse import Warehouse
from kafka_lagoon.notebooks import register_duckdb
from kafka_lagoon.query.spark_engine import make_available
from kafka_lagoon.query.views import CHANGES, HISTORY, NAMES, VIEWS
from kafka_lagoon.tables.columns import TIMESTAMP
from kafka_lagoon.tables.schema import TABLES
from kafka_lagoon.tables.table import Table
from tests.clock import CLOCK
from tests.delta import awkward
from tests.effort import examples, first
from tests.warehouses import settings

pytestmark = [pytest.mark.spark, pytest.mark.examples]

# Columns of other views are computed, so statistics of files do not affect filters on them: tests/query/views.
SHOWING_ROWS = [name for name in NAMES if name not in (*HISTORY, *CHANGES, "superseded_ranges")]


@dataclass(frozen=True)
class Filter:
    """A condition on one column: `=`, `<=` or `>=` with a value, or `IS [NOT] NULL`."""

    column: str
    operator: str
    value: Any = None

    def holds(self, row: dict[str, Any]) -> bool:
        """Return True if a row meets the condition, as in SQL: null is neither equal to nor less than any value."""
        value = row[self.column]
        match self.operator:
            case "null":
                return value is None
            case "not null":
                return value is not None
            case "=":
                return value is not None and value == self.value
            case "<=":
                return value is not None and value <= self.value
        return value is not None and value >= self.value

    def sql(self) -> str:
        """Spell the condition with a placeholder for its value."""
        return f'"{self.column}" {"IS " + self.operator if "null" in self.operator else self.operator + " ?"}'


def filters(rows: Sequence[dict[str, Any]]) -> Iterator[Filter]:
    """Make conditions on every column: null or not, and with every third value, the least and the greatest."""
    for name in rows[0]:
        yield from (Filter(name, "null"), Filter(name, "not null"))
        present = [row[name] for row in rows if row[name] is not None and not isinstance(row[name], list)]
        values = sorted(set(present))
        for value in dict.fromkeys([*values[:1], *values[1:-1:3], *values[-1:]]):
            yield Filter(name, "=", value)
        for value in values[-1:]:
            yield Filter(name, ">=", value)
        for value in values[:1]:
            yield Filter(name, "<=", value)


def rows_of(location: str) -> list[dict[str, Any]]:
    """Read all rows of a table from its Parquet files and the names of their folders."""
    table = DeltaTable(location)
    names = [field.name for field in table.schema().fields]
    (partition,) = table.metadata().partition_columns
    rows = []
    for url in table.file_uris():
        day = date.fromisoformat(Path(url).parent.name.partition("=")[2])
        arrow = pq.ParquetFile(url.removeprefix("file://"), coerce_int96_timestamp_unit="us").read()
        for number, field in enumerate(arrow.schema):
            if pa.types.is_timestamp(field.type):  # Spark may write INT96, which has no zone
                arrow = arrow.set_column(number, field.name, arrow[field.name].cast(TIMESTAMP))
        in_file = arrow.to_pylist()
        rows += [{name: row.get(name) for name in names} | {partition: day} for row in in_file]
    return rows


def by_deltalake(location: str, wanted: Sequence[Filter]) -> list[int]:
    """Count rows in a dataset of deltalake."""
    dataset = DeltaTable(location).to_pyarrow_dataset()

    def expression(condition: Filter) -> Any:
        column = pc.field(condition.column)
        if "null" in condition.operator:
            return column.is_null() if condition.operator == "null" else column.is_valid()
        value = pa.scalar(condition.value, dataset.schema.field(condition.column).type)
        return {"=": column == value, "<=": column <= value, ">=": column >= value}[condition.operator]

    return [dataset.count_rows(filter=expression(condition), use_threads=False) for condition in wanted]


def by_duckdb(location: str, wanted: Sequence[Filter]) -> list[int]:
    """Count rows with DuckDB over that dataset."""
    with duckdb.connect() as connection:
        connection.register("it", DeltaTable(location).to_pyarrow_dataset())
        return counts_in_duckdb(connection, "it", wanted)


def counts_in_duckdb(connection: duckdb.DuckDBPyConnection, name: str, wanted: Sequence[Filter]) -> list[int]:
    """Count rows of a relation of a connection."""
    counts: list[int] = []
    for condition in wanted:
        values = [] if "null" in condition.operator else [condition.value]
        ((count,),) = connection.execute(f"SELECT count(*) FROM {name} WHERE {condition.sql()}", values).fetchall()
        counts.append(count)
    return counts


def by_polars(location: str, wanted: Sequence[Filter]) -> list[int]:
    """Count rows with Polars."""
    frame = pl.scan_delta(location.removeprefix("file:"))
    kinds = frame.collect_schema()

    def expression(condition: Filter) -> pl.Expr:
        column = pl.col(condition.column)
        if "null" in condition.operator:
            return column.is_null() if condition.operator == "null" else column.is_not_null()
        value = pl.lit(condition.value, dtype=kinds[condition.column])
        return {"=": column == value, "<=": column <= value, ">=": column >= value}[condition.operator]

    return [frame.filter(expression(condition)).select(pl.len()).collect().item() for condition in wanted]


READERS = {"deltalake": by_deltalake, "duckdb": by_duckdb, "polars": by_polars}


def counted(rows: Sequence[dict[str, Any]]) -> tuple[list[Filter], list[int]]:
    """Make the conditions on rows, with the number of rows that meet each."""
    conditions = list(filters(rows))
    wanted = random.Random(len(conditions)).sample(conditions, examples(len(conditions)))
    return wanted, [sum(map(condition.holds, rows)) for condition in wanted]


def wrong(location: str, count: Callable[[str, Sequence[Filter]], list[int]]) -> list[tuple[Filter, int, int]]:
    """Return the conditions for which a reader's count differs from that of the files, with both counts."""
    rows = rows_of(location)
    assert rows, location
    wanted, truth = counted(rows)
    return differences(wanted, count(location, wanted), truth)


def differences(
    wanted: Sequence[Filter], counted: Sequence[int], truth: Sequence[int]
) -> list[tuple[Filter, int, int]]:
    """Return the conditions with wrong counts."""
    return [compared for compared in zip(wanted, counted, truth, strict=True) if compared[1] != compared[2]]


def like(row: dict[str, Any]) -> list[Filter]:
    """Make conditions on every column that the row meets: null or not, or its value by equality and as both bounds."""
    conditions = []
    for name, value in row.items():
        if value is None or isinstance(value, list):
            conditions.append(Filter(name, "null" if value is None else "not null"))
        else:
            conditions += [Filter(name, operator, value) for operator in ("=", ">=", "<=")]
    return conditions


def spark_condition(condition: Filter) -> SparkColumn:
    """Spell a condition for Spark."""
    column = F.col(f"`{condition.column}`")
    if "null" in condition.operator:
        return column.isNull() if condition.operator == "null" else column.isNotNull()
    value = F.lit(bytearray(condition.value) if isinstance(condition.value, bytes) else condition.value)
    if isinstance(condition.value, datetime):  # in the proleptic calendar of year 1, as in Spark
        value = F.expr(f"TIMESTAMP '{condition.value.isoformat()}'")
    return {"=": column == value, "<=": column <= value, ">=": column >= value}[condition.operator]


def missed_in_spark(frames: Mapping[str, tuple[DataFrame, Sequence[dict[str, Any]]]]) -> dict[str, list[Filter]]:
    """Return conditions on all columns with which Spark does not find the last row of a table or view.

    All in one query, in which each list is pushed down on its own: Spark takes a second to plan one.
    """
    wanted = {name: like(rows[-1]) for name, (_, rows) in frames.items()}
    counts = [
        frames[name][0].where(reduce(and_, map(spark_condition, conditions))).agg(F.count("*"), F.lit(name))
        for name, conditions in wanted.items()
    ]
    shown = {name for count, name in reduce(DataFrame.union, counts).collect() if count}
    return {name: conditions for name, conditions in wanted.items() if name not in shown}


@pytest.fixture(scope="module")
def lake(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Warehouse:
    """A warehouse of this version, which tests only read."""
    place = tmp_path_factory.mktemp("readers") / "lake"
    warehouse = open_warehouse(spark, settings(f"warehouse={place}"), CLOCK)
    awkward.fill(warehouse)
    return warehouse


@pytest.fixture(scope="module")
def truth(lake: Warehouse) -> dict[str, tuple[list[Filter], list[int]]]:
    """Conditions on every table, with the number of matching rows of its files."""
    return {table.name: counted(rows_of(lake.locations[table.name])) for table in TABLES}


@pytest.mark.parametrize("reader", first(list(READERS), 2))
def test_filters_find_what_is_there(
    lake: Warehouse, truth: Mapping[str, tuple[list[Filter], list[int]]], reader: str
) -> None:
    """Equality, ranges and nulls of every column of every table match as many rows as in the files."""
    for name, (wanted, counts) in truth.items():
        assert sum(counts), name
        assert differences(wanted, READERS[reader](lake.locations[name], wanted), counts) == [], name


@pytest.fixture(scope="module")
def lagoon_sql(lake: Warehouse) -> Iterator[duckdb.DuckDBPyConnection]:
    """A connection with all tables and views."""
    with duckdb.connect() as connection:
        register_duckdb(connection, lake.name)
        yield connection


@pytest.mark.parametrize("name", first(SHOWING_ROWS, 8))
def test_filters_in_lagoon_sql_find_what_is_there(lagoon_sql: duckdb.DuckDBPyConnection, name: str) -> None:
    """Filters on every table and view match as many rows as the unfiltered rows in Python."""
    rows = lagoon_sql.table(name).to_arrow_table().to_pylist()
    assert rows
    wanted, counts = counted(rows)
    assert differences(wanted, counts_in_duckdb(lagoon_sql, name, wanted), counts) == []


def in_spark(warehouse: Warehouse, *tables: Table) -> dict[str, tuple[DataFrame, Sequence[dict[str, Any]]]]:
    """Tables in Spark, with the rows of their files."""
    return {
        table.name: (warehouse.spark.table(warehouse.identifiers[table.name]), rows_of(warehouse.locations[table.name]))
        for table in tables
    }


@pytest.mark.proof
def test_spark_finds_what_is_there(lake: Warehouse) -> None:
    """Equality, ranges and nulls of every column of every table hide no row, and skip files."""
    frames = in_spark(lake, *TABLES)
    assert missed_in_spark(frames) == {}
    lag, rows = frames["consumer_lag"]
    filtered = lag.where(reduce(and_, map(spark_condition, like(rows[0]))))
    assert len(filtered.inputFiles()) == 1 < len(lag.inputFiles())


@pytest.mark.proof
def test_filters_of_views_find_what_is_there(lake: Warehouse) -> None:
    """Equality, ranges and nulls of every column of every view of rows hide no row of the view."""
    make_available(lake)
    frames = {view.name: lake.spark.table(view.name) for view in VIEWS if view.name in SHOWING_ROWS}
    assert missed_in_spark({name: (frame, frame.toArrow().to_pylist()) for name, frame in frames.items()}) == {}


@pytest.mark.proof
def test_tables_of_an_older_version_are_repaired(lake: Warehouse, tmp_path: Path) -> None:
    """deltalake finds no rows in tables of version 0.1.0; after the next run or maintenance all readers find all rows.

    So they do in files that Spark's OPTIMIZE and deltalake's have written, which have no bounds of booleans.
    """
    place = tmp_path / "old"
    shutil.copytree(lake.name.removeprefix("file:"), place)
    awkward.make_old(place)
    old = at_path(lake.spark, str(place))
    assert all(wrong(old.locations[name], by_deltalake) for name in ("consumer_lag", "records", "record_ranges"))
    (maintained,) = maintain(old, MaintainOptions(tables=("partitions",)), CLOCK)
    assert maintained.days == 2
    assert not wrong(old.locations["partitions"], by_deltalake)
    open_warehouse(lake.spark, settings(f"warehouse={place}"), CLOCK)
    old.spark.sql(f"OPTIMIZE {old.identifiers['records']}").collect()
    deltalake.DeltaTable(old.locations["consumer_groups"]).optimize.compact()
    awkward.fill(old, first=10)
    for reader in READERS.values():
        faults = {name: wrong(old.locations[name], reader) for name in ("consumer_groups", "records", "record_ranges")}
        assert not any(faults.values()), faults
    assert not any(wrong(old.locations[table.name], by_deltalake) for table in TABLES if table.bounded_in_0_1)
