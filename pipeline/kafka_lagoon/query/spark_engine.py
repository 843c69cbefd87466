"""Runs SQL over the tables by Spark, wherever the warehouse is: in a folder, an object store or a catalog."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import datetime
from itertools import chain
from typing import Any, cast

import pyarrow as pa
from py4j.protocol import Py4JJavaError
from pyspark.logger import PySparkLogger
from pyspark.sql import DataFrame, SparkSession, functions
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructField, StructType

from kafka_lagoon.delta.files import DescribedFile
from kafka_lagoon.delta.storage import JAVA_ERRORS, reason
from kafka_lagoon.delta.warehouse import Warehouse
from kafka_lagoon.errors import SchemaChanged, TableError
from kafka_lagoon.query.spark_statements import refuse_all_but_a_query, refuse_references
from kafka_lagoon.query.statements import Ask, Rows, failed, refuse_writing
from kafka_lagoon.query.views import CREATE, NAMES, VIEWS, View, in_order_of_reading, query_over_tables, with_needs
from kafka_lagoon.query.window import Newest, Window, condition, of_table, times_of_newest
from kafka_lagoon.tables.schema import STATE_TABLES
from kafka_lagoon.tables.table import Table, differences

_SNAPSHOTS = STATE_TABLES[-1].name
_LOGGERS_OF_TASKS = ("org.apache.spark.executor.Executor", "org.apache.spark.scheduler.TaskSetManager")
_KEPT_BYTES = 8 << 20  # of a table's files: rows take some ten times as much in memory, and go to disk where it is full
_URL = re.compile(r"\b(?:s3a?|gs|abfss?)://[^\s'\",]*[^\s'\",:.]")
_READING = re.compile(r"\[FAILED_READ_FILE.*? reading file (.*?)\.\s")


@contextmanager
def opened(warehouse: Warehouse, names: Iterable[str], window: Window | Newest | None = None) -> Iterator[Ask]:
    """Yield a function that runs statements over tables and views of these `names`.

    With a `window`, rows of other snapshots are missing from the tables of a folder or bucket, and from views too.

    Times are in UTC, whatever the session's time zone is: DuckDB has the same, and pyarrow does not know all of Spark's zones.

    TableError with Spark's words if a statement fails.
    """
    PySparkLogger.getLogger(
        "SQLQueryContextLogger"
    ).disabled = True  # it writes 14 kB to standard error for each wrong statement
    # Temporary views of its own: the report has tables open over two windows at once.
    alone = replace(warehouse, session=warehouse.spark.newSession())
    alone.spark.conf.set("spark.sql.session.timeZone", "UTC")
    kept = make_available(alone, names, window)
    try:
        yield lambda statement, *values: _run(alone, statement, values)
    finally:
        with suppress(*JAVA_ERRORS):  # the JVM may have ended
            for rows in kept:
                rows.unpersist()


def _run(warehouse: Warehouse, statement: str, values: Sequence[int | str]) -> Rows:
    refuse_writing(statement)
    refuse_references(statement)
    bound = _bound(statement, values)
    try:
        refuse_all_but_a_query(_parsed(warehouse, bound), warehouse.name.split(".") if warehouse.in_catalog else ())
        frame = warehouse.spark.sql(bound)
        # Elements of `array()` have no type but null, and are not nullable, which pyarrow refuses.
        nullable = StructType.fromJson(json.loads(frame._jdf.schema().asNullable().json()))  # noqa: SLF001
        schema = to_arrow_schema(nullable, timezone="UTC")
    except JAVA_ERRORS as error:
        raise failed(_words(error)) from error
    except ValueError as error:  # of pyarrow, as for the keys of `map()`
        raise failed(f"a column of the result has a type that Arrow lacks: {error}") from error
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


def make_available(
    warehouse: Warehouse, names: Iterable[str] = NAMES, window: Window | Newest | None = None
) -> Sequence[DataFrame]:
    """Create temporary views with these `names` over a folder, or real views in a catalog.

    Returns small tables of a `window`, whose rows Spark keeps once it has read them, until `unpersist`.

    The catalog's schema becomes the current one. In a folder, a table that a later version added is empty until a run of that
    version creates it, and a column that it added is null. TableError if a table cannot be read or a view not be created.
    """
    named, kept = set(names), list[DataFrame]()
    wanted = with_needs(named)
    try:
        if warehouse.in_catalog:
            _use_schema(warehouse)
            _refuse_older(warehouse, wanted)
        else:
            kept = list(_show_tables(warehouse, wanted, window))
        for view in VIEWS:
            if view.name in (wanted if warehouse.in_catalog else named):
                warehouse.spark.sql(view.sql if warehouse.in_catalog else _temporary(view))
    except JAVA_ERRORS as error:
        raise TableError(f"{warehouse.name}: {reason(error)}") from error
    return kept


def _temporary(view: View) -> str:
    """The statement that creates a temporary view, which reads no other view."""
    head = view.sql.removesuffix(view.query).replace(CREATE, "CREATE OR REPLACE TEMPORARY VIEW", 1)
    return f"{head}{query_over_tables(view)}"


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
    """The first line of the cause, with the file that could not be read; Spark's own message only names the task and stage.

    A store may say no more than "403 Forbidden", so the file or folder is that of an error above.
    """
    if not isinstance(error, Py4JJavaError):
        return reason(error)
    cause, url = error.java_exception, ""
    while (next_cause := cause.getCause()) is not None:
        message = str(cause.getMessage())
        if read := _READING.match(message):
            url = read[1]
        elif not url and (named := _URL.search(message)):
            url = named[0]
        cause = next_cause
    words = str(cause.getMessage() or cause).partition("\n")[0]
    return words if url in words else f"{url} cannot be read: {words}"


@contextmanager
def without_traces(spark: SparkSession) -> Iterator[None]:
    """Keep Spark from logging tasks that fail, each with its trace twice: what it says is the error of the statement, too."""
    log4j = cast("Any", spark.sparkContext._jvm).org.apache.logging.log4j  # noqa: SLF001
    set_level, off = log4j.core.config.Configurator.setLevel, log4j.Level.OFF
    levels = {name: log4j.LogManager.getLogger(name).getLevel() for name in _LOGGERS_OF_TASKS}
    for name in levels:
        set_level(name, off)
    try:
        yield
    finally:
        with suppress(*JAVA_ERRORS):  # the JVM may have ended
            for name, level in levels.items():
                set_level(name, level)


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


def _show_tables(warehouse: Warehouse, wanted: set[str], window: Window | Newest | None) -> Iterator[DataFrame]:
    """Create the views of the tables; yields those with few rows of a window, which Spark reads once.

    Views name such tables many times, and Delta would open their files each time.
    """
    for table in in_order_of_reading(wanted):
        if warehouse.has(table):
            rows = _as_declared(table, warehouse.spark.read.format("delta").load(warehouse.locations[table.name]))
            times = _times(warehouse, table, window)
            if times is not None:
                # Delta opens only files that may have such rows by their statistics.
                rows = rows.where(condition(times, "TIMESTAMP_LTZ") or "false")
                if _bytes_of(rows) <= _KEPT_BYTES:
                    yield rows.cache()
        else:
            rows = warehouse.spark.createDataFrame([], StructType.fromJson(table.delta_schema()))
        rows.createOrReplaceTempView(table.name)


def _bytes_of(rows: DataFrame) -> int:
    """The size of the files that Spark would open."""
    plan = rows._jdf.queryExecution().optimizedPlan()  # noqa: SLF001
    return int(str(plan.stats().sizeInBytes()))


def _times(warehouse: Warehouse, table: Table, window: Window | Newest | None) -> Window | None:
    """The times whose rows are read of a table; None for all of them."""
    if isinstance(window, Newest):
        if table.name != _SNAPSHOTS:
            return None
        try:
            files = warehouse.kernel.described_files(warehouse.state(table.name), {})
        except TableError:  # Spark also reads tables with deletion vectors
            return None
        return times_of_newest(window, _added(files))
    return None if window is None else of_table(table, window)


def _added(files: Sequence[DescribedFile]) -> pa.Table:
    """The files of table snapshots as deltalake returns them from a log, with the bounds that choose the newest snapshots."""
    bounds = pa.struct([("cluster", pa.string()), ("captured_at", pa.timestamp("us", "UTC"))])
    schema = pa.schema([("num_records", pa.int64()), ("min", bounds), ("max", bounds)])
    rows = [
        {"num_records": file.rows, "min": _chosen_by(file.least), "max": _chosen_by(file.greatest)} for file in files
    ]
    return pa.Table.from_pylist(rows, schema)


def _chosen_by(values: Mapping[str, Any]) -> Mapping[str, str | datetime | None]:
    """The bounds of cluster and begin in a log's statistics, None for what is none."""
    cluster, captured_at = values.get("cluster"), values.get("captured_at")
    try:
        time = datetime.fromisoformat(captured_at) if isinstance(captured_at, str) else None
    except ValueError:
        time = None
    return {"cluster": cluster if isinstance(cluster, str) else None, "captured_at": time}


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
