"""Encodes messages with writers that are composed once per (class, version, flexible) from the declared fields.

A value that the version cannot carry is an EncodeError and never silently dropped, except in fields that Kafka's schemas
call ignorable.
"""

import struct
from collections.abc import Callable
from functools import cache, lru_cache
from operator import attrgetter
from typing import Any

from kafka_lagoon.errors import EncodeError
from kafka_lagoon.wire.columns import Structs, class_of, is_by_column
from kafka_lagoon.wire.packing import Pieces, Several, joiner, lists_packer, packer
from kafka_lagoon.wire.primitives import TEXT_ERRORS, length_writer, text_length_writer, write_uvarint
from kafka_lagoon.wire.schema import Array, Blob, Field, Kind, Nested, Scalar, Text, fields_of

Writer = Callable[[bytearray, Any], None]

_UUID, _UUID_SIZE = "16s", 16
_LONGEST_TEXT = 0x7FFF  # bytes; brokers apply the limit of classic strings to compact ones
_KNOWN_TEXTS = 1 << 15  # of a column, whose bytes are kept
_UNPACKABLE = (struct.error, ValueError, OverflowError, AttributeError, TypeError)


class _Refused(Exception):
    """Names the field that cannot be written; `encode`, which knows message and version, makes an EncodeError of it."""

    def __init__(self, field: str, reason: str) -> None:
        super().__init__(field, reason)
        self.field, self.reason = field, reason


def encode(message: object, version: int, flexible: bool) -> bytes:
    """The bytes of `message` at `version`; EncodeError names the first field that cannot be written."""
    out = bytearray()
    append(out, message, version, flexible)
    return bytes(out)


def append(out: bytearray, message: object, version: int, flexible: bool) -> None:
    """Append the bytes of `message` as `encode` makes them; after an EncodeError some may have been appended."""
    try:
        writer(type(message), version, flexible)(out, message)  # type: ignore[arg-type]  # as in reading.reader
    except _Refused as refused:
        raise EncodeError(type(message).__name__, version, refused.field, refused.reason) from refused.__cause__


@cache
def writer(cls: type, version: int, flexible: bool) -> Writer:
    """Appends one `cls` to a bytearray."""
    fields = fields_of(cls)
    steps = _steps(cls, fields, version, flexible)
    strict = [f for f in fields if not f.spec.present(version) and not f.spec.ignorable]
    write_tags = _tags_writer(cls, fields, version) if flexible else None

    def write(out: bytearray, made: Any) -> None:
        for field in strict:
            if getattr(made, field.name) != field.default:
                raise _Refused(f"{cls.__name__}.{field.name}", "this version has no such field")
        for step in steps:
            step(out, made)
        if write_tags:
            write_tags(out, made)

    return write


def _steps(cls: type, fields: tuple[Field, ...], version: int, flexible: bool) -> tuple[Writer, ...]:
    steps: list[Writer] = []
    fused: list[tuple[str, str]] = []

    def close_fused() -> None:
        if fused:
            steps.append(_fused_writer(cls, tuple(fused)))
            fused.clear()

    for field in fields:
        if not field.spec.present(version) or field.spec.tag is not None:
            continue
        if isinstance(field.kind, Scalar):
            fused.append((field.name, field.kind.code))
            continue
        close_fused()
        write = _kind_writer(field.kind, version, flexible and not field.spec.legacy, field.nullable(version))
        steps.append(_field_writer(cls, field.name, write))
    close_fused()
    return tuple(steps)


def _fused_writer(cls: type, fused: tuple[tuple[str, str], ...]) -> Writer:
    """Packs neighbouring scalars in one call; if it fails they are tried one by one, to name the field."""
    form = struct.Struct(">" + "".join(code for _, code in fused))
    names = [name for name, _ in fused]
    uuids = [name for name, code in fused if code == _UUID]
    values = attrgetter(*names) if len(names) > 1 else (lambda made: (getattr(made, names[0]),))

    def write(out: bytearray, made: Any) -> None:
        try:
            for name in uuids:
                _check_size(getattr(made, name))
            out += form.pack(*values(made))
        except _UNPACKABLE as cause:
            raise _Refused(f"{cls.__name__}.{_failing_field(fused, made)}", str(cause)) from cause

    return write


def _check_size(uuid: bytes) -> None:
    """The struct module would fill up, or cut off, an id that is not 16 bytes long."""
    if len(uuid) != _UUID_SIZE:
        raise ValueError(f"an id of {len(uuid)} bytes")


def _failing_field(fused: tuple[tuple[str, str], ...], made: Any) -> str:
    for name, code in fused:
        try:
            _scalar_writer(code)(bytearray(), getattr(made, name))
        except _UNPACKABLE:
            return name
    raise AssertionError("scalars that cannot be packed together can be packed one by one")


def _field_writer(cls: type, name: str, write_value: Writer) -> Writer:
    def write(out: bytearray, made: Any) -> None:
        try:
            write_value(out, getattr(made, name))
        except _UNPACKABLE as cause:
            raise _Refused(f"{cls.__name__}.{name}", str(cause)) from cause

    return write


def _tags_writer(cls: type, fields: tuple[Field, ...], version: int) -> Writer:
    """The tag section: fields that differ from their default, tags ascending, each with its size."""
    tagged = sorted(
        (field.spec.tag, field, _tagged_writer(field, version))
        for field in fields
        if field.spec.tag is not None and field.spec.present(version)
    )

    if not tagged:
        return lambda out, _: out.append(0)

    def write(out: bytearray, made: Any) -> None:
        present = [(t, f, w) for t, f, w in tagged if getattr(made, f.name) != f.default]
        write_uvarint(out, len(present))
        for tag, field, write_value in present:
            value = bytearray()
            _field_writer(cls, field.name, write_value)(value, made)
            write_uvarint(out, tag)
            write_uvarint(out, len(value))
            out += value

    return write


def _tagged_writer(field: Field, version: int) -> Writer:
    if isinstance(field.kind, Nested) and field.nullable(version):
        return _nullable_struct_writer(writer(field.kind.cls, version, flexible=True), null=0)
    return _kind_writer(field.kind, version, flexible=True, nullable=field.nullable(version))


def _kind_writer(kind: Kind, version: int, flexible: bool, nullable: bool) -> Writer:
    match kind:
        case Scalar():
            return _scalar_writer(kind.code)
        case Text():
            length = text_length_writer(flexible)
            return _nullable_writer(length, nullable, lambda out, value: _write_text(out, value, length))
        case Blob():
            length = length_writer(flexible)
            return _nullable_writer(length, nullable, lambda out, value: _write_blob(out, value, length))
        case Array(item=Nested(cls=cls), by_column=True):
            length, item = length_writer(flexible), writer(cls, version, flexible)
            several = _structs_writer(cls, version, flexible)
            return _nullable_writer(
                length, nullable, lambda out, value: _write_structs(out, value, length, item, several)
            )
        case Array():
            length = length_writer(flexible)
            item = _kind_writer(kind.item, version, flexible, nullable=False)
            return _nullable_writer(length, nullable, lambda out, value: _write_array(out, value, length, item))
        case Nested():
            write = writer(kind.cls, version, flexible)
            return _nullable_struct_writer(write) if nullable else write


def _write_structs(
    out: bytearray, value: Any, length: Callable[[bytearray, int], None], item: Writer, several: Several | None
) -> None:
    """Write an array by column if its structs can be packed together, else struct by struct, which also names a wrong field."""
    try:
        packed = several(value) if several and isinstance(value, Structs) else None
    except _UNPACKABLE:
        packed = None
    if packed is None:
        _write_array(out, value, length, item)
    else:
        length(out, len(value))
        out += b"".join(packed)


@cache
def _structs_writer(cls: type, version: int, flexible: bool) -> Several | None:
    """Packs the structs that are kept by column; None for a class that has other fields than numbers, texts and such arrays."""
    fields = [field for field in fields_of(cls) if field.spec.present(version)]
    if any(field.spec.tag is not None for field in fields):
        return None
    absent = [field for field in fields_of(cls) if not field.spec.present(version) and not field.spec.ignorable]
    if all(isinstance(field.kind, Scalar) and field.kind.code != _UUID for field in fields):
        return packer(fields, absent, flexible)
    pieces = [_pieces(field, version, flexible) for field in fields]
    return None if None in pieces else joiner(fields, absent, [one for one in pieces if one], flexible)


def _pieces(field: Field, version: int, flexible: bool) -> Pieces | None:
    """The bytes of a field, struct by struct."""
    if is_by_column(field):
        length, several = length_writer(flexible), _structs_writer(class_of(field), version, flexible)  # type: ignore[arg-type]
        return lists_packer(length, several) if several and not field.optional else None
    if not isinstance(field.kind, Text | Scalar):
        return None
    write = _kind_writer(field.kind, version, flexible and not field.spec.legacy, field.nullable(version))

    def piece(value: Any) -> bytes:
        out = bytearray()
        write(out, value)
        return bytes(out)

    if isinstance(field.kind, Text):  # the names of topics, which every leader is asked about
        piece = lru_cache(_KNOWN_TEXTS)(piece)
    return lambda column: list(map(piece, column))


def _scalar_writer(code: str) -> Writer:
    pack = struct.Struct(">" + code).pack

    def write(out: bytearray, value: Any) -> None:
        if code == _UUID:
            _check_size(value)
        out += pack(value)

    return write


def _nullable_writer(length: Callable[[bytearray, int], None], nullable: bool, write_value: Writer) -> Writer:
    def write(out: bytearray, value: Any) -> None:
        if value is not None:
            write_value(out, value)
        elif nullable:
            length(out, -1)
        else:
            raise ValueError("null where it is not allowed")

    return write


def _write_text(out: bytearray, value: str, length: Callable[[bytearray, int], None]) -> None:
    raw = value.encode("utf-8", TEXT_ERRORS)
    if len(raw) > _LONGEST_TEXT:
        raise ValueError(f"a string of {len(raw)} bytes")
    length(out, len(raw))
    out += raw


def _write_blob(out: bytearray, value: bytes | memoryview, length: Callable[[bytearray, int], None]) -> None:
    length(out, len(value))
    out += value


def _write_array(out: bytearray, value: Any, length: Callable[[bytearray, int], None], write_item: Writer) -> None:
    length(out, len(value))
    for item in value:
        write_item(out, item)


def _nullable_struct_writer(write_struct: Writer, null: int = 0xFF) -> Writer:
    """Writes a struct after a byte, which is 1 for a value and -1 for null (KIP-893), in tag sections 0 for null."""

    def write(out: bytearray, value: Any) -> None:
        if value is None:
            out.append(null)
        else:
            out.append(1)
            write_struct(out, value)

    return write
