"""An application's name in, its Spark session out.

Guards one rule: what spark-submit, `conf/spark-defaults.conf` or a cluster has set stands; only gaps are filled, and
the master is never touched.
"""

import os
import sys

from pyspark import SparkConf, SparkContext
from pyspark.errors import PySparkRuntimeError
from pyspark.sql import SparkSession

from pipeline.errors import TableError

_UNNAMED = "pyspark-shell"  # what pyspark calls an application that nobody has named

# The tables are small: Delta's 50 snapshot partitions and Spark's 200 for shuffles would triple the time of a query.
_GAPS = {
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",  # INT96 ends in 2262 for deltalake, DuckDB and Polars
    "spark.sql.python.filterPushdown.enabled": "true",  # format("lagoon") is told of filters
    "spark.sql.shuffle.partitions": "2",
    "spark.databricks.delta.snapshotPartitions": "2",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}


def session(app_name: str) -> SparkSession:
    """The running session, or a new one; without spark-submit it runs on all local cores, as pyspark decides.

    TableError if no JVM starts.
    """
    try:
        SparkContext._ensure_initialized()  # noqa: SLF001  starts the JVM, so that SparkConf knows spark-defaults.conf
    except PySparkRuntimeError as error:
        raise TableError("Spark's JVM did not start: is Java 17 on PATH, or JAVA_HOME set?") from error
    conf = SparkConf()
    if str(conf.get("spark.master", "local")).startswith("local"):
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # workers would take the first python3 on PATH
    builder = SparkSession.builder
    for key, value in gaps(conf, app_name).items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


def gaps(conf: SparkConf, app_name: str) -> dict[str, str]:
    """What a session needs and `conf` does not say."""
    named = {"spark.app.name": app_name} if conf.get("spark.app.name", _UNNAMED) == _UNNAMED else {}
    return named | {key: value for key, value in _GAPS.items() if not conf.contains(key)}
