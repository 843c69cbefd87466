"""Two releases of Kafka that know every version between them: 4.0 dropped old ones, which 3.9 still has."""

from functools import cache
from pathlib import Path

from kafka_lagoon.jars.locked_jars import jar_paths

KAFKAS = ("4.4.0", "3.9.2")


@cache  # a thousand tests use it, and jars are verified at each lookup
def clients_jar(kafka: str) -> Path:
    """Return the jar with the schemas and the generated codec."""
    (jar,) = (path for path in jar_paths(f"kafka-{kafka}") if path.name.startswith("kafka-clients"))
    return jar
