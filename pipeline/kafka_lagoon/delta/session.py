"""Starts the Spark session of a job, with Delta.

What spark-submit, `conf/spark-defaults.conf` or a cluster has set stands; only gaps are filled, the master is never touched.
"""

import atexit
import errno
import os
import shutil
import signal
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

from pyspark import SparkConf, SparkContext
from pyspark.errors import PySparkRuntimeError
from pyspark.sql import SparkSession

from kafka_lagoon.delta.interrupts import held_back
from kafka_lagoon.delta.jvm_start import has_session
from kafka_lagoon.delta.s3_jvm import S3_GAPS
from kafka_lagoon.delta.session_jars import with_delta, with_s3
from kafka_lagoon.delta.spark_channels import channels
from kafka_lagoon.delta.spark_connect import refuse_remote
from kafka_lagoon.delta.storage import JAVA_ERRORS, reason
from kafka_lagoon.errors import JarsUnavailable, TableError
from kafka_lagoon.folders import no_temporary_files, place_for_temporary_files
from kafka_lagoon.jars.java import java_path, java_release
from kafka_lagoon.owned_files import HADOOP_UMASK, umask_text

OLDEST_JAVA = 17
_LOCAL_FOLDERS, _HADOOP_UMASK = "spark.local.dir", f"spark.hadoop.{HADOOP_UMASK}"
_NO_PROCESS = (errno.ENOMEM, errno.EAGAIN, errno.EMFILE, errno.ENFILE)
_UNNAMED = "pyspark-shell"  # the name that pyspark gives an application without one

# The tables are small: Delta's 50 snapshot partitions and Spark's 200 for shuffles would triple the time of a query.
_GAPS = {
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",  # INT96 ends in 2262 for deltalake, DuckDB and Polars
    # The counts of reads that Hadoop 3.5 keeps for itself fail where two threads read files (NullPointerException).
    "spark.hadoop.fs.azure.metrics.collection.enabled": "false",
    # Hadoop repeats a request 30 times: 11 minutes for a store that is busy, 26 for one that is silent. 12 repetitions take
    # 3 and 10. For Google's it repeats requests for a minute at most, and has no setting.
    "spark.hadoop.fs.azure.io.retry.max.retries": "12",
    **{f"spark.hadoop.{name}": value for name, value in S3_GAPS.items()},
    "spark.sql.python.filterPushdown.enabled": "true",  # format("lagoon") gets filters
    "spark.sql.shuffle.partitions": "2",
    "spark.databricks.delta.snapshotPartitions": "2",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}


def session(app_name: str, place: str | None = None) -> SparkSession:
    """Return the running session, or start one that reaches tables at `place`; by itself it runs on all local cores.

    TableError if no JVM or session starts, if Spark has no Delta and its jars cannot be had, or if there is no folder for
    temporary files; ConfigError for Spark Connect.
    """
    refuse_remote()
    try:
        with held_back():
            SparkContext._ensure_initialized()  # noqa: SLF001  starts the JVM, so that SparkConf knows spark-defaults.conf
    except PySparkRuntimeError as error:
        raise TableError(f"Spark's JVM did not start: {_why_no_jvm()}") from error
    except OSError as error:  # of the script that starts it, or of the file by which it tells its port
        raise TableError(f"Spark's JVM did not start: {_why_no_script(error)}") from error
    conf = SparkConf()
    if str(conf.get("spark.master", "local")).startswith("local"):
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # otherwise workers would use the first python3 on PATH
    builder = SparkSession.builder
    for key, value in (gaps(conf, app_name) | _jars(conf, place) | _folders(conf)).items():
        builder = builder.config(key, value)
    try:
        with held_back(), _without_handler():
            return builder.getOrCreate()
    except JAVA_ERRORS as error:  # a master that does not answer, or settings that Spark refuses
        raise TableError(f"Spark's session did not start: {reason(error)}") from error


@contextmanager
def _without_handler() -> Iterator[None]:
    """Keep PySpark from setting its handler of Ctrl-C.

    It calls Java, and fails with a traceback if it interrupts a call of Java. Threads that started before `held_back` get
    the signal, and then it would run.
    """
    names = vars(sys.modules[SparkContext.__module__])
    names["signal"] = SimpleNamespace(SIGINT=signal.SIGINT, signal=lambda *_: None)
    try:
        yield
    finally:
        names["signal"] = signal


@contextmanager
def settings_for_block(spark: SparkSession, settings: Mapping[str, str]) -> Iterator[None]:
    """Set settings of a session inside this block; after it they are as before."""
    before = {key: spark.conf.get(key, None) for key in settings}
    for key, value in settings.items():
        spark.conf.set(key, value)
    try:
        yield
    finally:
        for key, old in before.items():
            if old is None:
                spark.conf.unset(key)
            else:
                spark.conf.set(key, old)


def _why_no_script(error: OSError) -> str:
    """PySpark makes a temporary folder before it starts the script; a process that cannot be started names no file."""
    if error.filename is not None and Path(error.filename).name == "spark-submit":
        return f"{error.filename}: {error.strerror}; is SPARK_HOME right?"
    return str(error.strerror) if error.errno in _NO_PROCESS else no_temporary_files(error)


def _why_no_jvm() -> str:
    try:
        path = java_path()
        release = java_release(path)
    except (JarsUnavailable, OSError) as error:
        return str(error)
    if release is None or release >= OLDEST_JAVA:
        return f"{path} is Java {release or 'of an unknown release'}; what it said stands above"
    return f"{path} is Java {release}: install Java {OLDEST_JAVA} or newer, or let JAVA_HOME name it"


def _jars(conf: SparkConf, place: str | None) -> dict[str, str]:
    """The value of `spark.jars` that includes Delta, and what serves `place`; a running session keeps the jars that it has."""
    if has_session():
        return {}
    given, jvm = conf.get("spark.jars", None), SparkContext._jvm  # noqa: SLF001
    jars = with_s3(jvm, with_delta(jvm, given), place)
    return {} if jars is None or jars == given else {"spark.jars": jars}


def _folders(conf: SparkConf) -> dict[str, str]:
    """Settings for a private folder of the session on this machine, where it spills, and for the mode of its files."""
    if has_session():
        return {}
    if not str(conf.get("spark.master", None) or "local").startswith("local"):
        return {}
    made = {}
    if not conf.contains(_LOCAL_FOLDERS) and "SPARK_LOCAL_DIRS" not in os.environ:
        with place_for_temporary_files():
            made[_LOCAL_FOLDERS] = tempfile.mkdtemp(prefix="lagoon-spark-")
        atexit.register(shutil.rmtree, made[_LOCAL_FOLDERS], ignore_errors=True)
    if not conf.contains(_HADOOP_UMASK):
        made[_HADOOP_UMASK] = umask_text()
    return made


def gaps(conf: SparkConf, app_name: str) -> dict[str, str]:
    """The settings that a session needs and that `conf` does not have."""
    named = {"spark.app.name": app_name} if conf.get("spark.app.name", _UNNAMED) == _UNNAMED else {}
    return named | {key: value for key, value in (_GAPS | channels(conf)).items() if not conf.contains(key)}
