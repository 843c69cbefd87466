"""Reads topics with Kafka's Java consumer, in a JVM of its own; see Reader.java beside this file."""

import io
import struct
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from py4j.java_gateway import JavaGateway

from kafka_lagoon.jars.locked_jars import jar_paths
from tests.integration.producers import Consumed
from tests.java_gateway import SHORT_LIVED, java_gateway
from tests.java_source import compile_java

_SOURCE = Path(__file__).with_name("Reader.java")
_FIXED, _SIZE = struct.Struct(">iqqi"), struct.Struct(">i")
_FETCH_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class Reading:
    """The records of a topic by partition, in the order of the consumer, and the ends up to which it has read."""

    records: Mapping[int, Sequence[Consumed]]
    ends: Mapping[int, int]


class JavaReader:
    """Java's consumers of one release."""

    def __init__(self, gateway: JavaGateway, folder: Path) -> None:
        self._jvm, self._file = gateway.jvm, folder / "records"

    def read(
        self,
        bootstrap_servers: str,
        topic: str,
        isolation_level: str = "read_committed",
        fetch_bytes: int = _FETCH_BYTES,
    ) -> Reading:
        """Return what a consumer reads of a topic, from the log starts to the present ends."""
        spelled = self._jvm.Reader.read(bootstrap_servers, topic, isolation_level, fetch_bytes, str(self._file))
        pairs = [pair.split("=") for pair in spelled.split(",")]
        ends = {int(partition): int(end) for partition, end in pairs}
        records: dict[int, list[Consumed]] = {partition: [] for partition in ends}
        with self._file.open("rb") as file:
            for partition, record in _records(file):
                records[partition].append(record)
        return Reading(records, ends)


@contextmanager
def java_reader(kafka: str) -> Iterator[JavaReader]:
    """Run consumers of a release in a JVM that ends with the context."""
    jars = jar_paths(f"kafka-{kafka}")
    with TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        compile_java(_SOURCE, Path(folder), jars)
        with java_gateway([Path(folder), *jars], "-Xmx512m", *SHORT_LIVED) as gateway:
            yield JavaReader(gateway, Path(folder))


def _records(file: io.BufferedReader) -> Iterator[tuple[int, Consumed]]:
    while fixed := file.read(_FIXED.size):
        partition, offset, timestamp_ms, timestamp_type = _FIXED.unpack(fixed)
        key, value = _bytes(file), _bytes(file)
        headers = tuple(((_bytes(file) or b"").decode(), _bytes(file)) for _ in range(_int(file)))
        yield partition, Consumed(offset, timestamp_ms, timestamp_type, key, value, headers)


def _int(file: io.BufferedReader) -> int:
    (number,) = _SIZE.unpack(file.read(_SIZE.size))
    return int(number)


def _bytes(file: io.BufferedReader) -> bytes | None:
    size = _int(file)
    return None if size < 0 else file.read(size)
