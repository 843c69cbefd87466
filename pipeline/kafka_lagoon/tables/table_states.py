"""Records the result of the collection of each table, and the snapshot that has stored its rows.

A table that changes slowly is stored only if it differs from the last published snapshot of the same UTC day; otherwise the
snapshot refers to the one that stored it. Only collections without failures are compared, by a digest of all rows.
"""

import dataclasses
import hashlib
import marshal
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from operator import attrgetter
from types import NoneType
from typing import Any, Protocol, runtime_checkable

from kafka_lagoon.frozen import frozen
from kafka_lagoon.tables.row_columns import column_of
from kafka_lagoon.tables.snapshot_rows import TableState

COMPLETE, PARTIAL, FAILED, SKIPPED, NOT_OFFERED = "complete", "partial", "failed", "skipped", "not_offered"
_DAY_MS = 86_400_000
_WITHOUT_REFERENCES = 2  # version of marshal whose bytes depend only on the values


@frozen
class StoredTable:
    """Rows that an earlier snapshot has stored: its id, its start, and the digest of the rows."""

    snapshot_id: str
    captured_at_ms: int
    digest: str

    def holds(self, digest: str | None, captured_at_ms: int) -> bool:
        """Return True if a snapshot that began at that time may refer to these rows: same digest, same UTC day, not later.

        Readers of a snapshot open the rows of its day up to its own time. Rows are later if a clock was ahead and is set back.
        """
        midnight_ms = captured_at_ms - captured_at_ms % _DAY_MS
        return digest == self.digest and midnight_ms <= self.captured_at_ms <= captured_at_ms


@runtime_checkable
class Condensed(Protocol):
    """Rows that are kept without repeated values."""

    def content(self) -> Iterable[object]:
        """Return the values of the rows in their order; equal for equal rows only."""


def digest_of(rows: Sequence[Any], row: type[Any]) -> str:
    """Compute a digest of all columns of rows in their order; equal for equal rows only."""
    fields = (list(column_of(rows, field.name)) for field in dataclasses.fields(row))
    return _digest(rows.content() if isinstance(rows, Condensed) else fields)


def _digest(values: Iterable[object]) -> str:
    digest = hashlib.blake2b(digest_size=16)
    for value in values:
        digest.update(marshalled(value))
    return digest.hexdigest()


def marshalled(value: Any) -> bytes:
    """Encode plain values, rows, and sequences of them; equal for equal values only."""
    try:
        return marshal.dumps(value, _WITHOUT_REFERENCES)
    except ValueError:  # the value contains rows
        return marshal.dumps(_plain(value), _WITHOUT_REFERENCES)


def _plain(value: Any) -> Any:
    """Convert a value to types that marshal knows."""
    kind = type(value)
    if kind in (str, NoneType, bool, int):
        return value
    if kind in (tuple, list):
        return kind(map(_plain, value))
    values = _values_of(kind)  # type: ignore[arg-type]  # the class is hashable, its values are not
    return tuple(map(_plain, values(value))) if values else value


@cache
def _values_of(kind: type[Any]) -> Callable[[Any], tuple[Any, ...]] | None:
    """Make a function that returns the values of a row; None if the class is not a row class."""
    if not dataclasses.is_dataclass(kind):
        return None
    first, *others = (field.name for field in dataclasses.fields(kind))
    return attrgetter(first, *others) if others else lambda row: (getattr(row, first),)


def table_state(
    name: str, outcome: str, row_count: int, snapshot_id: str, digest: str | None = None, stored_in: str | None = None
) -> TableState:
    """Make the state of a table whose rows are stored under this snapshot's id, or those of `stored_in`."""
    return TableState(
        table_name=name,
        outcome=outcome,
        row_count=row_count,
        stored_in=stored_in or snapshot_id,
        digest=digest,
    )
