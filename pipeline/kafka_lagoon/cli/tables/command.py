"""Declares what a command over the tables is: its options, the relations that it reads, and its answer."""

import argparse
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from kafka_lagoon.cli.tables.snapshots import ChosenSnapshot
from kafka_lagoon.query.statements import Ask
from kafka_lagoon.times import Moment

Value = int | str  # what a question mark may stand for


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """What a command runs with; `snapshots` are those that it is about, one per cluster."""

    ask: Ask
    options: argparse.Namespace
    snapshots: Sequence[ChosenSnapshot]
    now_ms: int

    def instant(self, moment: Moment) -> datetime:
        """A time of the options, which may be relative to now."""
        return datetime.fromtimestamp(moment.at_ms(self.now_ms) / 1000, UTC)

    def limit(self) -> str:
        """The LIMIT clause for --number, or nothing."""
        number: int | None = self.options.number
        return "" if number is None else f"LIMIT {number:d}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """Conditions of a WHERE clause that must all hold, with the values of their question marks."""

    parts: tuple[str, ...] = ()
    values: tuple[Value, ...] = ()

    def also(self, part: str, *values: Value) -> "Condition":
        """These, and one more."""
        return Condition(parts=(*self.parts, part), values=(*self.values, *values))

    def among(self, column: str, wanted: Sequence[Value] | None) -> "Condition":
        """These, and a column that has one of the values; without any wish it may have all.

        DuckDB passes an equality on through the joins of a view, but not a list: one value costs a quarter of it.
        """
        if wanted is None:
            return self
        return self.also(f"{column} = ?" if len(wanted) == 1 else f"{column} IN ({_marks(wanted)})", *wanted)

    def __str__(self) -> str:
        return " AND ".join(self.parts) or "true"


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """Rows of one kind: scripts see every column of the statement, people those in `columns`, or with --wide in `wide`."""

    kind: str
    statement: str
    values: Sequence[Value]
    columns: Sequence[str]
    wide: Sequence[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """Parts in the order in which they are shown, and why the exit code is 3: read after all rows are printed."""

    parts: Sequence[Part]
    complaints: Iterable[str] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class TableCommand:
    """A command; `relations` are the tables and views that its statements name."""

    name: str
    summary: str
    relations: Sequence[str]
    declare: Callable[[argparse.ArgumentParser], None]
    answer: Callable[[Context], Answer]


def _marks(values: Sequence[Value]) -> str:
    """A question mark for each value, or what is in no list."""
    return ", ".join("?" for _ in values) or "NULL"


def of_snapshots(chosen: Sequence[ChosenSnapshot]) -> Condition:
    """Rows of these snapshots; the date is the tables' partition column, so no other day is opened."""
    days = sorted({f"DATE '{snapshot.snapshot_date}'" for snapshot in chosen})
    return (
        Condition()
        .among("cluster", [one.cluster for one in chosen])
        .also(f"snapshot_date = {days[0]}" if len(days) == 1 else f"snapshot_date IN ({', '.join(days)})")
        .among("snapshot_id", [one.snapshot_id for one in chosen])
    )


def whole_match(column: str, pattern: str) -> tuple[str, str]:
    """A condition that the whole text of a column matches, which both engines know, and the value of its question mark."""
    return f"{column} <> '' AND regexp_extract({column}, ?, 0) = {column}", f"^(?:{pattern})$"
