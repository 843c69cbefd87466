"""Makes classes of fields, as `dataclasses.dataclass` does, in a third of its time.

`dataclass` compiles up to eight methods for each class, and a command imports hundreds of classes: that was a third of the time
of a short command. Here only `__init__` is compiled, and classes share the code of the other methods.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, fields
from operator import attrgetter
from typing import Any, TypeVar, dataclass_transform, overload

T = TypeVar("T")
C = TypeVar("C", bound=type[Any])


@overload
def frozen(cls: type[T]) -> type[T]: ...


@overload
def frozen(*, kw_only: bool) -> Callable[[type[T]], type[T]]: ...


@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(field,))
def frozen(cls: type[Any] | None = None, *, kw_only: bool = True) -> Any:
    """Make a class whose objects are equal, with equal hashes, if their fields are.

    It is frozen for type checkers, not at run time, where that takes two more compiled methods, and twice the time per object.
    """
    if cls is None:
        return lambda decorated: _hashable(slotted(decorated, kw_only=kw_only))
    return _hashable(slotted(cls, kw_only=kw_only))


def slotted(cls: C, *, kw_only: bool = False) -> C:
    """Make a class whose objects are equal if their fields are, and have no hash."""
    made: Any = dataclass(slots=True, kw_only=kw_only, eq=False, repr=False)(cls)
    values = _values(made)

    def is_equal(owner: object, other: object) -> bool:
        return bool(values(owner) == values(other)) if other.__class__ is owner.__class__ else NotImplemented

    made.__eq__, made.__hash__, made.__repr__ = is_equal, None, _spelled
    return made  # type: ignore[no-any-return]


def _hashable(made: Any) -> Any:
    values = _values(made)

    def hash_of(owner: object) -> int:
        return hash(values(owner))

    made.__hash__ = hash_of
    return made


def _values(made: Any) -> Callable[[object], object]:
    """A function that returns the class of an object and the values that are compared."""
    return attrgetter("__class__", *(one.name for one in fields(made) if one.compare))


def _spelled(owner: Any) -> str:
    values = (f"{one.name}={getattr(owner, one.name)!r}" for one in fields(owner) if one.repr)
    return f"{type(owner).__qualname__}({', '.join(values)})"
