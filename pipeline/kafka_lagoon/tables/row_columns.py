"""Keeps the rows of large tables in columns, because two million row objects take too much memory.

`Columns` is a sequence of rows that are made on demand: as columns for files, as row objects for iteration.
"""

import dataclasses
from abc import abstractmethod
from array import array
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate, chain, repeat
from operator import attrgetter
from typing import Any, TypeVar, cast, overload

T = TypeVar("T")

Column = Sequence[Any]  # one value per row, None for null
BLOCK = 1 << 18  # rows of one piece of a file
_FEW = 1 << 13  # rows whose columns are all in memory at the same time


class Chosen(Sequence[Any]):
    """A column that refers to a list of values: each row has an index into `values`, or -1 for null."""

    __slots__ = ("places", "values")

    def __init__(self, places: "array[int]", values: Sequence[Any]) -> None:
        self.places, self.values = places, values

    def __len__(self) -> int:
        return len(self.places)

    def __sub__(self, other: "Chosen") -> "Difference":
        return Difference(self, other)

    def __iter__(self) -> Iterator[Any]:
        values = self.values
        if min(self.places, default=0) >= 0:
            return map(values.__getitem__, self.places)
        return (None if place < 0 else values[place] for place in self.places)

    @overload
    def __getitem__(self, index: int) -> Any: ...
    @overload
    def __getitem__(self, index: slice) -> "Chosen": ...
    def __getitem__(self, index: int | slice) -> Any:
        if isinstance(index, slice):
            return Chosen(self.places[index], self.values)
        place = self.places[index]
        return None if place < 0 else self.values[place]


class Runs(Sequence[Any]):
    """A column in which each of `values` is repeated in consecutive rows, as often as `counts` has it."""

    __slots__ = ("_counts", "_ends", "values")

    def __init__(self, counts: Iterable[int], values: Sequence[Any]) -> None:
        self.values, self._counts = values, list(counts)
        self._ends = list(accumulate(self._counts))

    @classmethod
    def constant(cls, value: Any, count: int) -> "Runs":
        """Make a column with the same value for each of `count` rows."""
        return cls((count,), (value,))

    def __len__(self) -> int:
        return self._ends[-1] if self._ends else 0

    def __iter__(self) -> Iterator[Any]:
        return chain.from_iterable(map(repeat, self.values, self._counts))

    @overload
    def __getitem__(self, index: int) -> Any: ...
    @overload
    def __getitem__(self, index: slice) -> Chosen: ...
    def __getitem__(self, index: int | slice) -> Any:
        if not isinstance(index, slice):
            return self.values[bisect_right(self._ends, range(len(self))[index])]
        start, stop, step = index.indices(len(self))
        if step != 1:
            return self.chosen()[index]
        first, places = bisect_right(self._ends, start), array("i")
        for place in range(first, len(self._ends)):
            if start >= stop:
                break
            end = min(stop, self._ends[place])
            places += array("i", (place,)) * (end - start)
            start = end
        return Chosen(places, self.values)

    def chosen(self) -> Chosen:
        """The same column with a number per row."""
        return self[:]


class Difference(Sequence[Any]):
    """The difference of two columns: null if either is null, and not below `least` if that is given."""

    __slots__ = ("least", "minuend", "subtrahend")

    def __init__(self, minuend: Chosen, subtrahend: Chosen, least: int | None = None) -> None:
        self.minuend, self.subtrahend, self.least = minuend, subtrahend, least

    def __len__(self) -> int:
        return len(self.minuend)

    def at_least(self, least: int) -> "Difference":
        """Replace differences below `least` by `least`."""
        return Difference(self.minuend, self.subtrahend, least)

    def __iter__(self) -> Iterator[int | None]:
        for left, right in zip(self.minuend, self.subtrahend, strict=True):
            if left is None or right is None:
                yield None
            else:
                yield left - right if self.least is None else max(self.least, left - right)

    @overload
    def __getitem__(self, index: int) -> int | None: ...
    @overload
    def __getitem__(self, index: slice) -> "Difference": ...
    def __getitem__(self, index: int | slice) -> Any:
        if isinstance(index, slice):
            return Difference(self.minuend[index], self.subtrahend[index], self.least)
        return next(iter(self[index : index + 1 or None]))


class Columns(Sequence[T]):
    """Rows of one class, kept in columns. It is equal to any sequence of equal rows."""

    row: type[T]

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def column(self, name: str, start: int = 0, stop: int | None = None) -> Column:
        """Return the values of a field in the rows from `start` to `stop`."""

    def blocks(self, size: int = BLOCK) -> Iterator[Sequence[T]]:
        """Yield the rows in pieces of at most `size` rows."""
        for start in range(0, len(self), size):
            yield self[start : start + size]

    def __iter__(self) -> Iterator[T]:
        for block in self.blocks(_FEW):
            yield from map(self.row, *(column_of(block, name) for name in _names(self.row)))

    @overload
    def __getitem__(self, index: int) -> T: ...
    @overload
    def __getitem__(self, index: slice) -> "Columns[T]": ...
    def __getitem__(self, index: int | slice) -> Any:
        if isinstance(index, slice):
            start, stop, step = index.indices(len(self))
            return _Range(self, start, max(start, stop)) if step == 1 else list(self)[index]
        index = range(len(self))[index]
        return self.row(*(self.column(name, index, index + 1)[0] for name in _names(self.row)))

    def __eq__(self, other: object) -> bool:
        return list(self) == list(other) if isinstance(other, Sequence) else NotImplemented

    __hash__ = None  # type: ignore[assignment]


class _Range(Columns[T]):
    """A range of rows of another sequence."""

    def __init__(self, rows: Columns[T], start: int, stop: int) -> None:
        self.row, self._rows, self._start, self._stop = rows.row, rows, start, stop

    def __len__(self) -> int:
        return self._stop - self._start

    def column(self, name: str, start: int = 0, stop: int | None = None) -> Column:
        begin, end, _ = slice(start, stop).indices(len(self))
        return self._rows.column(name, self._start + begin, self._start + max(begin, end))


class Joined(Columns[T]):
    """Rows of several sequences, one after the other; each may be kept by column or be row objects."""

    def __init__(self, row: type[T], *parts: Sequence[T]) -> None:
        self.row, self._parts = row, [part for part in parts if len(part)]

    def __len__(self) -> int:
        return sum(map(len, self._parts))

    def column(self, name: str, start: int = 0, stop: int | None = None) -> Column:
        """Return the values of all parts in that range."""
        if len(self._parts) == 1:
            return column_of(self._parts[0], name)[start:stop]
        values = list(chain.from_iterable(column_of(part, name) for part in self._parts))
        return values[start:stop]

    def blocks(self, size: int = BLOCK) -> Iterator[Sequence[T]]:
        """Yield the rows in pieces; no piece has rows of two parts."""
        for part in self._parts:
            yield from blocks(part, size)


class WithColumns(Columns[T]):
    """Rows of another sequence, with some columns replaced."""

    def __init__(self, rows: Columns[T], **given: Column) -> None:
        self.row, self._rows, self._given = rows.row, rows, given
        for name, values in given.items():
            if len(values) != len(rows):
                raise ValueError(f"column {name}: {len(values)} values for {len(rows)} rows")

    def __len__(self) -> int:
        return len(self._rows)

    def column(self, name: str, start: int = 0, stop: int | None = None) -> Column:
        """Return the replaced column, or the column of the rows."""
        values = self._given.get(name)
        return self._rows.column(name, start, stop) if values is None else values[start:stop]


class Stored(Columns[T]):
    """Rows whose columns are all in memory."""

    def __init__(self, row: type[T], columns: Mapping[str, Column]) -> None:
        self.row, self._columns = row, columns

    def __len__(self) -> int:
        return len(next(iter(self._columns.values())))

    def column(self, name: str, start: int = 0, stop: int | None = None) -> Column:
        """Return the stored column, or a copy of a part of it."""
        whole = self._columns[name]
        return whole if (start, stop) == (0, None) else whole[start:stop]


def column_of(rows: Sequence[Any], name: str) -> Column:
    """Return the values of a field, for rows that are kept in columns or are objects."""
    return rows.column(name) if isinstance(rows, Columns) else list(map(attrgetter(name), rows))


def blocks(rows: Sequence[T], size: int = BLOCK) -> Iterator[Sequence[T]]:
    """Yield rows in pieces of at most `size`; row objects are one piece, because they are in memory anyway."""
    if isinstance(rows, Columns):
        yield from cast("Columns[T]", rows).blocks(size)
    elif rows:
        yield rows


def choose(values: Iterable[Any]) -> Chosen:
    """Make a column of hashable values that stores equal values once."""
    known: dict[Any, int] = {}
    places = array("i", (known.setdefault(value, len(known)) for value in values))
    return Chosen(places, tuple(known))


def _names(row: type[Any]) -> tuple[str, ...]:
    return tuple(field.name for field in dataclasses.fields(row))


def or_none(values: "array[int]") -> Column:
    """Replace Kafka's -1 by null; numbers without -1 are returned as they are."""
    return values if not values or min(values) >= 0 else [None if value < 0 else value for value in values]
