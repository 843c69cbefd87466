"""Puts jars on the class path of a session that lacks them, as `spark-submit --jars` would: Delta's, and Hadoop's for S3.

`make setup` puts Delta's into PySpark's own folder, and a cluster has its own or is given --packages. After a plain
`pip install` they are nowhere, and come from the user's cache folder: downloaded once, verified (SHA-256) before each use.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from py4j.protocol import Py4JError, Py4JJavaError

from kafka_lagoon.errors import JarsUnavailable, TableError
from kafka_lagoon.jars.locked_jars import DELTA, FOR_SPARK, HADOOP_AWS, jar_paths
from kafka_lagoon.warehouse_urls import in_s3

_ONE_OF_EACH = (
    "io.delta.sql.DeltaSparkSessionExtension",
    "io.delta.storage.LogStore",
    "io.delta.kernel.TableManager",
    "io.delta.kernel.defaults.engine.DefaultEngine",
)
_S3A = "org.apache.hadoop.fs.s3a.S3AFileSystem"


def with_delta(jvm: Any, jars: str | None) -> str | None:
    """The value of `spark.jars` with Delta's added; `jars` itself where the class path has any of Delta, or has another Spark.

    TableError if Delta's jars cannot be had.
    """
    if _has_any(jvm, _ONE_OF_EACH) or not _spark_version(jvm).startswith(FOR_SPARK):
        return jars
    try:
        paths = jar_paths(DELTA)
    except JarsUnavailable as error:
        raise TableError(
            f"Spark has no Delta, and {error}; where the registry can be reached `lagoon path jars` downloads them into the "
            "folder that LAGOON_CACHE names, or give spark-submit --jars"
        ) from error
    return _added(jvm, jars, paths)


def with_s3(jvm: Any, jars: str | None, place: str | None) -> str | None:
    """The value of `spark.jars` with Hadoop's for S3 added; `jars` itself where nothing needs them, or Spark has them.

    If they cannot be had it is `jars`, too: whoever opens the tables says then what brings them.
    """
    if place is None or not in_s3(place) or _has_any(jvm, [_S3A]) or not _spark_version(jvm).startswith(FOR_SPARK):
        return jars
    try:
        return _added(jvm, jars, jar_paths(HADOOP_AWS))
    except JarsUnavailable:
        return jars


def _added(jvm: Any, jars: str | None, paths: Sequence[Path]) -> str | None:
    """Let the driver's JVM find jars, and return the value of `spark.jars` by which executors do."""
    loader = _loader(jvm)
    try:
        for path in paths:
            loader.addURL(jvm.java.io.File(str(path)).toURI().toURL())  # every thread of the JVM has this loader
    except Py4JError:  # not spark-submit's loader
        return jars
    return ",".join([*(jars.split(",") if jars else ()), *map(str, paths)])


def _loader(jvm: Any) -> Any:
    return jvm.java.lang.Thread.currentThread().getContextClassLoader()


def _has_any(jvm: Any, names: Sequence[str]) -> bool:
    loader = _loader(jvm)
    return any(_has(loader, name) for name in names)


def _has(loader: Any, name: str) -> bool:
    try:
        loader.loadClass(name)
    except Py4JJavaError:  # ClassNotFoundException
        return False
    return True


def _spark_version(jvm: Any) -> str:
    return str(getattr(getattr(jvm.org.apache.spark, "package$"), "MODULE$").SPARK_VERSION())
