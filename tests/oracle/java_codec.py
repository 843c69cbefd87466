"""Kafka's own codec in a JVM of its own: JSON in, wire bytes out, and back.

The jars hold for each message a data class, which reads and writes bytes, and a converter, which reads and writes JSON.
"""

import base64
import dataclasses
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from typing import Any

from py4j.java_gateway import GatewayParameters, JavaGateway, launch_gateway

from pipeline.sandbox.jars import jar_paths
from pipeline.sandbox.java import class_path, java_path
from pipeline.wire.primitives import uuid_bytes
from pipeline.wire.schema import Array, Blob, Field, Kind, Nested, Scalar, fields_of

_MESSAGES = "org.apache.kafka.common.message"
_PREFIX = 2  # the version, before the message itself
_JVM_OPTIONS = ["-Xmx256m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"]


class JavaCodec:
    """The generated codecs of one release, `kafka`."""

    def __init__(self, gateway: JavaGateway, kafka: str) -> None:
        self.kafka = kafka
        self.jvm = gateway.jvm
        self._mapper = self.jvm.com.fasterxml.jackson.databind.ObjectMapper()
        self._to_bytes = self.jvm.org.apache.kafka.common.protocol.MessageUtil.toVersionPrefixedBytes
        self._accessor = self.jvm.org.apache.kafka.common.protocol.ByteBufferAccessor
        self._wrap = self.jvm.java.nio.ByteBuffer.wrap
        self._classes: dict[str, tuple[Any, Any, Any]] = {}

    def encode(self, name: str, version: int, told: Mapping[str, Any], told_in: int | None = None) -> bytes:
        """The bytes that Kafka writes for a message in JSON, which may be told in another version."""
        _, read_json, _ = self._class(name)
        message = read_json(self._mapper.readTree(json.dumps(told)), version if told_in is None else told_in)
        return bytes(self._to_bytes(version, message))[_PREFIX:]

    def decode(self, name: str, version: int, encoded: bytes) -> Any:
        """The message that Kafka reads in the bytes, in JSON. Kafka does not mind bytes that are left over."""
        data = self._class(name)[0]
        return self.json_of(name, data(self._accessor(self.buffer_of(encoded)), version), version)

    def buffer_of(self, raw: bytes) -> Any:
        """Our bytes as Java takes them."""
        return self._wrap(bytearray(raw))

    def json_of(self, name: str, message: Any, version: int) -> Any:
        """A message of Java's as JSON."""
        return json.loads(self._class(name)[2](message, version).toString())

    def _class(self, name: str) -> tuple[Any, Any, Any]:
        """A message's constructor, and how its converter reads and writes."""
        if name not in self._classes:
            data = getattr(getattr(self.jvm, _MESSAGES), name)
            converter = getattr(getattr(self.jvm, _MESSAGES), f"{name}JsonConverter")
            self._classes[name] = (data, converter.read, converter.write)
        return self._classes[name]


@contextmanager
def java_codec(kafka: str) -> Iterator[JavaCodec]:
    """The codecs of a release, in a JVM that ends with the context."""
    jars = class_path(jar_paths(f"kafka-{kafka}"))
    port = launch_gateway(classpath=jars, java_path=java_path(), javaopts=_JVM_OPTIONS, die_on_exit=True)
    # Java keeps what it gave us until it ends: telling it of each object that we drop would double the calls.
    gateway = JavaGateway(gateway_parameters=GatewayParameters(port=port, enable_memory_management=False))
    try:
        yield JavaCodec(gateway, kafka)
    finally:
        gateway.shutdown()


@cache
def _camel_case(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(map(str.capitalize, others))


def to_json(message: Any, version: int) -> dict[str, Any]:
    """A message as Kafka's converters read it: the fields of the version, in Kafka's spelling."""
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


def from_json(cls: type, version: int, told: Mapping[str, Any]) -> Any:
    """A message as Kafka's converters write it. They leave out tagged fields that have their default."""
    present: Iterator[Field] = (field for field in fields_of(cls) if _camel_case(field.name) in told)
    return cls(
        **{field.name: _value_from_json(field.kind, told[_camel_case(field.name)], version) for field in present}
    )


def _value_from_json(kind: Kind, value: Any, version: int) -> Any:
    if value is None:
        return None
    match kind:
        case Scalar(code="16s"):
            return uuid_bytes(value)
        case Blob():
            return base64.b64decode(value)
        case Array():
            return tuple(_value_from_json(kind.item, item, version) for item in value)
        case Nested():
            return from_json(kind.cls, version, value)
    return value


def without_records(message: Any) -> Any:
    """A message as Kafka's converters tell it: record data is empty there, whatever it was."""
    told = {
        field.name: _without_records(field.kind, getattr(message, field.name)) for field in fields_of(type(message))
    }
    return dataclasses.replace(message, **told)


def _without_records(kind: Kind, value: Any) -> Any:
    match kind:
        case Blob(view=True):
            return None if value is None else b""
        case Array(item=Nested() as item) if value is not None:
            return tuple(_without_records(item, one) for one in value)
        case Nested() if value is not None:
            return without_records(value)
    return value
