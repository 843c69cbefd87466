"""Runs SQL over the tables by Spark, wherever the warehouse is: in a folder, an object store or a catalog."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain
from typing import Any

import pyarrow as pa
from py4j.protocol import Py4JJavaError
from pyspark.logger import PySparkLogger
from pyspark.sql import DataFrame, functions
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructField, StructType

from kafka_lagoon.delta.session import settings_for_block
from kafka_lagoon.delta.storage import JAVA_ERRORS, reason
from kafka_lagoon.delta.warehouse import Warehouse
from kafka_lagoon.errors import SchemaChanged, TableError
from kafka_lagoon.query.spark_statements import refuse_all_but_a_query, refuse_references
from kafka_lagoon.query.statements import Ask, Rows, failed, refuse_writing
from kafka_lagoon.query.views import CREATE, NAMES, VIEWS, in_order_of_reading, with_needs
from kafka_lagoon.tables.table import Table, differences


@contextmanager
def opened(warehouse: Warehouse, names: Iterable[str]) -> Iterator[Ask]:
    """Yield a function that runs statements over tables and views of these `names`.

    Times are in UTC, whatever the session's time zone is: DuckDB has the same, and pyarrow does not know all of Spark's zones.

    TableError with Spark's words if a statement fails.
    """
    PySparkLogger.getLogger(
        "SQLQueryContextLogger"
    ).disabled = True  # it writes 14 kB to standard error for each wrong statement
    with settings_for_block(warehouse.spark, {"spark.sql.session.timeZone": "UTC"}):
        make_available(warehouse, names)
        yield lambda statement, *values: _run(warehouse, statement, values)


def _run(warehouse: Warehouse, statement: str, values: Sequence[int | str]) -> Rows:
    refuse_writing(statement)
    refuse_references(statement)
    bound = _bound(statement, values)
    try:
        refuse_all_but_a_query(_parsed(warehouse, bound), warehouse.name.split(".") if warehouse.in_catalog else ())
        frame = warehouse.spark.sql(bound)
        schema = to_arrow_schema(frame.schema, timezone="UTC")
    except JAVA_ERRORS as error:
        raise failed(_words(error)) from error
    return Rows(schema=schema, batches=_batches(frame, schema))


def _parsed(warehouse: Warehouse, statement: str) -> Any:
    """The plan that Spark's parser (with Delta's before it) makes; nothing runs, and no name is looked up."""
    return warehouse.spark._jsparkSession.sessionState().sqlParser().parsePlan(statement)  # noqa: SLF001


def _bound(statement: str, values: Sequence[int | str]) -> str:
    """The statement with its values in place of question marks: Delta's parser (4.4) does not bind Spark's parameters."""
    if not values:
        return statement
    pieces = statement.split("?")
    return "".join(chain(*zip(pieces, map(_literal, values), strict=False), pieces[-1:]))


def _literal(value: int | str) -> str:
    """The text as a literal of bytes, which no content can end."""
    if isinstance(value, int):
        return str(value)
    return f"decode(X'{value.encode(errors='backslashreplace').hex()}', 'UTF-8')"


def make_available(warehouse: Warehouse, names: Iterable[str] = NAMES) -> None:
    """Create temporary views with these `names` over a folder, or real views in a catalog.

    The catalog's schema becomes the current one. In a folder, a table that a later version added is empty until a run of that
    version creates it, and a column that it added is null. TableError if a table cannot be read or a view not be created.
    """
    wanted = with_needs(names)
    try:
        if warehouse.in_catalog:
            _use_schema(warehouse)
            _refuse_older(warehouse, wanted)
        else:
            _show_tables(warehouse, wanted)
        for view in VIEWS:
            if view.name in wanted:
                kind = CREATE if warehouse.in_catalog else "CREATE OR REPLACE TEMPORARY VIEW"
                warehouse.spark.sql(view.sql.replace(CREATE, kind, 1))
    except JAVA_ERRORS as error:
        raise TableError(f"{warehouse.name}: {reason(error)}") from error


def _batches(frame: DataFrame, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """Fetch one Spark partition after the other, so that the first rows do not wait for the last, and none are kept.

    DataFrame.toArrow would fetch all of them at once; toLocalIterator returns times in the zone of this machine.
    """
    try:
        batches = frame._jdf.toArrowBatchRdd().toLocalIterator()  # noqa: SLF001  what toArrow calls, without its collect
        while batches.hasNext():
            yield pa.ipc.read_record_batch(pa.py_buffer(batches.next()), schema)
    except JAVA_ERRORS as error:
        raise failed(_words(error)) from error


def _words(error: Exception) -> str:
    """The first line of the cause; Spark's own message only names the task and stage."""
    if not isinstance(error, Py4JJavaError):
        return reason(error)
    cause = error.java_exception
    while cause.getCause() is not None:
        cause = cause.getCause()
    return str(cause.getMessage() or cause).partition("\n")[0]


def _use_schema(warehouse: Warehouse) -> None:
    """Make unqualified names refer to the schema; temporary views of another warehouse would take precedence."""
    for name in NAMES:
        warehouse.spark.catalog.dropTempView(name)
    warehouse.spark.sql(f"USE {warehouse.name}")


def _refuse_older(warehouse: Warehouse, wanted: set[str]) -> None:
    """TableError if views of this version need tables or columns that an earlier version did not make.

    Views in a catalog outlast the session, so they cannot read temporary views that would add empty tables and null columns.
    """
    for table in in_order_of_reading(wanted):
        lacking = "is not there"
        if table.name in warehouse.locations:
            missing = _missing_columns(table, warehouse.spark.table(warehouse.identifiers[table.name]))
            lacking = f"lacks columns of this version ({', '.join(field.name for field in missing)})" if missing else ""
        if lacking:
            cure = "the first run of this version that writes it adds what is missing"
            raise TableError(f"table {table.name} in {warehouse.name} {lacking}: {cure}")


def _show_tables(warehouse: Warehouse, wanted: set[str]) -> None:
    for table in in_order_of_reading(wanted):
        rows = (
            _as_declared(table, warehouse.spark.read.format("delta").load(warehouse.locations[table.name]))
            if warehouse.has(table)
            else warehouse.spark.createDataFrame([], StructType.fromJson(table.delta_schema()))
        )
        rows.createOrReplaceTempView(table.name)


def _as_declared(table: Table, rows: DataFrame) -> DataFrame:
    """The rows with nulls for columns that a later version of Kafka Lagoon added; SchemaChanged if other columns differ."""
    missing = _missing_columns(table, rows)
    return rows.select("*", *(functions.lit(None).cast(field.dataType).alias(field.name) for field in missing))


def _missing_columns(table: Table, rows: DataFrame) -> list[StructField]:
    """The columns that a later version of Kafka Lagoon added; SchemaChanged if other columns differ."""
    faults = differences(table, rows.schema.jsonValue()["fields"], (table.partition_by,))
    if faults:
        raise SchemaChanged(f"table {table.name} is not as we made it: {'; '.join(faults)}")
    return [field for field in StructType.fromJson(table.delta_schema()) if field.name not in rows.columns]
