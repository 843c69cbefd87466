"""Chooses the log store of a warehouse in an object store: one that creates a commit only if its version has none.

Delta's own for S3 keeps the writers of one JVM apart, and two drivers overwrite each other's commits (delta-io/delta#1830).
Delta's own for Google's knows a refused commit by the text "412 Precondition Failed" alone. Those for Google's and Azure's take
a commit whose answer was lost for another's, so that it is made again as the next version. Ours
(java/LagoonObjectLogStore.java) lets the store refuse the second commit, and decides by what is stored.
It becomes a class beside Delta's, where Spark's writer and Delta Kernel find it by name. Other file systems keep Delta's.
"""

import uuid
from pathlib import Path
from typing import Any, cast

from pyspark.sql import SparkSession

from kafka_lagoon.delta.java_classes import LOCAL_LOG_STORE, OBJECT_LOG_STORE, defined
from kafka_lagoon.delta.storage import JAVA_ERRORS, Storage, is_java, reason, write_by
from kafka_lagoon.errors import ConfigError

_OBJECT_STORES = ("s3", "s3a", "s3n", "gs", "abfs", "abfss")
_LOCAL = "file"


def choose_log_store(spark: SparkSession, storage: Storage, location: str, setting: str) -> None:
    """Give Spark and the Kernel the same log store for a location: the one that the session names, else ours.

    ConfigError names the setting if a named log store does not exclude other writers, or if ours cannot be made.
    """
    scheme = location.partition("://")[0]
    named = _named(spark, scheme)
    if scheme in _OBJECT_STORES and named.endswith("S3SingleDriverLogStore"):
        raise ConfigError(
            [f"{setting}: {scheme}:// loses commits with {named}, which Spark's settings name: leave it out"]
        )
    if scheme in _OBJECT_STORES and named in {"", OBJECT_LOG_STORE}:
        use_ours(storage, scheme, setting)
        _give_to_spark(spark, scheme, OBJECT_LOG_STORE)
    elif named:
        storage.conf.set(_kernel_key(scheme), named)


def use_ours(storage: Storage, scheme: str, setting: str) -> None:
    """Let the Kernel write commits with our log store; ConfigError names the setting if it cannot be made."""
    if not defined(storage.jvm, OBJECT_LOG_STORE):
        raise ConfigError(
            [f"{setting}: the log store for {scheme}:// cannot be defined in this JVM; {_instead(scheme)}"]
        )
    storage.conf.set(_kernel_key(scheme), OBJECT_LOG_STORE)


def check_exclusion(storage: Storage, root: str, probe: str) -> None:
    """Raise ConfigError if the store lets a commit be written twice, as stores do that ignore a request's condition.

    `probe` is the URL of a file that does not exist; TableError if it cannot be removed afterwards. Only commits through our
    log store are checked; whoever names another log store answers for it.
    """
    scheme = root.partition("://")[0]
    if storage.conf.get(_kernel_key(scheme)) != OBJECT_LOG_STORE:
        return
    path = storage.jvm.org.apache.hadoop.fs.Path(probe)
    try:
        store = getattr(storage.jvm, OBJECT_LOG_STORE)(storage.conf)
        write_by(store, storage, path, "first")
    except JAVA_ERRORS as error:
        raise ConfigError([f"warehouse: {root} does not take commits: {reason(error)}; {_instead(scheme)}"]) from error
    try:
        store.write(path, storage.jvm.java.util.List.of("second").iterator(), False, storage.conf)
    except JAVA_ERRORS as error:
        if is_java(error, "FileAlreadyExistsException"):
            return
        problem = f"cannot be shown to keep runs apart: {reason(error)}"
    else:
        problem = "ignores the conditions of requests (If-None-Match), so runs would overwrite commits"
    finally:
        storage.delete(probe)
    raise ConfigError([f"warehouse: {root} {problem}; {_instead(scheme)}"])


def spark_excludes(spark: SparkSession, storage: Storage, location: str) -> bool:
    """True if Spark's commit in a local folder fails where another commit has the same version, so that no lock is needed.

    Our log store does that where the file system has hard links and the session names no other store.
    """
    folder = storage.local(location)
    if folder is None or _named(spark, _LOCAL) not in {"", LOCAL_LOG_STORE} or not _has_links(folder):
        return False
    if not defined(storage.jvm, LOCAL_LOG_STORE):
        return False
    _give_to_spark(spark, _LOCAL, LOCAL_LOG_STORE)
    return True


def _has_links(folder: Path) -> bool:
    probe = folder / f".lagoon-probe-{uuid.uuid4().hex}"
    link = probe.with_name(f"{probe.name}-link")
    try:
        probe.touch(exist_ok=False)
        link.hardlink_to(probe)
    except OSError:
        return False
    finally:
        for path in (probe, link):
            path.unlink(missing_ok=True)
    return True


def _kernel_key(scheme: str) -> str:
    return f"io.delta.kernel.logStore.{scheme}.impl"


def _instead(scheme: str) -> str:
    return f"spark.delta.logStore.{scheme}.impl can name a log store that excludes writers in another way"


def _named(spark: SparkSession, scheme: str) -> str:
    """The class that the session's settings name for a scheme, or for all; Delta reads both keys with and without `spark.`."""
    conf = spark.sparkContext.getConf()
    keys = [f"delta.logStore.{scheme}.impl", "delta.logStore.class"]
    values = (conf.get(prefix + key, None) for key in keys for prefix in ("spark.", ""))
    return next((value for value in values if value), "")


def _give_to_spark(spark: SparkSession, scheme: str, store: str) -> None:
    """Name our class in Delta's settings, and make Delta forget tables that it has opened without it."""
    key, context = f"spark.delta.logStore.{scheme}.impl", spark.sparkContext
    conf, jvm = context._jsc.sc().conf(), cast("Any", context._jvm)  # noqa: SLF001
    if conf.get(key, "") != store:
        conf.set(key, store)
        jvm.org.apache.spark.sql.delta.DeltaLog.clearCache()
