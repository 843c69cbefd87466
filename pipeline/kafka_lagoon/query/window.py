"""The times whose snapshots a question needs, so that files with other snapshots are not opened."""

from collections.abc import Sequence
from datetime import UTC, datetime

import pyarrow as pa

from kafka_lagoon.frozen import frozen
from kafka_lagoon.tables.table import Table

_CAPTURED_AT = "captured_at"


@frozen
class Span:
    """Snapshots that began between two times, both included."""

    begin: datetime
    end: datetime

    def __post_init__(self) -> None:
        if self.end < self.begin:
            raise ValueError(f"a span cannot end at {self.end}, before it begins at {self.begin}")

    def share(self, least: datetime, greatest: datetime) -> float:
        """The part of the time between two bounds that the span has, from 0 to 1."""
        if greatest < self.begin or self.end < least:
            return 0.0
        if least == greatest:
            return 1.0
        return (min(greatest, self.end) - max(least, self.begin)) / (greatest - least)


Window = Sequence[Span]  # one span per cluster, say: what lies between them is not needed


@frozen
class Pruned:
    """The numbers of the files that may have rows of a window, and about how many such rows there are, None if unknown."""

    files: pa.Array
    rows: int | None


def of_table(table: Table, window: Window) -> Window | None:
    """The times of a table's rows that a window needs; None if the table's rows are of no snapshot.

    A table that is written when it changes has the rows of a snapshot in an earlier snapshot of the same UTC day.
    """
    if not any(column.name == _CAPTURED_AT for column in table.columns):
        return None
    return [_with_whole_day(span) for span in window] if table.when_changed else window


def pruned(window: Window, added: pa.Table) -> Pruned:
    """The files of a table's log, as deltalake returns them, that may have rows of a window; one without bounds may."""
    least, greatest = _bounds(added, "min"), _bounds(added, "max")
    files, rows, is_known = list[int](), 0.0, True
    for number, records in enumerate(added["num_records"].to_pylist()):
        begin, end = least[number], greatest[number]
        if begin is None or end is None or records is None:
            files.append(number)
            is_known = False
        elif any(begin <= span.end and span.begin <= end for span in window):
            files.append(number)
            rows += records * min(1.0, sum(span.share(begin, end) for span in window))
    return Pruned(files=pa.array(files, pa.int64()), rows=round(rows) if is_known else None)


def condition(window: Window) -> str:
    """The condition, in SQL, that a row is of the window."""
    return " OR ".join(
        f"{_CAPTURED_AT} BETWEEN TIMESTAMPTZ '{span.begin.astimezone(UTC).isoformat()}' "
        f"AND TIMESTAMPTZ '{span.end.astimezone(UTC).isoformat()}'"
        for span in window
    )


def _bounds(added: pa.Table, name: str) -> Sequence[datetime | None]:
    nothing = [None] * added.num_rows
    if name not in added.column_names or not added.num_rows:
        return nothing
    struct = added[name].combine_chunks()
    if not pa.types.is_struct(struct.type) or struct.type.get_field_index(_CAPTURED_AT) < 0:
        return nothing
    bounds: Sequence[datetime | None] = struct.field(_CAPTURED_AT).to_pylist()
    return bounds


def _with_whole_day(span: Span) -> Span:
    begin = span.begin.astimezone(UTC)
    return Span(begin=begin.replace(hour=0, minute=0, second=0, microsecond=0), end=span.end)
