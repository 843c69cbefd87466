"""Says which extra of kafka-lagoon brings a package that a command needs and that is not installed."""

from collections.abc import Callable, Mapping
from importlib.util import find_spec

from kafka_lagoon.cli.terminal import complain
from kafka_lagoon.errors import ConfigError

# Extra -> the names under which its packages are imported.
RECORDS = frozenset(
    {"pyarrow", "numpy", "numba", "llvmlite", "crc32c", "lz4", "snappy", "zstandard", "cramjam", "isal"}
)
EXTRAS: Mapping[str, frozenset[str]] = {
    "records": RECORDS,
    "spark": RECORDS | {"pyspark", "delta", "py4j"},
    "sql": frozenset({"pyarrow", "deltalake", "duckdb"}),
    "yaml": frozenset({"yaml"}),
}


def with_extra(extra: str, run: Callable[[], int]) -> int:
    """The exit code of `run`; one line names what to install if it lacks a package of an extra, by default of `extra`."""
    try:
        return run()
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        extras = [name for name in (extra, *EXTRAS) if package in EXTRAS[name]]
        if not extras:
            raise
        needed = (
            "records" if package in RECORDS and find_spec("pyspark") else extras[0]
        )  # a platform brings its own Spark
        return complain(ConfigError([f"{package} is not installed: pip install 'kafka-lagoon[{needed}]'"]))
