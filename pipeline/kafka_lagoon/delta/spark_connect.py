"""Refuses Spark Connect, whose client has neither the JVM that commits tables nor a way to give tasks to executors.

Without this the first thing that such a session lacks would be the message: a package of its client, or an attribute.
"""

import os
from collections.abc import Mapping
from typing import Any

from pyspark.util import default_api_mode

from kafka_lagoon.errors import ConfigError

_CLASSIC = (
    "tables are written through Spark's JVM and records read by tasks on its executors, and Spark Connect (also serverless "
    "compute) has neither: start the job by spark-submit --master, or in a cluster's own driver"
)
# A URL may carry a token, so only the names are printed.
_REMOTE = ("SPARK_REMOTE", "SPARK_CONNECT_MODE_ENABLED")


def refuse_remote(environ: Mapping[str, str] = os.environ) -> None:
    """Raise ConfigError if the next session of this process would use Spark Connect."""
    for name in _REMOTE:
        if name in environ:
            raise ConfigError([f"{name} is set: {_CLASSIC}"])
    if environ.get("SPARK_API_MODE", default_api_mode()).lower() == "connect":
        raise ConfigError([f"spark.api.mode is connect: {_CLASSIC}"])


def refuse_remote_session(spark: Any) -> None:
    """Raise ConfigError if a session that a caller made uses Spark Connect."""
    if type(spark).__module__.startswith("pyspark.sql.connect"):
        raise ConfigError([f"this is a session of Spark Connect: {_CLASSIC}"])
