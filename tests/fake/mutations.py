"""Mutates responses in every way that their classes allow: longer, shorter, doubled and contradictory lists, odd values.

Made of the declared fields of the messages, so that a new API or field needs nothing here.
"""

from collections.abc import Callable, Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

from kafka_lagoon.wire.schema import Array, Blob, Field, Nested, Scalar, Text, fields_of

Path = tuple[str, ...]
ODD = {"b": -77, "h": -7_777, "i": -7_777, "q": -7_777}  # values that Kafka never sends
_HIGHEST = {"b": 127, "h": 32_767, "H": 65_535, "i": 2**31 - 1, "I": 2**32 - 1, "q": 2**63 - 1}
_TEXTS = ("", "../x", "a\udcff", "unasked")


@dataclass(frozen=True, slots=True)
class Mutation:
    """A change of one field of a response: in the first struct that has it, or in all."""

    path: Path
    name: str
    change: Callable[[Any], Any]
    everywhere: bool = False

    def __str__(self) -> str:
        return f"{'.'.join(self.path)} {self.name}{' everywhere' if self.everywhere else ''}"

    def apply(self, answer: Any) -> Any:
        """Change the response in place, and return it."""
        *way, last = self.path
        for struct in _structs([answer], way):
            setattr(struct, last, self.change(getattr(struct, last)))
            if not self.everywhere:
                break
        return answer


def mutations(answer: Any, path: Path = ()) -> Iterator[Mutation]:
    """Generate all mutations of a response; of lists, those of the items of the longest one."""
    for field in fields_of(type(answer)):
        value, here = getattr(answer, field.name), (*path, field.name)
        match field.kind:
            case Array():
                yield from _of_list(field, here)
                if isinstance(field.kind.item, Nested) and value:
                    yield from mutations(max(value, key=lambda item: len(repr(item))), here)
            case Nested() if value is not None:
                yield from mutations(value, here)
            case _:
                yield from _of_value(field, here)


def _structs(structs: Sequence[Any], way: Sequence[str]) -> Iterator[Any]:
    if not way:
        yield from structs
        return
    for struct in structs:
        value = getattr(struct, way[0])
        yield from _structs(value if isinstance(value, Sequence) else () if value is None else (value,), way[1:])


def _of_list(field: Field, path: Path) -> Iterator[Mutation]:
    yield Mutation(path, "doubled", lambda items: (*(items or ()), *deepcopy(tuple(items or ()))))
    yield Mutation(path, "empty", lambda _: ())
    yield Mutation(path, "empty", lambda _: (), everywhere=True)
    yield Mutation(path, "without the first", lambda items: tuple(items or ())[1:])
    if field.optional:
        yield Mutation(path, "null", lambda _: None)
    item = field.kind.item  # type: ignore[union-attr]  # it is an array
    if isinstance(item, Nested):
        yield Mutation(path, "with another last", lambda items: (*(items or ()), *_others(items)))
        yield Mutation(path, "with another first", lambda items: (*_others(items), *(items or ())))
        yield Mutation(path, "contradicting itself", lambda items: (*(items or ()), *_contradictions(items)))
    elif isinstance(item, Scalar):
        yield Mutation(path, "with an odd value", lambda items: (*(items or ()), ODD[item.code]))


def _others(items: Any) -> tuple[Any, ...]:
    """Make an item that was not requested: other names, ids and numbers."""
    return tuple(_renamed(deepcopy(one)) for one in tuple(items or ())[:1])


def _renamed(struct: Any) -> Any:
    for field in fields_of(type(struct)):
        value = getattr(struct, field.name)
        if isinstance(field.kind, Text) and value is not None:
            setattr(struct, field.name, f"unasked-{value}")
        elif isinstance(field.kind, Scalar) and field.kind.code in ("i", "q") and field.name != "error_code":
            setattr(struct, field.name, value + 1_000)
    return struct


def _contradictions(items: Any) -> tuple[Any, ...]:
    """Make the same item with other values in the fields that are not its key."""
    most = sorted(items or (), key=lambda item: len(repr(item)))[-1:]
    return tuple(_contradicted(deepcopy(one)) for one in most)


_NAMES = (
    "node_id",
    "broker_id",
    "partition_index",
    "partition_id",
    "partition",
    "producer_id",
    "api_key",
    "replica_id",
    "resource_type",
)


def _contradicted(struct: Any) -> Any:
    for field in fields_of(type(struct)):
        value = getattr(struct, field.name)
        if isinstance(field.kind, Scalar) and field.kind.code in "iq" and field.name not in _NAMES:
            setattr(struct, field.name, value + 1)
        elif isinstance(field.kind, Array) and isinstance(field.kind.item, Nested):
            setattr(struct, field.name, tuple(map(_contradicted, value or ())))
    return struct


def _of_value(field: Field, path: Path) -> Iterator[Mutation]:
    for value in _odd_values(field):
        shown = repr(value)[:20]
        yield Mutation(path, f"= {shown}", lambda _, value=value: value)
        yield Mutation(path, f"= {shown}", lambda _, value=value: value, everywhere=True)


def _odd_values(field: Field) -> Iterator[Any]:
    match field.kind:
        case Scalar(code="?"):
            yield from (True, False)
        case Scalar(code="16s"):
            yield from (bytes(16), b"another topic id"[:16])
        case Scalar(code="d"):
            yield from (-1.5, float("nan"), float("inf"))
        case Scalar(code=code):
            yield from (ODD.get(code, 0), -1 if code in ODD else 1, _HIGHEST[code])
            if field.name == "error_code":
                yield from (35, 7)
        case Text():
            yield from _TEXTS
        case Blob():
            yield from (b"", b"\xff" * 9)
    if field.optional:
        yield None
