"""The same encoding rules once more, slow and obvious: bytes are read from the front, without closures or fused steps.

The twin that `kafka_lagoon.wire.reading` and `kafka_lagoon.wire.writing` must agree with on everything, right or wrong.
"""

import struct
from collections.abc import Mapping
from typing import Any

from kafka_lagoon.wire.schema import Array, Blob, Field, Kind, Nested, Scalar, Text, fields_of

_NO_TAGS: Mapping[int, bytes] = {}


class Malformed(Exception):
    """The bytes are not this message."""


class Input:
    """Bytes that are read from the front."""

    def __init__(self, remaining: bytes) -> None:
        self.remaining = remaining

    def take(self, size: int) -> bytes:
        """Return the next bytes, or raise if some are missing."""
        if size > len(self.remaining):
            raise Malformed("short")
        taken, self.remaining = self.remaining[:size], self.remaining[size:]
        return taken

    def integer(self, size: int) -> int:
        """Return a signed integer."""
        return int.from_bytes(self.take(size), "big", signed=True)

    def varint(self) -> int:
        """Return an unsigned varint: seven bits per byte, lowest first; the top bit means that another byte follows."""
        value = 0
        for place in range(5):
            (byte,) = self.take(1)
            value += (byte % 128) << (7 * place)
            if byte < 128:
                return value % 2**32
        raise Malformed("a varint of more than five bytes")


def reference_decode(cls: type, version: int, flexible: bool, payload: bytes) -> Any:
    """Return the message that takes up all of `payload`, or raise Malformed."""
    source = Input(payload)
    made = _read_struct(cls, version, flexible, source)
    if source.remaining:
        raise Malformed("left over")
    return made


def _read_struct(cls: type, version: int, flexible: bool, source: Input) -> Any:
    values = {}
    for field in fields_of(cls):
        if field.spec.present(version) and field.spec.tag is None:
            values[field.name] = _read_field(field, version, flexible and not field.spec.legacy, source)
    if flexible:
        values |= _read_tags(cls, version, source)
    return cls(**values)


def _read_tags(cls: type, version: int, source: Input) -> dict[str, Any]:
    known = {field.spec.tag: field for field in fields_of(cls) if field.spec.present(version)}
    values, last = {}, -1
    for _ in range(source.varint()):
        tag, inside = source.varint(), Input(source.take(source.varint()))
        if tag <= last:
            raise Malformed("tags must ascend")
        last, field = tag, known.get(tag)
        if field:
            values[field.name] = _read_field(field, version, flexible=True, source=inside)
            if inside.remaining:
                raise Malformed("left over in a tag")
    return values


def _read_field(field: Field, version: int, flexible: bool, source: Input) -> Any:
    value = _read(field.kind, version, flexible, source, nullable=field.nullable(version))
    if value is None and not field.nullable(version):
        raise Malformed("null")
    return value


def _read(kind: Kind, version: int, flexible: bool, source: Input, *, nullable: bool = False) -> Any:
    match kind:
        case Scalar():
            return struct.unpack(">" + kind.code, source.take(struct.calcsize(">" + kind.code)))[0]
        case Nested():
            if nullable and source.integer(1) < 0:
                return None
            return _read_struct(kind.cls, version, flexible, source)
    length = source.varint() - 1 if flexible else source.integer(2 if isinstance(kind, Text) else 4)
    if length < 0:
        return None
    if isinstance(kind, Array):
        return tuple(_read_item(kind.item, version, flexible, source) for _ in range(length))
    raw = source.take(length)
    return raw.decode("utf-8", "surrogateescape") if isinstance(kind, Text) else raw


def _read_item(kind: Kind, version: int, flexible: bool, source: Input) -> Any:
    value = _read(kind, version, flexible, source)
    if value is None:
        raise Malformed("null in an array")
    return value


def reference_encode(message: Any, version: int, flexible: bool, unknown_tags: Mapping[int, bytes] = _NO_TAGS) -> bytes:
    """Return the bytes of a message that fits the version, with `unknown_tags` in every tag section at any depth."""
    written, tags = b"", dict(unknown_tags)
    for field in fields_of(type(message)):
        if not field.spec.present(version):
            continue
        value, compact = getattr(message, field.name), flexible and not field.spec.legacy
        nullable = field.nullable(version)
        if field.spec.tag is None:
            written += _write(field.kind, value, version, compact, unknown_tags, nullable=nullable)
        elif value != field.default:
            tags[field.spec.tag] = _write(field.kind, value, version, True, unknown_tags, nullable=nullable)
    return written + _section(tags) if flexible else written


def _section(tags: Mapping[int, bytes]) -> bytes:
    return _varint(len(tags)) + b"".join(_varint(tag) + _varint(len(tags[tag])) + tags[tag] for tag in sorted(tags))


def _write(
    kind: Kind, value: Any, version: int, flexible: bool, unknown_tags: Mapping[int, bytes], *, nullable: bool = False
) -> bytes:
    match kind:
        case Scalar():
            return struct.pack(">" + kind.code, value)
        case Nested():
            marker = b"" if not nullable else b"\xff" if value is None else b"\x01"
            return marker if value is None else marker + reference_encode(value, version, flexible, unknown_tags)
        case Text():
            raw = None if value is None else value.encode("utf-8", "surrogateescape")
            return _length(raw, 2, flexible) + (raw or b"")
        case Blob():
            return _length(value, 4, flexible) + bytes(value or b"")
        case Array():
            items = [_write(kind.item, item, version, flexible, unknown_tags) for item in value or ()]
            return _length(value, 4, flexible) + b"".join(items)


def _length(value: Any, size: int, flexible: bool) -> bytes:
    length = -1 if value is None else len(value)
    return _varint(length + 1) if flexible else length.to_bytes(size, "big", signed=True)


def _varint(value: int) -> bytes:
    return bytes([value]) if value < 128 else bytes([value % 128 + 128]) + _varint(value // 128)
