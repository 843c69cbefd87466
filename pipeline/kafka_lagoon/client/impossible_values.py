"""Finds numbers in responses that Kafka never sends; nothing of such a response is believed.

Kafka has -1 for what is unknown or not there, and no number below it, unless a field declares another one (`least`).
"""

from collections.abc import Callable, Iterable, Sequence
from functools import cache
from itertools import chain
from operator import attrgetter
from typing import Any

from kafka_lagoon.errors import ImpossibleValue
from kafka_lagoon.wire.columns import Structs
from kafka_lagoon.wire.schema import Array, Field, Nested, Scalar, fields_of

_SIGNED = frozenset("bhiq")


def impossible_value(response: Any) -> ImpossibleValue | None:
    """The first impossible number of a response; None if there is none."""
    return _found_in(type(response), (response,))


# Hot: runs over every response, so each field is looked at in all structs at once.
def _found_in(cls: type[Any], structs: Sequence[Any]) -> ImpossibleValue | None:
    for field, look in _looks(cls):  # type: ignore[arg-type]  # as in reading.reader
        values = _values(structs, field.name)
        if impossible := look(values):
            return impossible
    return None


def _values(structs: Sequence[Any], name: str) -> Iterable[Any]:
    return structs.column(name) if isinstance(structs, Structs) else map(attrgetter(name), structs)


@cache
def _looks(cls: type[Any]) -> tuple[tuple[Field, Callable[[Iterable[Any]], ImpossibleValue | None]], ...]:
    """A check for the values of each field; a field that cannot hold an impossible number is left out."""
    return tuple((field, look) for field in fields_of(cls) if (look := _look_at(cls, field)))


def _look_at(cls: type[Any], field: Field) -> Callable[[Iterable[Any]], ImpossibleValue | None] | None:
    match field.kind:
        case Scalar(code=code) | Array(item=Scalar(code=code)) if code not in _SIGNED or field.spec.least is None:
            return None
        case Scalar():
            return lambda values: _below(cls, field, values)
        case Array(item=Scalar()):
            return lambda values: _below(cls, field, chain.from_iterable(filter(None, values)))
        case Array(item=Nested(cls=inner)) if _looks(inner):
            return lambda values: _found_in(inner, _joined(values))
        case Nested(cls=inner) if _looks(inner):
            return lambda values: _found_in(inner, [value for value in values if value is not None])
    return None


def _joined(lists: Iterable[Any]) -> Sequence[Any]:
    """The structs of several lists."""
    if isinstance(items := getattr(lists, "items", None), Structs):
        return items
    several = [some for some in lists if some]
    return several[0] if len(several) == 1 else list(chain.from_iterable(several))


def _below(cls: type[Any], field: Field, values: Iterable[Any]) -> ImpossibleValue | None:
    least: int = field.spec.least  # type: ignore[assignment]  # fields without are not looked at
    lowest = min(values, default=least)
    return ImpossibleValue(cls.__name__, field.name, lowest) if lowest < least else None
