"""Names the extra of kafka-lagoon that installs a package which a command needs and cannot import."""

from collections.abc import Callable, Mapping
from importlib.util import find_spec

from kafka_lagoon.cli.terminal import complain
from kafka_lagoon.errors import ConfigError

# Extra -> the names under which its packages are imported.
RECORDS = frozenset(
    {"pyarrow", "numpy", "numba", "llvmlite", "crc32c", "lz4", "snappy", "zstandard", "cramjam", "isal"}
)
SPARK = RECORDS | {"pyspark", "delta", "py4j"}
SQL = frozenset({"pyarrow", "deltalake", "duckdb"})
REPORT = SQL | {"jinja2", "markupsafe"}
EXTRAS: Mapping[
    str, frozenset[str]
] = {  # an extra comes after those that have its packages, too, and serve more commands
    "records": RECORDS,
    "spark": SPARK,
    "snapshot": frozenset({"pyarrow", "crc32c", "lz4", "zstandard", "cramjam", "isal", "pyspark", "py4j"}),
    "sql": SQL,
    "report": REPORT,
    "yaml": frozenset({"yaml"}),
    "demo": SPARK | REPORT | {"confluent_kafka"},
}

_ONLY_CONNECT = (
    "the PySpark that is installed is Spark Connect's client alone, which has no JVM: in an environment of its own, "
    "pip install 'kafka-lagoon[spark]'"
)


def with_extra(extra: str, run: Callable[[], int]) -> int:
    """Run a command and return its exit code. If a package is missing, a line names the extra to install."""
    try:
        return run()
    except ImportError as error:
        if _is_of_spark(error) and _has_only_connect():
            return complain(ConfigError([_ONLY_CONNECT]))
        if not isinstance(error, ModuleNotFoundError):
            raise
        package = (error.name or "").partition(".")[0]
        extras = [name for name in (extra, *EXTRAS) if package in EXTRAS[name]]
        if not extras:
            raise
        # A platform brings its own Spark.
        needed = "records" if package in RECORDS and find_spec("pyspark") else extras[0]
        return complain(ConfigError([f"{package} is not installed: pip install 'kafka-lagoon[{needed}]'"]))


def _is_of_spark(error: ImportError) -> bool:
    return (error.name or "").partition(".")[0] in {"pyspark", "py4j"}


def _has_only_connect() -> bool:
    """Return True if PySpark is pyspark-client, which has no JVM."""
    return find_spec("pyspark") is not None and find_spec("pyspark.core") is None
