"""Puts Delta's jars on the class path of a session that has none, as `spark-submit --jars` would.

`make setup` puts them into PySpark's own folder, and a cluster has its own or is given --packages. After a plain `pip install`
they are nowhere, and come from the user's cache folder: downloaded once, verified (SHA-256) before each use.
"""

from typing import Any

from py4j.protocol import Py4JError, Py4JJavaError

from kafka_lagoon.errors import JarsUnavailable, TableError
from kafka_lagoon.jars.locked_jars import DELTA, FOR_SPARK, jar_paths

_ONE_OF_EACH = (
    "io.delta.sql.DeltaSparkSessionExtension",
    "io.delta.storage.LogStore",
    "io.delta.kernel.TableManager",
    "io.delta.kernel.defaults.engine.DefaultEngine",
)


def with_delta(jvm: Any, jars: str | None) -> str | None:
    """The value of `spark.jars` with Delta's added; `jars` itself where the class path has any of Delta, or has another Spark.

    TableError if Delta's jars cannot be had.
    """
    loader = jvm.java.lang.Thread.currentThread().getContextClassLoader()
    if any(_has(loader, name) for name in _ONE_OF_EACH) or not _spark_version(jvm).startswith(FOR_SPARK):
        return jars
    try:
        paths = [str(path) for path in jar_paths(DELTA)]
    except JarsUnavailable as error:
        raise TableError(
            f"Spark has no Delta, and {error}; where the registry can be reached `lagoon path jars` downloads them into the "
            "folder that LAGOON_CACHE names, or give spark-submit --jars"
        ) from error
    try:
        for path in paths:
            loader.addURL(jvm.java.io.File(path).toURI().toURL())  # every thread of the JVM has this loader
    except Py4JError:  # not spark-submit's loader
        return jars
    return ",".join([*(jars.split(",") if jars else ()), *paths])  # for executors


def _has(loader: Any, name: str) -> bool:
    try:
        loader.loadClass(name)
    except Py4JJavaError:  # ClassNotFoundException
        return False
    return True


def _spark_version(jvm: Any) -> str:
    return str(getattr(getattr(jvm.org.apache.spark, "package$"), "MODULE$").SPARK_VERSION())
