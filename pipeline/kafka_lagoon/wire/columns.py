"""Keeps an array of structs by column: the answers about millions of partitions are a few arrays, not millions of messages.

A field that is annotated as `Sequence[SomeStruct]` is read by column. `Structs` can be iterated as a sequence of messages, and
gives its columns to code that must be fast.
"""

from abc import ABC, abstractmethod
from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from itertools import accumulate, chain, repeat
from operator import attrgetter
from struct import Struct, calcsize, iter_unpack
from struct import error as StructError  # noqa: N812  it is `struct.error`
from sys import byteorder
from typing import Any, Generic, NamedTuple, TypeVar, overload

from kafka_lagoon.wire.primitives import Broken, Frame
from kafka_lagoon.wire.schema import Array, Field, Nested, Scalar, Text, fields_of

T = TypeVar("T")

Column = list[Any]
# Reads structs into columns from a position on, and returns the position after them.
Fill = Callable[[Frame, int, int, list[Any]], int]


class Readers(NamedTuple):
    """The decoders of `reading` that reading by column uses, for one class, version and encoding."""

    messages: Callable[[Frame, int, int], tuple[list[Any], int]]
    field: Callable[[Field], Callable[[Frame, int], tuple[Any, int]]]  # of an array of structs, its count
    items: Callable[[Field], "Builder"]  # of the items of such an array
    skip_tags: Callable[[Frame, int], int]
    reason: Callable[[Exception], str]


_TOGETHER = 512  # structs unpacked by one call
_IN_MEMORY = {"b": "b", "h": "h", "H": "H", "i": "i", "I": "I", "q": "q"}  # type codes of `array` with the same width


class Structs(Sequence[T], Generic[T]):
    """Structs of one class; `columns` has one column per field, in the order of the class.

    A column of arrays is `Lists`. Equal to any sequence of equal messages.
    """

    __slots__ = ("_length", "cls", "columns")

    def __init__(self, cls: type[T], length: int, columns: Sequence[Sequence[Any]]) -> None:
        self.cls, self._length, self.columns = cls, length, columns

    @classmethod
    def of(cls, made: type[T], columns: Mapping[str, Sequence[Any]]) -> "Structs[T]":
        """Structs of which every field has a column, all of the same length."""
        return cls(made, len(next(iter(columns.values()))), [columns[field.name] for field in fields_of(made)])

    def column(self, name: str) -> Sequence[Any]:
        """The values of a field."""
        return self.columns[_places(self.cls)[name]]  # type: ignore[arg-type]  # as in reading.reader

    def lists(self, name: str) -> "Lists[Any]":
        """The values of a field that is an array of structs."""
        return self.column(name)  # type: ignore[return-value]

    def __len__(self) -> int:
        return self._length

    def __iter__(self) -> Iterator[T]:
        return map(self.cls, *self.columns) if self.columns else iter(())

    @overload
    def __getitem__(self, index: int) -> T: ...
    @overload
    def __getitem__(self, index: slice) -> "Structs[T]": ...
    def __getitem__(self, index: int | slice) -> Any:
        if isinstance(index, slice):
            columns = [column[index] for column in self.columns]
            return Structs(self.cls, len(range(*index.indices(self._length))), columns)
        return self.cls(*(column[index] for column in self.columns))

    def __eq__(self, other: object) -> bool:
        return list(self) == list(other) if isinstance(other, Sequence) else NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return repr(tuple(self))


class Lists(Sequence[Structs[T]], Generic[T]):
    """Arrays of structs, one per outer struct: the length of each array, and the structs of all arrays, one after the other."""

    __slots__ = ("_ends", "counts", "items")

    def __init__(self, counts: Sequence[int], items: Structs[T]) -> None:
        self.counts, self.items = counts, items
        self._ends: list[int] | None = None

    def __len__(self) -> int:
        return len(self.counts)

    def __iter__(self) -> Iterator[Structs[T]]:
        return (self[place] for place in range(len(self.counts)))

    @overload
    def __getitem__(self, index: int) -> Structs[T]: ...
    @overload
    def __getitem__(self, index: slice) -> "list[Structs[T]]": ...
    def __getitem__(self, index: int | slice) -> Any:
        if isinstance(index, slice):
            return [self[place] for place in range(*index.indices(len(self)))]
        if self._ends is None:
            self._ends = list(accumulate(self.counts))
        end = self._ends[index]
        return self.items[end - self.counts[index] : end]


def by_column(structs: Sequence[T], cls: type[T]) -> Structs[T]:
    """The same structs by column; a sequence of messages is converted."""
    if isinstance(structs, Structs):
        return structs
    columns = [_gathered(field, [getattr(one, field.name) for one in structs]) for field in fields_of(cls)]
    return Structs(cls, len(structs), columns)


def _gathered(field: Field, values: list[Any]) -> Sequence[Any]:
    if not is_by_column(field):
        return values
    items = list(chain.from_iterable(values))
    return Lists([len(some) for some in values], by_column(items, class_of(field)))


def is_by_column(field: Field) -> bool:
    """True if a field is an array of structs that is read by column."""
    return isinstance(field.kind, Array) and field.kind.by_column


def builder(cls: type, version: int, flexible: bool, readers: Readers) -> "Builder":
    """Reads structs of a class into columns; TypeError if the class cannot be read so."""
    fields = [field for field in fields_of(cls) if field.spec.present(version)]
    if any(field.spec.tag is not None or (is_by_column(field) and field.optional) for field in fields):
        raise TypeError(f"{cls.__name__} has a tagged field or an array that may be null, so it is not read by column")
    if all(isinstance(field.kind, Scalar | Text) for field in fields):
        return _Together(cls, version, flexible, readers)
    return _OneByOne(cls, version, flexible, readers)


class Builder(ABC):
    """Reads structs of one class, version and encoding. `new` makes a list that keeps the values read so far."""

    def __init__(self, cls: type, version: int, flexible: bool, readers: Readers) -> None:
        self._cls, self._flexible, self._readers = cls, flexible, readers
        self._fields = [field for field in fields_of(cls) if field.spec.present(version)]

    @abstractmethod
    def new(self) -> list[Any]:
        """Make the list, empty."""

    @abstractmethod
    def fill(self, buffer: Frame, position: int, count: int, read: list[Any]) -> int:
        """Read `count` structs from a position on; returns the position after them."""

    @abstractmethod
    def columns(self, read: list[Any]) -> Iterator[tuple[str, Sequence[Any]]]:
        """The columns of the fields that are in this version, by name."""

    def structs(self, count: int, read: list[Any]) -> Structs[Any]:
        """All structs; fields that are not in this version have their defaults."""
        there = dict(self.columns(read))
        columns = [
            there[field.name] if field.name in there else _absent(field, count) for field in fields_of(self._cls)
        ]
        return Structs(self._cls, count, columns)


class _Together(Builder):
    """Structs of numbers and texts, copied many at a time as long as all texts are empty and there are no tags.

    Commits are so, but for those with metadata; those are read as messages. What was read is the bytes of the structs, each of
    the same size, and a list per text.
    """

    def __init__(self, cls: type, version: int, flexible: bool, readers: Readers) -> None:
        super().__init__(cls, version, flexible, readers)
        self._numbers = [field for field in self._fields if isinstance(field.kind, Scalar)]
        self._texts = [field for field in self._fields if isinstance(field.kind, Text)]
        codes = [
            field.kind.code if isinstance(field.kind, Scalar) else "x" if flexible else "xx" for field in self._fields
        ]
        starts = [Struct(">" + "".join(codes[:step])).size for step in range(len(codes) + 1)]
        self._starts = {field.name: start for field, start in zip(self._fields, starts, strict=False)}
        texts = [(start, b"\1") for start, field in zip(starts, self._fields, strict=False) if field in self._texts]
        wide = [(start + place, b"\0") for start, _ in texts for place in (0, 1)]
        # The bytes of a plain struct at a position.
        self._expected = [*texts, (starts[-1], b"\0")] if flexible else wide
        self._form = Struct(">" + "".join(codes) + ("x" if flexible else ""))

    def new(self) -> list[Any]:
        """The bytes, and a list per text."""
        return [bytearray(), *([] for _ in self._texts)]

    # Hot: 2 million commits in 0.2 s; as messages they take 2 s.
    def fill(self, buffer: Frame, position: int, count: int, read: list[Any]) -> int:
        """Copy them together, or read them as messages."""
        size = self._form.size
        if count == 1 and not self._texts and position + size <= len(buffer):  # as of most topics of large clusters
            end = position + size
            if not self._flexible or not buffer[end - 1]:
                read[0] += buffer[position:end]
                return end
        while count > 0:
            some = min(count, _TOGETHER)
            end = position + some * size
            for place, plain in self._expected:
                if buffer[position + place : end : size] != plain * some:
                    position = self._fill_slowly(buffer, position, some, read)
                    break
            else:
                if end > len(buffer):
                    position = self._fill_slowly(buffer, position, some, read)  # says where the bytes end
                else:
                    read[0] += buffer[position:end]
                    for column in read[1:]:
                        column.extend(repeat("", some))
                    position = end
            count -= some
        return position

    def _fill_slowly(self, buffer: Frame, position: int, count: int, read: list[Any]) -> int:
        made, position = self._readers.messages(buffer, position, count)
        for message in made:
            read[0] += self._form.pack(*(getattr(message, field.name) for field in self._numbers))
        for field, column in zip(self._texts, read[1:], strict=True):
            column.extend(map(attrgetter(field.name), made))
        return position

    def columns(self, read: list[Any]) -> Iterator[tuple[str, Sequence[Any]]]:
        """A column per field; numbers are copied out of the bytes of the structs."""
        for field in self._numbers:
            yield field.name, self._column(field, read[0])
        for field, column in zip(self._texts, read[1:], strict=True):
            yield field.name, column

    def _column(self, field: Field, structs: bytearray) -> Sequence[Any]:
        """The column of a number. All first bytes are copied, then all second bytes and so on, without an object per number."""
        assert isinstance(field.kind, Scalar)  # noqa: S101  for the type checker
        code, start, size = field.kind.code, self._starts[field.name], self._form.size
        width = calcsize(">" + code)
        numbers = bytearray(len(structs) // size * width)
        for place in range(width):
            numbers[place::width] = structs[start + place :: size]
        if code not in _IN_MEMORY:
            return [number for (number,) in iter_unpack(">" + code, numbers)]
        column = array(_IN_MEMORY[code])
        column.frombytes(numbers)
        if byteorder == "little":
            column.byteswap()
        return column


class _OneByOne(Builder):
    """Structs with arrays of structs in them, whose items all go into the same columns.

    What was read is a list per field; of an array of structs the counts, and what its own builder has read.
    """

    def __init__(self, cls: type, version: int, flexible: bool, readers: Readers) -> None:
        super().__init__(cls, version, flexible, readers)
        self._items = [readers.items(field) if is_by_column(field) else None for field in self._fields]
        self._read = [readers.field(field) for field in self._fields]

    def new(self) -> list[Any]:
        """A list per field."""
        return [([], items.new()) if items else [] for items in self._items]

    def fill(self, buffer: Frame, position: int, count: int, read: list[Any]) -> int:
        """Read the structs one by one, field by field."""
        flexible, skip_tags = self._flexible, self._readers.skip_tags
        steps = list(zip(self._read, self._items, read, strict=True))
        values = 0  # of the struct that is read
        try:
            for _ in range(count):
                values = 0
                for read_field, items, column in steps:
                    value, position = read_field(buffer, position)
                    if items is None:
                        column.append(value)
                    else:
                        column[0].append(value)
                        position = items.fill(buffer, position, value, column[1])
                    values += 1
                if flexible:
                    position = skip_tags(buffer, position) if buffer[position] else position + 1
        except (StructError, IndexError, ValueError) as cause:
            where = self._fields[values].name if values < len(self._fields) else "tags"
            reason = f"{self._cls.__name__}.{where}: {self._readers.reason(cause)}"
            raise Broken(min(position, len(buffer)), reason) from cause
        return position

    def columns(self, read: list[Any]) -> Iterator[tuple[str, Sequence[Any]]]:
        """The columns as they were read; of arrays with all their items."""
        for field, items, column in zip(self._fields, self._items, read, strict=True):
            if items is None:
                yield field.name, _compact(field, column)
            else:
                yield field.name, Lists(column[0], items.structs(sum(column[0]), column[1]))


def _absent(field: Field, count: int) -> Sequence[Any]:
    if is_by_column(field):
        return Lists([0] * count, by_column((), class_of(field)))
    return _compact(field, [field.default] * count)


def _compact(field: Field, values: list[Any]) -> Sequence[Any]:
    """A column in the smallest form: numbers in an array, not as objects."""
    code = _IN_MEMORY.get(field.kind.code) if isinstance(field.kind, Scalar) else None
    return array(code, values) if code else values


@cache
def _places(cls: type) -> dict[str, int]:
    return {field.name: place for place, field in enumerate(fields_of(cls))}


def class_of(field: Field) -> type[Any]:
    """The struct whose array a field is."""
    assert isinstance(field.kind, Array)  # noqa: S101  for the type checker
    assert isinstance(field.kind.item, Nested)  # noqa: S101
    return field.kind.item.cls
