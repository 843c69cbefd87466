"""Provides the vocabulary in which messages are declared: types, version ranges, and the class of an API.

Every fact about a field (type, versions, nullability, tag, default) is written once, beside the field. A message is a plain
dataclass; `reading` and `writing` derive their closures from the declarations.
"""

import dataclasses
import types
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Annotated, Any, Generic, TypeVar, Union, dataclass_transform, get_args, get_origin

from kafka_lagoon.frozen import frozen, slotted

LATEST = 32767  # api versions are int16, so this is "and later"


@frozen(kw_only=False)
class Scalar:
    """A value of fixed width; `code` is its format character in the struct module, big-endian."""

    code: str
    zero: bool | int | float | bytes


@frozen(kw_only=False)
class Text:
    """A string: int16 length, or compact."""


@frozen(kw_only=False)
class Blob:
    """Bytes: int32 length, or compact; `view` leaves them in the frame as a memoryview (record data)."""

    view: bool


@frozen(kw_only=False)
class Array:
    """Several values of one kind: int32 count, or compact. Structs are kept `by_column` where they are many (`columns`)."""

    item: "Kind"
    by_column: bool = False


@frozen(kw_only=False)
class Nested:
    """A struct inside a message."""

    cls: type


Kind = Scalar | Text | Blob | Array | Nested

Bool = Annotated[bool, Scalar("?", False)]
Int8 = Annotated[int, Scalar("b", 0)]
Int16 = Annotated[int, Scalar("h", 0)]
UInt16 = Annotated[int, Scalar("H", 0)]
Int32 = Annotated[int, Scalar("i", 0)]
UInt32 = Annotated[int, Scalar("I", 0)]
Int64 = Annotated[int, Scalar("q", 0)]
Float64 = Annotated[float, Scalar("d", 0.0)]
Uuid = Annotated[bytes, Scalar("16s", bytes(16))]  # raw: `uuid_text` gives Kafka's spelling, zero is "no id"
String = Annotated[str, Text()]
Bytes = Annotated[bytes, Blob(view=False)]
Records = Annotated[memoryview, Blob(view=True)]


@frozen(kw_only=False)
class Spec:
    """The versions that have a field: `since` to `until`, in tag section `tag`, nullable from `nullable_since` on.

    Values of a field that `repeats` are often the same, byte for byte. `least` is the lowest number that the field may have:
    -1 is Kafka's "unknown", and None stands for any number.
    """

    since: int = 0
    until: int = LATEST
    tag: int | None = None
    nullable_since: int = 0
    ignorable: bool = False
    legacy: bool = False
    repeats: bool = False
    least: int | None = -1

    def present(self, version: int) -> bool:
        """True if messages of `version` carry the field."""
        return self.since <= version <= self.until


@frozen(kw_only=False)
class Field:
    """One field of a struct, in wire order; `default` is its value in versions that lack it."""

    name: str
    kind: Kind
    spec: Spec
    optional: bool
    default: Any

    def nullable(self, version: int) -> bool:
        """True if null may stand in messages of `version`."""
        return self.optional and version >= self.spec.nullable_since


def wire(  # noqa: PLR0913  by name, and each has a default
    *,
    since: int = 0,
    until: int = LATEST,
    tag: int | None = None,
    nullable_since: int = 0,
    ignorable: bool = False,
    legacy: bool = False,
    repeats: bool = False,
    least: int | None = -1,
    default: Any = dataclasses.MISSING,
) -> Any:
    """Declare the facts of a field that its annotation does not tell.

    `ignorable`: a version that lacks the field drops a value silently (Kafka's schemas say which), and refuses none.
    `legacy`: never compact, even in flexible versions (the client_id of request headers). `repeats`: read once for all values
    that have the same bytes (the configs of topics). `least`: the lowest number, None for any.
    """
    spec = Spec(since, until, tag, nullable_since, ignorable, legacy, repeats, least)
    return dataclasses.field(default=default, metadata={"wire": spec})


T = TypeVar("T")


# `wire` is not a field specifier, so that type checkers take it for a default: a field declared with it may be left out, a
# bare one, which all versions have, must be passed. At run time every field has a default, as in Kafka.
@dataclass_transform(kw_only_default=True, frozen_default=True)
def struct(cls: type[T]) -> type[T]:
    """Make a message class: slotted, every field with a default, its fields listed in `__wire__`.

    Frozen and keyword-only for type checkers, neither at run time: freezing costs 50 ms per 100,000 objects.
    """
    fields = []
    for name, hint in cls.__annotations__.items():
        declared = cls.__dict__.get(name)
        if not isinstance(declared, dataclasses.Field):
            declared = wire()
            setattr(cls, name, declared)
        inner, optional = _without_none(hint)
        kind = _kind(inner)
        default = _zero(kind) if declared.default is dataclasses.MISSING else declared.default
        if isinstance(kind, Nested) and default is not None:
            declared.default_factory = kind.cls  # dataclasses refuse an instance as a mutable default
        else:
            declared.default = default
        fields.append(Field(name, kind, declared.metadata["wire"], optional, default))
    made = slotted(cls)
    made.__wire__ = tuple(fields)  # type: ignore[attr-defined]
    return made


def fields_of(cls: type) -> tuple[Field, ...]:
    """The fields of a message class in wire order."""
    listed: tuple[Field, ...] = cls.__wire__  # type: ignore[attr-defined]
    return listed


@cache
def keeps_views(cls: type) -> bool:
    """True if values of a message are views of its frame (record data), so that the frame lives as long as they do."""
    kinds = [field.kind.item if isinstance(field.kind, Array) else field.kind for field in fields_of(cls)]
    return any(
        kind.view if isinstance(kind, Blob) else isinstance(kind, Nested) and keeps_views(kind.cls) for kind in kinds
    )


def _without_none(hint: Any) -> tuple[Any, bool]:
    if get_origin(hint) in (Union, types.UnionType):
        inner = [part for part in get_args(hint) if part is not type(None)]
        return inner[0], True
    return hint, False


def _kind(hint: Any) -> Kind:
    if get_origin(hint) is tuple:
        return Array(_kind(get_args(hint)[0]))
    if get_origin(hint) is Sequence:
        return Array(_kind(get_args(hint)[0]), by_column=True)
    if get_origin(hint) is Annotated:
        marker: Kind = hint.__metadata__[0]
        return marker
    return Nested(hint)


def _zero(kind: Kind) -> Any:
    match kind:
        case Scalar():
            return kind.zero
        case Text():
            return ""
        case Blob():
            return b""
        case Array():
            return ()
        case Nested():
            return kind.cls()


@frozen(kw_only=False)
class Versions:
    """A range of api versions, both ends included."""

    lowest: int
    highest: int

    def __iter__(self) -> Iterator[int]:
        return iter(range(self.lowest, self.highest + 1))

    def common(self, other: "Versions") -> "Versions | None":
        """The versions in both ranges, or None."""
        lowest, highest = max(self.lowest, other.lowest), min(self.highest, other.highest)
        return Versions(lowest, highest) if lowest <= highest else None


Q = TypeVar("Q")
R = TypeVar("R")


@frozen
class Api(Generic[Q, R]):
    """An API: the request, its response, and the facts that both share.

    `flexible`: first version with compact lengths and tag sections, None if none has them.
    `flexible_response_header`: False only for ApiVersions, whose response is read before versions are known (KIP-511).
    """

    key: int
    versions: Versions
    flexible: int | None
    request: type[Q]
    response: type[R]
    flexible_response_header: bool = True

    @property
    def name(self) -> str:
        """Kafka's name of the API, e.g. ListOffsets."""
        return self.request.__name__.removesuffix("Request")

    def is_flexible(self, version: int) -> bool:
        """True if `version` uses compact lengths and tag sections."""
        return self.flexible is not None and version >= self.flexible
