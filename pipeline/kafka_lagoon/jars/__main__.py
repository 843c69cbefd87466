"""`python -m kafka_lagoon.jars LOCK ...` downloads the jars of lock files; Delta's go into PySpark's folder too."""

import sys
import time
from collections.abc import Sequence

from kafka_lagoon.errors import JarsUnavailable
from kafka_lagoon.jars.locked_jars import cache_folder, jar_paths
from kafka_lagoon.jars.spark_jars import install_into_spark


def main(locks: Sequence[str]) -> int:
    """Download the jars of each lock file; the exit code."""
    for lock in locks:
        started = time.perf_counter()
        try:
            count = len(jar_paths(lock))
            folder = install_into_spark(lock) if lock.startswith("delta-") else cache_folder() / "jars" / lock
        except JarsUnavailable as error:
            print(f"{lock}: {error}", file=sys.stderr)  # noqa: T201  a command's own line
            return 1
        print(f"{lock}: {count} jars in {folder} ({time.perf_counter() - started:.1f} s)")  # noqa: T201
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
