"""Runs Kafka's own MemoryRecords in a JVM: builds bytes from descriptions of batches, and reads rows or refusals from bytes.

`Batches.java` beside this file is compiled against each release's jars, for Java walks the records: many batches go
in one call. A refusal is whatever Java throws, errors included (snappy, memory).
"""

import base64
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from py4j.java_gateway import JavaGateway

from kafka_lagoon.jars.locked_jars import jar_paths
from tests.java_gateway import java_gateway
from tests.java_source import compile_java

_SOURCE = Path(__file__).with_name("Batches.java")


class Row(NamedTuple):
    """A record as a reader returns it, with header keys as sent."""

    offset: int
    timestamp_ms: int
    timestamp_type: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[bytes, bytes | None], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class JavaBatch:
    """One batch as Java reads it: rows, or the reason for missing rows; then fields may be missing."""

    magic: int | None
    base_offset: int | None
    last_offset: int | None
    leader_epoch: int | None
    producer_id: int | None
    producer_epoch: int | None
    transactional: bool | None
    control: bool | None
    rows: tuple[Row, ...] | None
    refusal: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class JavaAnswer:
    """The complete batches at the start of a buffer; `broken` is the reason why Java stopped, None at an end or a cut batch."""

    batches: tuple[JavaBatch, ...]
    broken: str | None


class JavaRecords:
    """MemoryRecords of one release, `kafka`."""

    def __init__(self, gateway: JavaGateway, kafka: str) -> None:
        self.kafka = kafka
        self._batches = gateway.jvm.Batches

    def build(self, batches: Sequence[Mapping[str, Any]]) -> list[bytes]:
        """Return the bytes of each batch; see `batch` for a description."""
        return [base64.b64decode(raw) for raw in json.loads(self._batches.build(json.dumps(batches, default=_base64)))]

    def read(self, buffers: Sequence[bytes]) -> list[JavaAnswer]:
        """Return the content of each buffer."""
        return [_answer(answer) for answer in json.loads(self._batches.read(json.dumps(buffers, default=_base64)))]


@contextmanager
def java_records(kafka: str) -> Iterator[JavaRecords]:
    """Run MemoryRecords of a release in a JVM that ends with the context."""
    jars = jar_paths(f"kafka-{kafka}")
    with TemporaryDirectory(ignore_cleanup_errors=True) as classes:
        _compile(Path(classes), jars, kafka)
        options = ("-Xmx512m", "-XX:+UseSerialGC", f"-Djava.io.tmpdir={classes}")  # folder for native codecs
        with java_gateway([Path(classes), *jars], *options) as gateway:
            yield JavaRecords(gateway, kafka)


def _compile(folder: Path, jars: Sequence[Path], kafka: str) -> None:
    """Compile the class; Kafka 3 has some classes in the parent packages."""
    source = _SOURCE.read_text()
    if kafka.startswith("3."):
        source = source.replace("common.record.internal.", "common.record.").replace(
            "common.utils.internals.", "common.utils."
        )
    (folder / _SOURCE.name).write_text(source)
    compile_java(folder / _SOURCE.name, folder, jars)


def batch(**given: Any) -> dict[str, Any]:
    """Describe a batch, with usual values for missing arguments.

    `removed` are offsets that the cleaner takes out; `last_offset` is one that the batch claims, -1 the last record's.
    """
    return {
        "magic": 2,
        "codec": "none",
        "timestamp_type": "CreateTime",
        "base_offset": 0,
        "log_append_time": -1,
        "producer_id": -1,
        "producer_epoch": -1,
        "base_sequence": -1,
        "transactional": False,
        "control": False,
        "leader_epoch": -1,
        "delete_horizon": -1,
        "last_offset": -1,
        "removed": [],
        "records": [],
        **given,
    }


def record(offset: int, *, timestamp_ms: int, key: bytes | None, value: bytes | None, headers: Any = ()) -> dict:
    """Describe a record; `headers` are pairs of a text and bytes or None."""
    return {"offset": offset, "timestamp_ms": timestamp_ms, "key": key, "value": value, "headers": headers}


def _base64(raw: bytes) -> str:
    return base64.b64encode(raw).decode()


def _answer(answer: Mapping[str, Any]) -> JavaAnswer:
    return JavaAnswer(batches=tuple(map(_batch, answer["batches"])), broken=answer.get("broken"))


def _batch(answer: Mapping[str, Any]) -> JavaBatch:
    rows = answer.get("rows")
    return JavaBatch(
        **{name: answer.get(name) for name in JavaBatch.__dataclass_fields__ if name not in {"rows", "refusal"}},
        rows=None if rows is None else tuple(map(_row, rows)),
        refusal=answer.get("refusal"),
    )


def _row(encoded: Sequence[Any]) -> Row:
    offset, timestamp_ms, timestamp_type, key, value, headers = encoded
    pairs = tuple((base64.b64decode(name), _bytes(text)) for name, text in headers)
    return Row(offset, timestamp_ms, timestamp_type, _bytes(key), _bytes(value), pairs)


def _bytes(encoded: str | None) -> bytes | None:
    return None if encoded is None else base64.b64decode(encoded)
