"""The times whose snapshots a question needs, so that files with other snapshots are not opened."""

from collections import defaultdict
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa

from kafka_lagoon.frozen import frozen
from kafka_lagoon.tables.table import Table

_CAPTURED_AT = "captured_at"
_CLUSTER = "cluster"
_WHOLE = 32  # characters: bounds of longer strings may be shortened in a log
_ALWAYS = datetime.max.replace(tzinfo=UTC)


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
class Newest:
    """The newest snapshots of each cluster that had begun at one of these times; None is now."""

    times: Sequence[datetime | None]
    number: int = 2  # snapshots of each cluster: with the newest the one before it


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


@frozen(kw_only=False)
class _FileOfCluster:
    """A file with snapshots of one cluster, by its log."""

    number: int
    first: datetime
    last: datetime
    records: int | None


def with_newest(newest: Newest, added: pa.Table) -> pa.Array:
    """The numbers of the files that may have these snapshots, of the log of table snapshots.

    A file is left out if it has snapshots of a single cluster, and files with later ones have all that are needed.
    """
    bounds = zip(_bounds(added, "min"), _bounds(added, "max"), added["num_records"].to_pylist(), strict=True)
    needed, of_clusters = set[int](), defaultdict[str, list[_FileOfCluster]](list)
    for number, (cluster, (first, last, records)) in enumerate(zip(_only_clusters(added), bounds, strict=True)):
        if cluster is None or first is None or last is None:
            needed.add(number)
        else:
            of_clusters[cluster].append(_FileOfCluster(number, first, last, records))
    for time in newest.times:
        until = time or _ALWAYS
        for files in of_clusters.values():
            begin = _begin_of(newest.number, files, until)
            needed.update(file.number for file in files if file.first <= until and begin <= file.last)
    return pa.array(sorted(needed), pa.int64())


def times_of_newest(newest: Newest, added: pa.Table) -> Window | None:
    """The times of the files that may have these snapshots; None if the log does not tell the times of one of them."""
    least, greatest = _bounds(added, "min"), _bounds(added, "max")
    spans = dict.fromkeys((least[file], greatest[file]) for file in with_newest(newest, added).to_pylist())
    known = [Span(begin=begin, end=end) for begin, end in spans if begin and end and begin <= end]
    return known if len(known) == len(spans) else None


def _begin_of(number: int, files: Sequence[_FileOfCluster], until: datetime) -> datetime:
    """A time from which on so many snapshots of these files began, not after `until`; if there are so many."""
    counted = 0
    for file in sorted(files, key=lambda file: file.first, reverse=True):
        if file.first <= until:
            counted += file.records if file.records and file.last <= until else 1
        if counted >= number:
            return file.first
    return datetime.min.replace(tzinfo=UTC)


def _only_clusters(added: pa.Table) -> Sequence[str | None]:
    """The cluster of each file; None if there are several, or if the log does not tell."""
    pairs = zip(_values(added, "min", _CLUSTER), _values(added, "max", _CLUSTER), strict=True)
    return [least if least == greatest and len(least or "") < _WHOLE else None for least, greatest in pairs]


def condition(window: Window, kind: str = "TIMESTAMPTZ") -> str:
    """The condition, in SQL, that a row is of the window; `kind` is the engine's name of the type of times."""
    return " OR ".join(
        f"{_CAPTURED_AT} BETWEEN {kind} '{span.begin.astimezone(UTC).isoformat()}' "
        f"AND {kind} '{span.end.astimezone(UTC).isoformat()}'"
        for span in window
    )


def _bounds(added: pa.Table, name: str) -> Sequence[datetime | None]:
    return _values(added, name, _CAPTURED_AT)


def _values(added: pa.Table, bound: str, column: str) -> Sequence[Any]:
    """The bounds of a column, as the log has them for each file."""
    if bound not in added.column_names or not added.num_rows:
        return [None] * added.num_rows
    struct = added[bound].combine_chunks()
    if not pa.types.is_struct(struct.type) or struct.type.get_field_index(column) < 0:
        return [None] * added.num_rows
    bounds: Sequence[Any] = struct.field(column).to_pylist()
    return bounds


def _with_whole_day(span: Span) -> Span:
    begin = span.begin.astimezone(UTC)
    return Span(begin=begin.replace(hour=0, minute=0, second=0, microsecond=0), end=span.end)
