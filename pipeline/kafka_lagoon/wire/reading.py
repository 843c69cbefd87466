"""Decodes messages with readers that are composed once per (class, version, flexible) from the declared fields.

Structure is strict: short input, left-over bytes, impossible lengths and null where it is not allowed are a DecodeError that
names struct, field and position. No length alone makes us allocate memory.
"""

import struct
from collections.abc import Callable
from contextlib import nullcontext
from functools import cache
from typing import Any, TypeVar

from kafka_lagoon.errors import DecodeError
from kafka_lagoon.garbage import gc_paused
from kafka_lagoon.wire.budget import BUDGET, PER_COLUMNS, PER_FIELD, PER_STRUCT
from kafka_lagoon.wire.columns import Builder, Readers, builder, class_of, is_by_column
from kafka_lagoon.wire.primitives import TEXT_ERRORS, Broken, Frame, length_reader, read_uvarint, text_length_reader
from kafka_lagoon.wire.schema import Array, Blob, Field, Kind, Nested, Scalar, Text, fields_of

T = TypeVar("T")
Reader = Callable[[Frame, int], tuple[Any, int]]
ManyReader = Callable[[Frame, int, int], tuple[list[Any], int]]

# The values that a step of a struct adds: those of several fused scalars, one value, or defaults of absent fields.
_FUSED, _SINGLE, _ABSENT = range(3)
_FUSED_ARRAYS = 64
_KNOWN_ARRAYS = 10_000  # different arrays of a field that are kept, so that equal ones are the same object
_ONE_BYTE_LENGTH = 0x80  # compact lengths below it are a byte
_LARGE = 1 << 20
_REMEMBERED = 16


def decode(cls: type[T], version: int, flexible: bool, payload: Frame, position: int = 0) -> T:
    """The message that fills `payload` from `position` to its end; DecodeError for anything else."""
    made, end = decode_start(cls, version, flexible, payload, position)
    if end < len(payload):
        raise DecodeError(cls.__name__, version, end, f"{len(payload) - end} bytes left over")
    return made


def decode_start(cls: type[T], version: int, flexible: bool, payload: Frame, position: int = 0) -> tuple[T, int]:
    """The message that starts at `position` of `payload`, and where it ends; DecodeError if none does."""
    BUDGET.begin()
    try:
        with gc_paused() if len(payload) > _LARGE else nullcontext():
            return reader(cls, version, flexible)(payload, position)
    except Broken as broken:
        raise DecodeError(cls.__name__, version, broken.position, broken.reason) from broken.__cause__


def reader(cls: type[T], version: int, flexible: bool) -> Callable[[Frame, int], tuple[T, int]]:
    """Reads one `cls` at a position of a buffer; returns it and the position after it."""
    many = many_reader(cls, version, flexible)  # type: ignore[arg-type]  # the class is hashable, its values are not

    def read(buffer: Frame, position: int) -> tuple[T, int]:
        made, position = many(buffer, position, 1)
        return made[0], position

    return read


@cache
def many_reader(cls: type, version: int, flexible: bool) -> ManyReader:
    """Reads `count` structs. The loop is here, not in the reader of arrays, to save a call per struct."""
    fields = fields_of(cls)
    steps = _steps(fields, version, flexible)
    tagged = _tagged(fields, version, flexible)

    # Hot: 100,000 partitions of Metadata in tests/bench. Fusing halves it, frozen classes would add 50 ms.
    def read_many(buffer: Frame, position: int, count: int) -> tuple[list[Any], int]:
        made: list[Any] = []
        values: list[Any] = []
        try:
            for _ in range(count):
                values = []
                for action, step, size in steps:
                    if action == _FUSED:
                        values += step(buffer, position)
                        position += size
                    elif action == _SINGLE:
                        value, position = step(buffer, position)
                        values.append(value)
                    else:
                        values += step
                message = cls(*values)
                if flexible:
                    if buffer[position]:
                        position = _read_tags(buffer, position, message, tagged)
                    else:
                        position += 1
                made.append(message)
        except (struct.error, IndexError, ValueError) as cause:
            where = fields[len(values)].name if len(values) < len(fields) else "tags"
            raise Broken(min(position, len(buffer)), f"{cls.__name__}.{where}: {_reason(cause)}") from cause
        return made, position

    return read_many


def _reason(cause: Exception) -> str:
    return str(cause) if type(cause) is ValueError else "the bytes end here"


def _steps(fields: tuple[Field, ...], version: int, flexible: bool) -> tuple[tuple[int, Any, int], ...]:
    steps: list[tuple[int, Any, int]] = []
    codes: list[str] = []

    def close_fused() -> None:
        if codes:
            fused = struct.Struct(">" + "".join(codes))
            steps.append((_FUSED, fused.unpack_from, fused.size))
            codes.clear()

    for field in fields:
        present = field.spec.present(version) and field.spec.tag is None
        if present and isinstance(field.kind, Scalar):
            codes.append(field.kind.code)
            continue
        close_fused()
        if present:
            step = _kind_reader(field.kind, version, flexible and not field.spec.legacy, field.nullable(version))
            steps.append((_SINGLE, _remembering(step) if field.spec.repeats else step, 0))
        else:
            steps.append((_ABSENT, (field.default,), 0))
    close_fused()
    return tuple(steps)


def _tagged(fields: tuple[Field, ...], version: int, flexible: bool) -> dict[int, tuple[str, Reader]]:
    return {
        field.spec.tag: (field.name, _tagged_reader(field, version, flexible))
        for field in fields
        if field.spec.tag is not None and field.spec.present(version)
    }


def _tagged_reader(field: Field, version: int, flexible: bool) -> Reader:
    if isinstance(field.kind, Nested) and field.nullable(version):
        return _nullable_tagged_struct_reader(reader(field.kind.cls, version, flexible))
    return _kind_reader(field.kind, version, flexible, field.nullable(version))


def _remembering(read: Reader) -> Reader:
    """Reads values of which many are equal: bytes that were read before are the same value again.

    A value's end depends on its own bytes alone, so equal bytes are equal values. The last few are kept, also for the next
    message; threads may replace them at the same time, which loses one of both.
    """
    known: tuple[tuple[bytes, Any], ...] = ()

    def read_again(buffer: Frame, position: int) -> tuple[Any, int]:
        nonlocal known
        for raw, value in known:
            end = position + len(raw)
            if buffer[position:end] == raw:
                return value, end
        value, end = read(buffer, position)
        known = ((bytes(buffer[position:end]), value), *known[: _REMEMBERED - 1])
        return value, end

    return read_again


def _read_tags(buffer: Frame, position: int, message: object, tagged: dict[int, tuple[str, Reader]]) -> int:
    """Set the fields whose tags are known, skip the others by their size; returns the position after the section."""
    count, position = read_uvarint(buffer, position)
    previous = -1
    for _ in range(count):
        tag, position = read_uvarint(buffer, position)
        size, position = read_uvarint(buffer, position)
        if tag <= previous:
            raise ValueError(f"tag {tag} after tag {previous}")
        end = position + size
        if end > len(buffer):
            raise ValueError(f"tag {tag} claims {size} bytes")
        if tag in tagged:
            name, read = tagged[tag]
            value, position = read(buffer, position)
            if position != end:
                raise ValueError(f"tag {tag} claims {size} bytes, its value has {position - end + size}")
            setattr(message, name, value)
        position, previous = end, tag
    return position


def _kind_reader(kind: Kind, version: int, flexible: bool, nullable: bool) -> Reader:
    match kind:
        case Scalar():
            return _scalar_reader(kind)
        case Text():
            return _text_reader(flexible, nullable)
        case Blob():
            return _blob_reader(flexible, nullable, kind.view)
        case Array(item=Scalar(code=("h" | "i" | "q") as code)):
            return _scalar_array_reader(code, flexible, nullable)
        case Array(item=Nested(cls=cls), by_column=True):
            return _structs_reader(cls, version, flexible, nullable)
        case Array(item=Nested(cls=cls)):
            return _array_reader(many_reader(cls, version, flexible), flexible, nullable, _memory_of(cls))
        case Array():
            item = _kind_reader(kind.item, version, flexible, nullable=False)
            return _array_reader(_one_by_one(item), flexible, nullable, PER_FIELD)
        case Nested():
            read: Reader = reader(kind.cls, version, flexible)
            return _nullable_struct_reader(read) if nullable else read


def _scalar_reader(kind: Scalar) -> Reader:
    form = struct.Struct(">" + kind.code)
    unpack, size = form.unpack_from, form.size
    return lambda buffer, position: (unpack(buffer, position)[0], position + size)


def _refuse_null(nullable: bool) -> None:
    if not nullable:
        raise ValueError("null where it is not allowed")


def _text_reader(flexible: bool, nullable: bool) -> Reader:
    read_length = text_length_reader(flexible)
    one_byte = _ONE_BYTE_LENGTH if flexible else 0

    def read(buffer: Frame, position: int) -> tuple[str | None, int]:
        first = buffer[position]
        if 0 < first < one_byte:  # names, and the empty metadata of most commits
            length, position = first - 1, position + 1
            if not length:
                return "", position
        else:
            length, position = read_length(buffer, position)
            if length < 0:
                _refuse_null(nullable)
                return None, position
        end = position + length
        if end > len(buffer):
            raise ValueError(f"a string of {length} bytes")
        return str(buffer[position:end], "utf-8", TEXT_ERRORS), end

    return read


def _blob_reader(flexible: bool, nullable: bool, view: bool) -> Reader:
    read_length = length_reader(flexible)

    def read(buffer: Frame, position: int) -> tuple[bytes | memoryview | None, int]:
        length, position = read_length(buffer, position)
        if length < 0:
            _refuse_null(nullable)
            return None, position
        end = position + length
        if end > len(buffer):
            raise ValueError(f"{length} bytes")
        return (memoryview(buffer)[position:end] if view else bytes(buffer[position:end])), end

    return read


def _count_reader(flexible: bool, nullable: bool, item_size: int) -> Reader:
    """Reads the count of an array and refuses one that the rest of the buffer cannot hold."""
    read_length = length_reader(flexible)

    one_byte = _ONE_BYTE_LENGTH if flexible else 0

    def read(buffer: Frame, position: int) -> tuple[int, int]:
        first = buffer[position]
        if 0 < first < one_byte:
            count, position = first - 1, position + 1
        else:
            count, position = read_length(buffer, position)
        if count < 0:
            _refuse_null(nullable)
        elif count * item_size > len(buffer) - position:
            raise ValueError(f"an array of {count} items")
        return count, position

    return read


def _scalar_array_reader(code: str, flexible: bool, nullable: bool) -> Reader:
    size = struct.calcsize(">" + code)
    read_count = _count_reader(flexible, nullable, size)
    fused = [struct.Struct(f">{count}{code}").unpack_from for count in range(_FUSED_ARRAYS)]
    short = _FUSED_ARRAYS if flexible else 0
    known: dict[tuple[int, ...], tuple[int, ...]] = {}  # a million partitions have a few hundred different lists

    def read(buffer: Frame, position: int) -> tuple[tuple[int, ...] | None, int]:
        first = buffer[position]
        if 0 < first < short:  # replica lists: one byte of length, three ids
            values, position = fused[first - 1](buffer, position + 1), position + 1 + (first - 1) * size
        else:
            count, position = read_count(buffer, position)
            if count < 0:
                return None, position
            if count >= _FUSED_ARRAYS:
                return struct.Struct(f">{count}{code}").unpack_from(buffer, position), position + count * size
            values, position = fused[count](buffer, position), position + count * size
        if not values:
            return values, position
        kept = known.get(values)
        if kept is None:
            if len(known) >= _KNOWN_ARRAYS:
                known.clear()
            known[values] = kept = values
        return kept, position

    return read


def _array_reader(many: ManyReader, flexible: bool, nullable: bool, item_memory: int) -> Reader:
    read_count = _count_reader(flexible, nullable, 1)
    spend = BUDGET.spend

    def read(buffer: Frame, position: int) -> tuple[tuple[Any, ...] | None, int]:
        count, position = read_count(buffer, position)
        if count <= 0:
            return None if count < 0 else (), position
        spend(count * item_memory)
        made, position = many(buffer, position, count)
        return tuple(made), position

    return read


def _memory_of(cls: type) -> int:
    """Approximate memory of a struct without the items of its arrays."""
    return PER_STRUCT + PER_FIELD * len(fields_of(cls))


def _structs_reader(cls: type, version: int, flexible: bool, nullable: bool) -> Reader:
    read_count, structs = _count_reader(flexible, nullable, 1), _builder(cls, version, flexible)
    spend, nothing = BUDGET.spend, structs.structs(0, structs.new())

    def read(buffer: Frame, position: int) -> tuple[Any, int]:
        count, position = read_count(buffer, position)
        if count <= 0:
            return None if count < 0 else nothing, position
        spend(PER_COLUMNS + count * PER_FIELD)
        made = structs.new()
        position = structs.fill(buffer, position, count, made)
        return structs.structs(count, made), position

    return read


@cache
def _builder(cls: type, version: int, flexible: bool) -> Builder:
    def field_reader(field: Field) -> Reader:
        if is_by_column(field):
            return _count_reader(flexible, nullable=False, item_size=1)
        return _kind_reader(field.kind, version, flexible and not field.spec.legacy, field.nullable(version))

    def items_builder(field: Field) -> Builder:
        return _builder(class_of(field), version, flexible)  # type: ignore[arg-type]  # as in `reader`

    def skip_tags(buffer: Frame, position: int) -> int:
        return _read_tags(buffer, position, None, {})

    messages = many_reader(cls, version, flexible)
    return builder(cls, version, flexible, Readers(messages, field_reader, items_builder, skip_tags, _reason))


def _one_by_one(item: Reader) -> ManyReader:
    """Reads items that are not structs, such as strings."""

    def read_many(buffer: Frame, position: int, count: int) -> tuple[list[Any], int]:
        made = []
        for _ in range(count):
            value, position = item(buffer, position)
            made.append(value)
        return made, position

    return read_many


def _nullable_tagged_struct_reader(read_struct: Reader) -> Reader:
    """Reads a struct of a tag section after a varint that is 0 for null, unlike elsewhere."""

    def read(buffer: Frame, position: int) -> tuple[Any, int]:
        is_there, position = read_uvarint(buffer, position)
        return read_struct(buffer, position) if is_there else (None, position)

    return read


def _nullable_struct_reader(read_struct: Reader) -> Reader:
    """Reads a struct after a byte that is negative for null (KIP-893)."""
    marker = struct.Struct(">b").unpack_from

    def read(buffer: Frame, position: int) -> tuple[Any, int]:
        if marker(buffer, position)[0] < 0:
            return None, position + 1
        return read_struct(buffer, position + 1)

    return read
