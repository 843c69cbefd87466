"""Keeps an array of structs by column: the answers about millions of partitions are a few arrays, not millions of messages.

A field that is annotated as `Sequence[SomeStruct]` is read so. `Structs` is a sequence of messages for those who iterate, and
has columns for those who cannot wait.
"""

from array import array
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from itertools import accumulate, chain, repeat
from operator import attrgetter
from struct import Struct
from struct import error as StructError  # noqa: N812  it is `struct.error`
from typing import Any, Generic, NamedTuple, TypeVar, overload

from kafka_lagoon.wire.primitives import Broken, Frame
from kafka_lagoon.wire.schema import Array, Field, Nested, Scalar, Text, fields_of

T = TypeVar("T")

Column = list[Any]
Fill = Callable[
    [Frame, int, int, list[Any]], int
]  # reads structs from a position on into columns, returns where they end


class Readers(NamedTuple):
    """What reading by column needs of reading by message (`reading`), for one class, version and encoding."""

    messages: Callable[[Frame, int, int], tuple[list[Any], int]]
    field: Callable[[Field], Callable[[Frame, int], tuple[Any, int]]]  # of an array of structs, its count
    items: Callable[[Field], "Fill"]  # of the items of such an array
    skip_tags: Callable[[Frame, int], int]
    reason: Callable[[Exception], str]


_TOGETHER = 512  # structs unpacked by one call
_IN_MEMORY = {"b": "b", "h": "h", "H": "H", "i": "i", "I": "I", "q": "q"}  # codes that `array` has, with the same width


class Structs(Sequence[T], Generic[T]):
    """Structs of one class; `columns` has one column per field, in the order of the class.

    A column of arrays is `Lists`. Equal to any sequence of equal messages.
    """

    __slots__ = ("_length", "cls", "columns")

    def __init__(self, cls: type[T], length: int, columns: Sequence[Sequence[Any]]) -> None:
        self.cls, self._length, self.columns = cls, length, columns

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
    """Arrays of structs, one per struct around them: how many each has, and the structs of all, one after the other."""

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
    """The same structs by column; messages that were made by hand too."""
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
    """Whether a field is an array of structs that is read by column."""
    return isinstance(field.kind, Array) and field.kind.by_column


def filler(cls: type, version: int, flexible: bool, readers: Readers) -> Fill:
    """Reads structs into columns that `new_columns` made; TypeError for a class that cannot be read so."""
    fields = [field for field in fields_of(cls) if field.spec.present(version)]
    if any(field.spec.tag is not None or (is_by_column(field) and field.optional) for field in fields):
        raise TypeError(f"{cls.__name__} has a tagged field or an array that may be null, so it is not read by column")
    if all(isinstance(field.kind, Scalar | Text) for field in fields):
        return _together(cls, fields, flexible, readers)
    return _one_by_one(cls, fields, flexible, readers)


def new_columns(cls: type, version: int) -> list[Any]:
    """Empty columns of a class: a list per field, and for an array of structs its counts and the columns of its items."""
    return [([], new_columns(class_of(field), version)) if is_by_column(field) else [] for field in fields_of(cls)]


def structs_of(cls: type[T], version: int, count: int, columns: list[Any]) -> Structs[T]:
    """The structs whose columns were filled."""
    return Structs(cls, count, [_kept(*pair, version, count) for pair in zip(fields_of(cls), columns, strict=True)])


def _kept(field: Field, column: Any, version: int, count: int) -> Sequence[Any]:
    """A column in the memory that it needs: numbers as they are, not as objects; the default of an absent field."""
    present = field.spec.present(version)
    if is_by_column(field):
        counts, items = column if present else ([0] * count, new_columns(class_of(field), version))
        return Lists(counts, structs_of(class_of(field), version, sum(counts), items))
    values: list[Any] = column if present else [field.default] * count
    code = _IN_MEMORY.get(field.kind.code) if isinstance(field.kind, Scalar) else None
    return array(code, values) if code else values


def _together(cls: type, fields: Sequence[Field], flexible: bool, readers: Readers) -> Fill:
    """Structs of numbers and texts, unpacked many at a time as long as all texts are empty or null, and no tags are there.

    Commits are so, but for those with metadata; those are read as messages.
    """
    empty, null, code = (1, 0, "B") if flexible else (0, -1, "h")
    codes = "".join(field.kind.code if isinstance(field.kind, Scalar) else code for field in fields)
    width = len(codes) + flexible
    places, names = _places(cls), [field.name for field in fields_of(cls)]
    numbers = [(places[field.name], step) for step, field in enumerate(fields) if isinstance(field.kind, Scalar)]
    texts = [
        (places[field.name], step, field.optional) for step, field in enumerate(fields) if isinstance(field.kind, Text)
    ]

    @cache
    def form(count: int) -> Struct:
        return Struct(">" + (codes + "B" * flexible) * count)

    # Hot: 2 million commits in 0.35 s; as messages they take 2 s.
    def fill(buffer: Frame, position: int, count: int, columns: list[Column]) -> int:
        while count > 0:
            some = min(count, _TOGETHER)
            values = _unpacked(form(some), buffer, position)
            lengths = [values[step::width] for _, step, _ in texts]
            plain = bool(values) and not (flexible and any(values[width - 1 :: width]))
            for (_, _, optional), column in zip(texts, lengths, strict=True):
                plain = plain and column.count(empty) + (column.count(null) if optional else 0) == some
            if plain:
                for place, step in numbers:
                    columns[place] += values[step::width]
                for (place, _, _), column in zip(texts, lengths, strict=True):
                    columns[place] += repeat("", some) if column.count(empty) == some else _texts(column, null)
                position += form(some).size
            else:
                made, position = readers.messages(buffer, position, some)
                for name, values_before in zip(names, columns, strict=True):
                    values_before.extend(map(attrgetter(name), made))
            count -= some
        return position

    return fill


def _texts(lengths: Sequence[int], null: int) -> Iterator[str | None]:
    return (None if length == null else "" for length in lengths)


def _unpacked(form: Struct, buffer: Frame, position: int) -> tuple[Any, ...]:
    try:
        return form.unpack_from(buffer, position)
    except StructError:  # the bytes end here: reading one by one says where
        return ()


def _one_by_one(cls: type, fields: Sequence[Field], flexible: bool, readers: Readers) -> Fill:
    """Structs with arrays of structs in them, whose items all go into the same columns."""
    places = _places(cls)
    steps = [
        (places[field.name], field.name, readers.field(field), readers.items(field) if is_by_column(field) else None)
        for field in fields
    ]

    def fill(buffer: Frame, position: int, count: int, columns: list[Any]) -> int:
        where = ""
        try:
            for _ in range(count):
                for place, name, read, fill_items in steps:
                    where = name
                    value, position = read(buffer, position)
                    if fill_items is None:
                        columns[place].append(value)
                    else:
                        counts, items = columns[place]
                        counts.append(value)
                        position = fill_items(buffer, position, value, items)
                if flexible:
                    where = "tags"
                    position = readers.skip_tags(buffer, position) if buffer[position] else position + 1
        except (StructError, IndexError, ValueError) as cause:
            raise Broken(min(position, len(buffer)), f"{cls.__name__}.{where}: {readers.reason(cause)}") from cause
        return position

    return fill


@cache
def _places(cls: type) -> dict[str, int]:
    return {field.name: place for place, field in enumerate(fields_of(cls))}


def class_of(field: Field) -> type[Any]:
    """The struct whose array a field is."""
    assert isinstance(field.kind, Array)  # noqa: S101  for the type checker
    assert isinstance(field.kind.item, Nested)  # noqa: S101
    return field.kind.item.cls
