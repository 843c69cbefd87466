"""The session keeps given settings and adds missing ones."""

import os
import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NoReturn, cast

import pytest
from pyspark import SparkConf, SparkContext
from pyspark.sql import SparkSession

from kafka_lagoon.delta import session as spark_session
from kafka_lagoon.delta import session_jars
from kafka_lagoon.delta.session import gaps, settings_for_block
from kafka_lagoon.errors import JarsUnavailable, TableError


def test_gaps_are_filled(spark: SparkSession) -> None:
    """Without any settings there is Delta, UTC, no web page, few partitions, and all local cores."""
    assert spark.conf.get("spark.sql.extensions") == "io.delta.sql.DeltaSparkSessionExtension"
    assert spark.conf.get("spark.sql.session.timeZone") == "UTC"
    assert spark.conf.get("spark.ui.enabled") == "false"
    hadoop = spark.sparkContext._jsc.hadoopConfiguration()
    assert hadoop.get("fs.azure.metrics.collection.enabled") == "false"
    assert hadoop.get("fs.azure.io.retry.max.retries") == "12"
    assert hadoop.get("fs.s3a.input.stream.type") == "classic"
    assert hadoop.get("fs.s3a.retry.throttle.limit") == "9"
    few = gaps(SparkConf(loadDefaults=False), "ours")  # the tests' session has fewer cores
    assert few["spark.databricks.delta.snapshotPartitions"] == few["spark.sql.shuffle.partitions"] == "2"
    assert spark.sparkContext.master == "local[*]"
    assert spark.sparkContext.appName == "tests"


def test_what_is_configured_stands() -> None:
    """Settings of spark-submit or spark-defaults.conf are not changed, including the name; the master is never set."""
    theirs = {"spark.sql.shuffle.partitions": "7", "spark.hadoop.fs.azure.io.retry.max.retries": "30"}
    conf = SparkConf(loadDefaults=False).setAppName("theirs").setAll(list(theirs.items()))
    filled = gaps(conf, "ours")
    assert filled["spark.sql.session.timeZone"] == "UTC"
    assert not filled.keys() & {"spark.app.name", "spark.master", *theirs}
    assert gaps(SparkConf(loadDefaults=False).setAppName("pyspark-shell"), "ours")["spark.app.name"] == "ours"


class _Conf(dict[str, str]):
    """The settings of a session, as far as these tests need them."""

    def set(self, key: str, value: str) -> None:
        """Set a setting."""
        self[key] = value

    def unset(self, key: str) -> None:
        """Remove a setting."""
        del self[key]


def test_settings_for_a_block_end_with_it() -> None:
    """A setting that had a value has it again, also after an error; one that had none has none."""
    conf = _Conf(theirs="1", changed="old")
    spark = cast("Any", SimpleNamespace(conf=conf))
    with suppress(TableError), settings_for_block(spark, {"changed": "new", "added": "2"}):
        assert conf == {"theirs": "1", "changed": "new", "added": "2"}
        raise TableError("it failed")
    assert conf == {"theirs": "1", "changed": "old"}


def test_jars_that_are_there_stand(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    """If the class path has Delta, or Spark is of another release, no jar is added."""
    jvm = spark.sparkContext._jvm
    monkeypatch.setattr(session_jars, "jar_paths", lambda _: 1 / 0)
    assert session_jars.with_delta(jvm, None) is None
    monkeypatch.setattr(session_jars, "_has", lambda *_: False)
    with pytest.raises(ZeroDivisionError):
        session_jars.with_delta(jvm, None)
    monkeypatch.setattr(session_jars, "_spark_version", lambda _: "4.1.1")
    assert session_jars.with_delta(jvm, "theirs.jar") == "theirs.jar"


def test_jars_for_s3_are_added_where_they_are_needed(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    """For a place in S3, to those that are named, unless the class path has them or they cannot be had."""
    jvm, url = spark.sparkContext._jvm, "s3a://bucket/lake"
    monkeypatch.setattr(session_jars, "_has", lambda *_: False)
    monkeypatch.setattr(session_jars, "jar_paths", lambda _: [Path("/no/one.jar"), Path("/no/two.jar")])
    assert session_jars.with_s3(jvm, "theirs.jar", url) == "theirs.jar,/no/one.jar,/no/two.jar"
    for place in (None, "/lake", "gs://bucket/lake"):
        assert session_jars.with_s3(jvm, "theirs.jar", place) == "theirs.jar"
    with monkeypatch.context() as there:
        there.setattr(session_jars, "_has", lambda _, name: name.endswith("S3AFileSystem"))
        assert session_jars.with_s3(jvm, None, url) is None

    def unreachable(_: str) -> NoReturn:
        raise JarsUnavailable("36 jars could not be downloaded")

    monkeypatch.setattr(session_jars, "jar_paths", unreachable)
    assert session_jars.with_s3(jvm, None, url) is None


def test_jars_that_cannot_be_had_are_one_line(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    """The error names the missing jars, the reason and the remedy."""

    def unreachable(_: str) -> NoReturn:
        raise JarsUnavailable("4 jars could not be downloaded: Server access error")

    monkeypatch.setattr(session_jars, "jar_paths", unreachable)
    monkeypatch.setattr(session_jars, "_has", lambda *_: False)
    with pytest.raises(
        TableError, match=r"Spark has no Delta, and 4 jars could not be downloaded: .*`lagoon path jars`"
    ):
        session_jars.with_delta(spark.sparkContext._jvm, None)


@pytest.mark.java
def test_without_java_or_spark_there_is_one_clear_line(tmp_path: Path) -> None:
    """On a machine without Java, or with a wrong SPARK_HOME, one line says what is missing."""
    show = "from kafka_lagoon.errors import TableError\nfrom kafka_lagoon.delta.session import session\n"
    show += "try: session('x')\nexcept TableError as error: print(error)\n"
    env = {**os.environ, "JAVA_HOME": str(tmp_path)}
    ran = subprocess.run([sys.executable, "-c", show], env=env, capture_output=True, text=True, timeout=60, check=True)
    missing = f"no java in JAVA_HOME ({tmp_path}): install Java 17 or newer"
    assert ran.stdout.strip() == f"Spark's JVM did not start: {missing}"
    (tmp_path / "bin").mkdir()
    java = tmp_path / "bin" / "java"
    java.write_text("#!/bin/sh\necho 'openjdk version \"11.0.2\"' >&2; exit 1\n")
    java.chmod(0o755)
    ran = subprocess.run([sys.executable, "-c", show], env=env, capture_output=True, text=True, timeout=60, check=True)
    old = f"{java} is Java 11: install Java 17 or newer, or let JAVA_HOME name it"
    assert ran.stdout.strip() == f"Spark's JVM did not start: {old}"
    env = {**os.environ, "SPARK_HOME": "/nowhere"}
    ran = subprocess.run([sys.executable, "-c", show], env=env, capture_output=True, text=True, timeout=60, check=True)
    missing = "/nowhere/./bin/spark-submit: No such file or directory; is SPARK_HOME right?"
    assert ran.stdout.strip() == f"Spark's JVM did not start: {missing}"


@pytest.mark.java
def test_settings_that_spark_refuses_are_one_clear_line() -> None:
    """Also for a master that does not answer: the line has Spark's message without a stack trace."""
    show = "from kafka_lagoon.errors import TableError\nfrom kafka_lagoon.delta.session import session\n"
    show += "try: session('x')\nexcept TableError as error: print(error)\n"
    env = {**os.environ, "PYSPARK_SUBMIT_ARGS": "--conf spark.network.timeout=5s pyspark-shell"}
    ran = subprocess.run([sys.executable, "-c", show], env=env, capture_output=True, text=True, timeout=120, check=True)
    (line,) = ran.stdout.splitlines()
    assert line.startswith("Spark's session did not start: ")
    assert "spark.network.timeout" in line


@pytest.mark.proof
@pytest.mark.java
def test_no_handler_of_pyspark_gets_ctrl_c() -> None:
    """PySpark's handler would call Java, also in the middle of another call of Java. A later session has it again."""
    show = """
import signal
asked, original = [], signal.signal
def noted(number, handler):
    asked.append(getattr(handler, "__module__", None))
    return original(number, handler)
signal.signal = noted
from kafka_lagoon.delta.session import session
session("x").stop()
ours = [name for name in asked if str(name).startswith("pyspark")]
from pyspark.sql import SparkSession
SparkSession.builder.getOrCreate().stop()
print(ours, [name for name in asked if str(name).startswith("pyspark")])
"""
    ran = subprocess.run([sys.executable, "-c", show], capture_output=True, text=True, timeout=120, check=True)
    assert ran.stdout.strip() == "[] ['pyspark.core.context']"


_CURE = ": let TMPDIR name a folder with space that can be written"


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (
            FileNotFoundError(2, "No such file or directory", "/opt/none/bin/spark-submit"),
            "/opt/none/bin/spark-submit: No such file or directory; is SPARK_HOME right?",
        ),
        (
            FileNotFoundError(2, "No usable temporary directory found in ['/tmp', '/']"),
            f"temporary files: No usable temporary directory found in ['/tmp', '/']{_CURE}",
        ),
    ],
)
def test_what_keeps_the_jvm_from_starting(monkeypatch: pytest.MonkeyPatch, error: OSError, said: str) -> None:
    """PySpark writes a temporary file before it starts its script: SPARK_HOME has nothing to do with it."""

    def refuse() -> NoReturn:
        raise error

    monkeypatch.setattr(tempfile, "gettempdir", refuse if error.filename is None else lambda: "/tmp")  # noqa: S108
    monkeypatch.setattr(SparkContext, "_ensure_initialized", refuse)
    with pytest.raises(TableError) as raised:
        spark_session.session("ours")
    assert str(raised.value) == f"Spark's JVM did not start: {said}"
