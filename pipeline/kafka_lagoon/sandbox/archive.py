"""Makes the archive of classes from which brokers of the newest release start: 2.8 instead of 4.6 processor seconds.

`make demo` and `make test` run this file as a program, once.
"""

import tempfile
from pathlib import Path

from kafka_lagoon.jars.class_archives import archive, archive_options, keep, making_options
from kafka_lagoon.jars.locked_jars import jar_paths
from kafka_lagoon.sandbox.kafka import DEFAULT_VERSION, LocalKafka
from kafka_lagoon.sandbox.node import archive_of


def make_archive() -> None:
    """Start and stop one broker, and archive the classes that it has loaded, unless there is an archive of these jars."""
    name = archive_of(jar_paths(f"kafka-{DEFAULT_VERSION}"))
    if archive_options(name):  # a JVM that starts from one cannot make it
        return
    cache = archive(name).parent
    cache.mkdir(mode=0o700, parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=cache) as folder:
        made = Path(folder) / name
        with LocalKafka(Path(folder) / "kafka", java_options=making_options(made)) as kafka:
            kafka.stop(1)
        keep(made)


if __name__ == "__main__":
    make_archive()
