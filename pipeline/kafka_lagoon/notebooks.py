"""Registers tables, views and the data source with a Spark session or a DuckDB connection, for notebooks."""

from typing import TYPE_CHECKING

from kafka_lagoon.errors import TableError

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection
    from pyspark.sql import SparkSession

_PUSHDOWN = "spark.sql.python.filterPushdown.enabled"


def register(spark: "SparkSession", warehouse: str) -> None:
    """Create the views, and names for the tables, in a Spark session; `warehouse` is the folder of the tables (path or URL).

    Call it again after the first run of a new version: tables and columns that this run adds stay empty in the session. Times
    are in the zone of the session, `spark.sql.session.timeZone`, which is not set here because all other queries of the session
    use it, too.
    """
    from kafka_lagoon.delta.open_warehouse import at_path  # noqa: PLC0415
    from kafka_lagoon.query.spark_engine import make_available  # noqa: PLC0415  the schemas alone must not cost a Spark import

    make_available(at_path(spark, warehouse))


def register_duckdb(connection: "DuckDBPyConnection", warehouse: str) -> None:
    """Create temporary views over the tables in a local folder for a connection to DuckDB, without Spark; times are in UTC.

    They show the tables as they are now: call it again after a run. They replace temporary tables and views of the connection
    that have their names. TableError if a table is gone or only Spark can read it.
    Leave TimeZone as it is set then: times that Spark has written as INT96 have no zone, and would move with it.
    Write the column `offset` as `"offset"`: DuckDB reserves the word, and only `lagoon sql` quotes it in statements.
    """
    from kafka_lagoon.query.duckdb_engine import make_available  # noqa: PLC0415  not for those who use Spark
    from kafka_lagoon.warehouse_urls import local_folder  # noqa: PLC0415

    folder = local_folder(warehouse)
    if folder is None:
        raise TableError(f"{warehouse}: DuckDB reads folders of this machine; Spark reads others")
    connection.execute("SET TimeZone = 'UTC'")
    make_available(connection, folder)


def register_source(spark: "SparkSession") -> None:
    """Register `spark.read.format("lagoon")` and `spark.readStream.format("lagoon")` with a session.

    Filters are pushed down by our Java class. Where that cannot be used, they are pushed down only with
    `spark.sql.python.filterPushdown.enabled`, which is set unless the session has a value.
    """
    from kafka_lagoon.source.columnar import SourceOfRows, source_for  # noqa: PLC0415  as above

    source = source_for(spark)
    if source is SourceOfRows and spark.conf.get(_PUSHDOWN, None) is None:
        spark.conf.set(_PUSHDOWN, "true")
    spark.dataSource.register(source)
