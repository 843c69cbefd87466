"""The two releases of Kafka that know every version between them: 4.0 dropped old ones, 3.9 still has them."""

from functools import cache
from pathlib import Path

from kafka_lagoon.jars.locked_jars import jar_paths

KAFKAS = ("4.3.1", "3.9.2")


@cache  # a thousand tests ask, and jars are verified each time they are looked up
def clients_jar(kafka: str) -> Path:
    """The jar with the schemas and the generated codec."""
    (jar,) = (path for path in jar_paths(f"kafka-{kafka}") if path.name.startswith("kafka-clients"))
    return jar
