"""Runs Kafka's own codec in a JVM of its own, which turns JSON into wire bytes and back.

The jars hold for each message a data class, which reads and writes bytes, and a converter, which reads and writes JSON.
`Messages.java` beside this file is compiled against each release's jars and takes many messages in one call.
"""

import base64
import dataclasses
import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from py4j.java_gateway import JavaGateway

from kafka_lagoon.jars.locked_jars import jar_paths
from kafka_lagoon.wire.primitives import uuid_bytes
from kafka_lagoon.wire.schema import Array, Blob, Field, Kind, Nested, Scalar, fields_of
from tests.java_gateway import SHORT_LIVED, java_gateway
from tests.java_source import compile_java
from tests.oracle.jars import KAFKAS
from tests.oracle.schemas import RENAMED

_MESSAGES = "org.apache.kafka.common.message"
_ODD_NAMES = {"kraft_version_feature": "kRaftVersionFeature"}
_PREFIX = 2  # the version, before the message itself


class Example(NamedTuple):
    """A message in JSON of version `made_in`, to be written in the same or another version."""

    name: str
    made_in: int
    version: int
    message: Mapping[str, Any]


class JavaCodec:
    """The generated codecs of one release, `kafka`."""

    def __init__(self, gateway: JavaGateway, kafka: str) -> None:
        self.kafka = kafka
        self.jvm = gateway.jvm

    def encode(self, examples: Iterable[Example]) -> list[bytes | None]:
        """Return the bytes that Kafka writes for each message, None if it refuses to."""
        items = [(one.name, one.made_in, one.version, self._renamed(one.name, one.message)) for one in examples]
        answers = json.loads(self.jvm.Messages.encode(json.dumps(items)))
        return [None if raw is None else base64.b64decode(raw)[_PREFIX:] for raw in answers]

    def decode(self, name: str, version: int, encoded: Iterable[bytes]) -> list[Any]:
        """Return the message that Kafka reads in each of the bytes, in JSON, or the text of its refusal.

        Kafka does not mind bytes that are left over.
        """
        items = [(name, version, base64.b64encode(raw).decode()) for raw in encoded]
        answers: list[Any] = json.loads(self.jvm.Messages.decode(json.dumps(items)))
        return [self._renamed(name, one, back=True) if isinstance(one, dict) else one for one in answers]

    def _renamed(self, name: str, message: Mapping[str, Any], *, back: bool = False) -> Mapping[str, Any]:
        """Return a message with the names of this release, or with the newest ones."""
        if self.kafka == KAFKAS[0]:
            return message
        pairs = [(old, new) for (of, old), new in RENAMED.items() if name == f"{of}Data"]
        names = {_lower(old if back else new): _lower(new if back else old) for old, new in pairs}
        return {names.get(field, field): value for field, value in message.items()}

    def request_headers(self, frames: Iterable[bytes]) -> list[list[Any]]:
        """Return key, version, correlation id, client id, and start of the body, of frames without their length."""
        items = [base64.b64encode(frame).decode() for frame in frames]
        answers: list[list[Any]] = json.loads(self.jvm.Messages.requestHeaders(json.dumps(items)))
        return answers

    def buffer_of(self, raw: bytes) -> Any:
        """Make a ByteBuffer of our bytes."""
        return self.jvm.java.nio.ByteBuffer.wrap(bytearray(raw))

    def json_of(self, name: str, message: Any, version: int) -> Any:
        """Return one of Java's messages as JSON."""
        converter = getattr(getattr(self.jvm, _MESSAGES), f"{name}JsonConverter")
        return json.loads(converter.write(message, version).toString())


@contextmanager
def java_codec(kafka: str) -> Iterator[JavaCodec]:
    """Run the codecs of a release in a JVM that ends with the context."""
    jars = jar_paths(f"kafka-{kafka}")
    with TemporaryDirectory(ignore_cleanup_errors=True) as classes:
        compile_java(Path(__file__).with_name("Messages.java"), Path(classes), jars)
        # Java keeps the objects that it returned until it ends: releasing each of them would double the calls.
        folders = [Path(classes), *jars]
        with java_gateway(folders, "-Xmx256m", *SHORT_LIVED, enable_memory_management=False) as gateway:
            yield JavaCodec(gateway, kafka)


def _lower(name: str) -> str:
    return name[0].lower() + name[1:]


@cache
def _camel_case(name: str) -> str:
    if name in _ODD_NAMES:
        return _ODD_NAMES[name]
    first, *others = name.split("_")
    return first + "".join(map(str.capitalize, others))


def to_json(message: Any, version: int) -> dict[str, Any]:
    """Spell a message for Kafka's converters: the fields of the version, in Kafka's spelling."""
    return {
        _camel_case(field.name): _value_to_json(field.kind, getattr(message, field.name), version)
        for field in fields_of(type(message))
        if field.spec.present(version)
    }


def _value_to_json(kind: Kind, value: Any, version: int) -> Any:
    if value is None:
        return None
    match kind:
        case Scalar(code="16s"):
            return base64.urlsafe_b64encode(value).decode().rstrip("=")
        case Blob():
            return base64.b64encode(value).decode()
        case Array():
            return [_value_to_json(kind.item, item, version) for item in value]
        case Nested():
            return to_json(value, version)
    return value


def from_json(cls: type, version: int, fields: Mapping[str, Any]) -> Any:
    """Parse a message of Kafka's converters. They leave out tagged fields with their defaults."""
    present: Iterator[Field] = (field for field in fields_of(cls) if _camel_case(field.name) in fields)
    return cls(
        **{field.name: _value_from_json(field.kind, fields[_camel_case(field.name)], version) for field in present}
    )


def _value_from_json(kind: Kind, value: Any, version: int) -> Any:
    if value is None:
        return None
    match kind:
        case Scalar(code="16s"):
            return uuid_bytes(value)
        case Scalar(code="d"):
            return float(value)  # Java quotes numbers that are NaN or infinite
        case Blob():
            return base64.b64decode(value)
        case Array():
            return tuple(_value_from_json(kind.item, item, version) for item in value)
        case Nested():
            return from_json(kind.cls, version, value)
    return value


def without_records(message: Any) -> Any:
    """Return a message as Kafka's converters spell it: record data is always empty there."""
    kept = {
        field.name: _without_records(field.kind, getattr(message, field.name)) for field in fields_of(type(message))
    }
    return dataclasses.replace(message, **kept)


def _without_records(kind: Kind, value: Any) -> Any:
    match kind:
        case Blob(view=True):
            return None if value is None else b""
        case Array(item=Nested() as item) if value is not None:
            return tuple(_without_records(item, one) for one in value)
        case Nested() if value is not None:
            return without_records(value)
    return value
