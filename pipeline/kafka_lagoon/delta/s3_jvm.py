"""Gives the JVM of Delta Kernel what it needs to reach a bucket of S3 without Spark: Hadoop's jars, and the settings of Spark.

The settings are those that a session would have: `spark.hadoop.*` of Spark's own file of settings, and the variables of
Amazon's tools. What names classes of other jars is left to a session, which can be given these.
"""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from kafka_lagoon import java_properties
from kafka_lagoon.errors import JarsUnavailable, NeedsSession
from kafka_lagoon.jars.ivy import spark_jars_folder
from kafka_lagoon.jars.locked_jars import HADOOP_AWS, jar_paths

_OF_SPARK = ("httpclient-", "httpcore-", "netty-")  # PySpark's jars that Amazon's SDK needs
_OF_HADOOP = "spark.hadoop."
_LOG_STORES = ("spark.delta.logStore.", "delta.logStore.")
# Beginnings of names of classes. Hadoop still takes the old SDK's, which is gone.
_KNOWN = ("org.apache.hadoop.", "software.amazon.awssdk.", "com.amazonaws.auth.")
# As Spark copies them; it also does so for other file systems of Hadoop, which are gone.
_OF_AMAZON = {
    "AWS_ACCESS_KEY_ID": "fs.s3a.access.key",
    "AWS_SECRET_ACCESS_KEY": "fs.s3a.secret.key",
    "AWS_SESSION_TOKEN": "fs.s3a.session.token",
    "AWS_ENDPOINT_URL": "fs.s3a.endpoint",
}
_KEYS = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY")
# Hadoop 3.5 reads by default with Amazon's own library (`analytics`). It does not repeat a GET whose answer breaks off, and
# gives up on a busy store after seconds. The stream of earlier releases repeats reads as s3a repeats all other requests.
#
# To a store that is busy (503) s3a repeats a request 20 times, each time after twice as long: the last waits are hours, and all
# together a day. 9 repetitions take about 4 minutes, with those that Amazon's client makes.
S3_GAPS = {"fs.s3a.input.stream.type": "classic", "fs.s3a.retry.throttle.limit": "9"}


def s3_jars() -> list[Path]:
    """Hadoop's jars for S3, downloaded if they are missing, with PySpark's that they need; NeedsSession if that fails."""
    try:
        of_spark = [jar for jar in sorted(spark_jars_folder().glob("*.jar")) if jar.name.startswith(_OF_SPARK)]
        return [*jar_paths(HADOOP_AWS), *of_spark]
    except JarsUnavailable as error:
        raise NeedsSession(f"Hadoop's jars for S3: {error}") from error


def conf_folder(environ: Mapping[str, str]) -> Path:
    """The folder in which Spark looks for its files of settings, and Hadoop for core-site.xml."""
    named = environ.get("SPARK_CONF_DIR")
    return Path(named) if named else Path(environ.get("SPARK_HOME") or spark_jars_folder().parent) / "conf"


def s3_settings(environ: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Hadoop's settings, as a session of Spark would have them; NeedsSession if they need jars that we do not know."""
    try:
        given = java_properties.read((conf_folder(environ) / "spark-defaults.conf").read_text("utf-8"))
    except FileNotFoundError:
        given = {}
    except (OSError, ValueError) as error:
        raise NeedsSession(f"spark-defaults.conf cannot be read: {error}") from error
    settings = {
        name.removeprefix(_OF_HADOOP): value.strip() for name, value in given.items() if name.startswith(_OF_HADOOP)
    }
    of_others = [name for name in given if name.startswith(_LOG_STORES)]
    of_others += [f"{_OF_HADOOP}{name}" for name, value in settings.items() if not _is_known(name, value)]
    if of_others:
        raise NeedsSession(f"{of_others[0]} of spark-defaults.conf may name a class of other jars")
    return S3_GAPS | dict(_of_amazon(environ)) | settings


def _is_known(name: str, value: str) -> bool:
    """False for a setting of s3a that names a class of other jars than ours."""
    names_classes = name.startswith("fs.s3a.") and name.endswith((".impl", "provider", ".class"))
    return not names_classes or all(one.strip().startswith(_KNOWN) for one in value.split(",") if one.strip())


def _of_amazon(environ: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    if all(environ.get(name) for name in _KEYS):
        yield from ((name, environ[of]) for of, name in _OF_AMAZON.items() if environ.get(of))
