"""Packs structs that are kept by column: requests about many partitions, without a message per partition.

The counterpart of `columns`, for `writing`, which writes structs one by one where they cannot be packed.
"""

from collections.abc import Callable, Sequence
from functools import cache
from itertools import chain, repeat
from struct import Struct
from typing import Any

from kafka_lagoon.wire.columns import Lists, Structs
from kafka_lagoon.wire.schema import Field, Scalar

_TOGETHER = 512  # structs packed by one call

Several = Callable[[Structs[Any]], Sequence[bytes]]  # the bytes of each struct
Pieces = Callable[[Any], Sequence[bytes]]  # the bytes of each value of a column


def packer(fields: Sequence[Field], absent: Sequence[Field], flexible: bool) -> Several:
    """Structs of numbers. ValueError if a field that the version lacks has another value than its default."""
    codes = "".join(field.kind.code for field in fields if isinstance(field.kind, Scalar)) + "x" * flexible
    width, size = len(fields), Struct(">" + codes).size

    @cache
    def form(count: int) -> Struct:
        return Struct(">" + codes * count)

    def pack(structs: Structs[Any]) -> list[bytes]:
        _check_absent(structs, absent)
        count = len(structs)
        values: list[Any] = [None] * (count * width)
        for place, field in enumerate(fields):
            values[place::width] = structs.column(field.name)
        parts = [values[start : start + _TOGETHER * width] for start in range(0, len(values), _TOGETHER * width)]
        packed = b"".join(form(len(part) // width).pack(*part) for part in parts)
        return [packed[start : start + size] for start in range(0, size * count, size)]

    return pack


def joiner(fields: Sequence[Field], absent: Sequence[Field], pieces: Sequence[Pieces], flexible: bool) -> Several:
    """Structs whose fields are packed column by column."""

    def join(structs: Structs[Any]) -> list[bytes]:
        _check_absent(structs, absent)
        columns = [pack(structs.column(field.name)) for field, pack in zip(fields, pieces, strict=True)]
        end = [repeat(b"\0", len(structs))] if flexible else []
        return list(map(b"".join, zip(*columns, *end, strict=True)))

    return join


def lists_packer(length: Callable[[bytearray, int], None], several: Several) -> Pieces:
    """Arrays of structs, all of which are packed at once."""

    @cache
    def counted(count: int) -> bytes:
        out = bytearray()
        length(out, count)
        return bytes(out)

    def pack(lists: Lists[Any]) -> list[bytes]:
        items, start, made = several(lists.items), 0, []
        if lists.counts.count(1) == len(lists.counts):  # as of most topics, if there are more brokers than partitions
            return list(map(counted(1).__add__, items))
        for count in lists.counts:
            made.append(b"".join(chain((counted(count),), items[start : start + count])))
            start += count
        return made

    return pack


def _check_absent(structs: Structs[Any], absent: Sequence[Field]) -> None:
    for field in absent:
        if any(value != field.default for value in structs.column(field.name)):
            raise ValueError(field.name)
