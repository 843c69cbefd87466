"""Adds the age of the first unread record to the rows of consumer lag.

Rows whose commit is at the end of the log need no request. The others become positions, each once for all groups that read
there, ordered by lag from the largest: where not all can be measured, the most urgent are.
"""

import math
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import compress, islice
from operator import lt, sub
from typing import Any

from kafka_lagoon.client.failures import Failure
from kafka_lagoon.fetch.unread_positions import (
    BUDGET_USED_UP,
    FirstUnread,
    FirstUnreadOutcome,
    Position,
    UnreadRecords,
    not_read,
)
from kafka_lagoon.frozen import frozen
from kafka_lagoon.integers import MOST_INT64
from kafka_lagoon.tables.cluster_rows import PartitionOffsetsRow
from kafka_lagoon.tables.group_rows import ConsumerLagRow
from kafka_lagoon.tables.row_columns import Chosen, Column, Columns, WithColumns, column_of
from kafka_lagoon.topic_partition import TopicPartition

EXACT, NEXT_AFTER_GAP, CAUGHT_UP = "exact", "next_after_gap", "caught_up"
BELOW_LOG_START, BLOCKED = "below_log_start", "blocked_by_open_transaction"
BATCH_BOUND, INTERPOLATED, UNREADABLE, NOT_MEASURED = "batch_bound", "interpolated", "unreadable", "not_measured"
COMMIT_PAST_END, IN_TIERED_STORAGE = "COMMIT_PAST_END", "IN_TIERED_STORAGE"
NO_TIMESTAMP, TIMESTAMP_OUT_OF_RANGE, TIME_LAG_OFF = "NO_TIMESTAMP", "TIMESTAMP_OUT_OF_RANGE", "TIME_LAG_OFF"

Measure = Callable[[Sequence[Position]], UnreadRecords]  # positions come with the largest lag first
Given = tuple[Any, ...]  # values of the added columns

_TIMESTAMP_TYPES = {0: "create_time", 1: "log_append_time"}
_METHODS = {
    FirstUnreadOutcome.NOTHING: CAUGHT_UP,
    FirstUnreadOutcome.BOUND: BATCH_BOUND,
    FirstUnreadOutcome.INTERPOLATED: INTERPOLATED,
    FirstUnreadOutcome.UNREADABLE: UNREADABLE,
    FirstUnreadOutcome.NOT_READ: NOT_MEASURED,
}
_PIECE = 1 << 16  # rows whose values are in memory at the same time
_NOTHING_MEASURED = UnreadRecords(first={}, failures=(), bytes_fetched=0)
_ADDED = (
    "time_lag_ms",
    "time_lag_method",
    "first_unread_timestamp_ms",
    "time_lag_problem",
    "first_unread_offset",
    "first_unread_timestamp_type",
)
_READ = ("topic", "partition", "committed_offset", "log_start_offset", "last_stable_offset", "high_watermark")
_NULL = (None,) * len(_ADDED)
_CAUGHT_UP = (0, CAUGHT_UP, None, None, None, None)
_PAST_END = (None, UNREADABLE, None, COMMIT_PAST_END, None, None)
_BY_LAG = (_NULL, _CAUGHT_UP, _PAST_END)  # for rows whose lag is unknown, 0, and negative


@frozen(kw_only=False)
class Limited:
    """Measures at most `most` positions. Of millions, the others are not even created."""

    measure: Measure
    most: int

    def __call__(self, positions: Sequence[Position]) -> UnreadRecords:
        """Measure the first positions; the rest are marked as not read."""
        some, rest = positions[: self.most], positions[self.most :]
        unread = self.measure(some)
        first = {**unread.first, **not_read(rest, BUDGET_USED_UP)}
        return UnreadRecords(first=first, failures=unread.failures, bytes_fetched=unread.bytes_fetched)


@frozen
class TimedLag:
    """Rows of consumer lag with time lag, and the failures of measuring it."""

    rows: Columns[ConsumerLagRow]
    failures: Sequence[Failure]


@dataclass(slots=True)
class _Wanted:
    """Rows with a lag by row number, each with the number of the position that its group reads next.

    Groups that read on at the same offset of a partition share a number. A number has a position, or None if the record is in
    tiered storage, and whether the commit is below the log start.
    """

    rows: "array[int]" = field(default_factory=lambda: array("i"))
    number_of: "array[int]" = field(default_factory=lambda: array("i"))
    numbers: dict[tuple[Any, ...], int] = field(default_factory=dict)
    positions: list[tuple[Position | None, bool]] = field(default_factory=list)

    def distinct(self) -> list[Position]:
        """The positions, each once."""
        return list(dict.fromkeys(position for position, _ in self.positions if position))


def with_time_lag(
    rows: Columns[ConsumerLagRow],
    last_epochs: Sequence[int | None],
    local_starts: Mapping[TopicPartition, int],
    measure: Measure | None,
) -> TimedLag:
    """Return the rows with their time lag; `last_epochs` are the leader epochs of their commits.

    `local_starts` are the first offsets on the leaders' own disks, for partitions with older records in tiered storage.
    Without `measure`, only rows without a lag are known.
    """
    if measure is None:
        return TimedLag(rows=_Unmeasured(rows), failures=())
    most = measure.most if isinstance(measure, Limited) else None
    lags = column_of(rows, "lag")
    wanted = _wanted(rows, last_epochs, local_starts, most)
    given: list[Given] = [*_BY_LAG, _unknown(NOT_MEASURED, BUDGET_USED_UP)]
    places = _places_by_lag(lags)
    first = len(given)
    for row, number in zip(wanted.rows, wanted.number_of, strict=True):
        places[row] = first + number
    positions = sorted(wanted.distinct(), key=_by_lag)
    measured = measure(positions) if positions else _NOTHING_MEASURED
    for position, is_below in wanted.positions:
        given.append(
            _values(measured.first[position], position.offset, is_below=is_below)
            if position
            else _unknown(NOT_MEASURED, IN_TIERED_STORAGE)
        )
    columns = {name: Chosen(places, [values[number] for values in given]) for number, name in enumerate(_ADDED)}
    return TimedLag(rows=WithColumns(rows, **columns), failures=measured.failures)


def _by_lag(position: Position) -> int:
    return position.offset - position.high_watermark


def _places_by_lag(lags: Iterable[int | None]) -> "array[int]":
    """The index into `_BY_LAG` of each row, and one past its end for rows with a lag."""
    return array("i", [0 if lag is None else 1 if lag == 0 else 2 if lag < 0 else 3 for lag in lags])


# Hot: of two million rows, all may have a lag.
def _wanted(
    rows: Columns[ConsumerLagRow],
    last_epochs: Sequence[int | None],
    local_starts: Mapping[TopicPartition, int],
    most: int | None,
) -> _Wanted:
    """The positions of rows with a lag; if there are more than `most`, at least those with the largest lag."""
    wanted, behind = _Wanted(), _Behind()
    for begin in range(0, len(rows), _PIECE):
        behind.add(rows[begin : begin + _PIECE], last_epochs[begin : begin + _PIECE], begin)
    # Offsets in tiered storage are no positions, so the number of positions is not known in advance.
    for least, limit in _spans(behind.unread, None if local_starts else most):
        is_chosen = [least <= records < limit for records in behind.unread]
        wanted.rows.extend(compress(behind.numbers, is_chosen))
        _add(wanted, compress(zip(*behind.columns(), strict=True), is_chosen), local_starts)
        if most is not None and len(wanted.distinct()) >= most:
            break
    return wanted


class _Behind:
    """Rows with a lag, by column: row numbers, unread records, and the offset that the group reads next.

    Numbers are in arrays, because there may be millions.
    """

    def __init__(self) -> None:
        self.numbers, self.unread = array("i"), array("q")
        self._topics: list[str] = []
        self._partitions, self._firsts, self._epochs = array("i"), array("q"), array("i")
        self._stables: list[int | None] = []
        self._ends: list[int] = []
        self._are_below = array("b")

    def columns(self) -> tuple[Column, ...]:
        """The columns that identify a position."""
        return (
            self._topics,
            self._partitions,
            self._firsts,
            self._epochs,
            self._stables,
            self._ends,
            self._are_below,
        )

    def add(self, rows: Sequence[ConsumerLagRow], last_epochs: Sequence[int | None], begin: int) -> None:
        """Add the rows with a lag of neighbouring rows, whose first has number `begin`."""
        is_behind = [lag is not None and lag > 0 for lag in column_of(rows, "lag")]
        topics, partitions, offsets, starts, stables, ends = (
            list(compress(column_of(rows, name), is_behind)) for name in _READ
        )
        firsts = [
            offset if start is None or offset > start else start for offset, start in zip(offsets, starts, strict=True)
        ]
        are_below = list(map(lt, offsets, firsts))
        self.numbers.extend(compress(range(begin, begin + len(rows)), is_behind))
        self.unread.extend(map(sub, ends, firsts))
        self._topics += topics
        self._partitions.extend(partitions)
        self._firsts.extend(firsts)
        self._epochs.extend(
            -1 if is_below or epoch is None else epoch
            for is_below, epoch in zip(are_below, compress(last_epochs, is_behind), strict=True)
        )
        self._stables += stables
        self._ends += ends
        self._are_below.extend(are_below)


def _spans(unread: Sequence[int], most: int | None) -> Iterator[tuple[float, float]]:
    """Ranges of lag in descending order: of `most` rows, then of twice as many, because several rows may share a position."""
    limit = math.inf
    if most is not None and len(unread) > most:
        ordered = array("q", sorted(unread, reverse=True))
        while most < len(ordered):
            if ordered[most - 1] < limit:
                yield ordered[most - 1], limit
                limit = ordered[most - 1]
            most *= 2
    yield -math.inf, limit


def _add(wanted: _Wanted, rows: Iterable[tuple[Any, ...]], local_starts: Mapping[TopicPartition, int]) -> None:
    """Number the next positions of rows, and add those that are new."""
    numbers, known = wanted.numbers, len(wanted.numbers)
    wanted.number_of.extend([numbers.setdefault(place, len(numbers)) for place in rows])
    for topic, partition, first, last_epoch, stable, end, is_below in islice(numbers, known, None):
        position = None
        if not local_starts or first >= local_starts.get(TopicPartition(topic, partition), 0):
            position = Position(topic, partition, first, last_epoch, stable is not None and first >= stable, end)
        wanted.positions.append((position, bool(is_below)))


class _Unmeasured(Columns[ConsumerLagRow]):
    """Rows of consumer lag with the time lag that follows from lag alone; each column is made when it is asked for."""

    row = ConsumerLagRow

    def __init__(self, rows: Columns[ConsumerLagRow]) -> None:
        self._rows = rows
        self._last: tuple[int, int | None, array[int]] = (0, 0, array("i"))
        self._by_lag = (*_BY_LAG, _unknown(NOT_MEASURED, TIME_LAG_OFF))

    def __len__(self) -> int:
        return len(self._rows)

    def column(self, name: str, start: int = 0, stop: int | None = None) -> Column:
        """An added column, or a column of the rows."""
        if name not in _ADDED:
            return self._rows.column(name, start, stop)
        number = _ADDED.index(name)
        return Chosen(self._places(start, stop), tuple(values[number] for values in self._by_lag))

    def _places(self, start: int, stop: int | None) -> "array[int]":
        """The index into `_by_lag` of each row; kept for the next column of the same rows."""
        if self._last[:2] != (start, stop):
            self._last = (start, stop, _places_by_lag(self._rows.column("lag", start, stop)))
        return self._last[2]


def _unknown(method: str, problem: str) -> Given:
    return None, method, None, problem, None, None


def _values(first: FirstUnread, fetched_offset: int, *, is_below: bool) -> Given:
    """The values of the added columns, from the record found at the position."""
    if first.outcome in (FirstUnreadOutcome.UNREADABLE, FirstUnreadOutcome.NOT_READ):
        return _unknown(_METHODS[first.outcome], first.problem or "")
    if first.outcome is FirstUnreadOutcome.NOTHING:
        return (0, BELOW_LOG_START, None, None, None, None) if is_below else _CAUGHT_UP
    method = _METHODS.get(first.outcome) or _method_of_record(first, fetched_offset, is_below=is_below)
    timestamp_type = None if first.timestamp_type is None else _TIMESTAMP_TYPES.get(first.timestamp_type)
    if first.timestamp_ms is None or first.read_at_ms is None or first.timestamp_ms == -1:
        return None, method, None, NO_TIMESTAMP, first.offset, None
    time_lag_ms = first.read_at_ms - first.timestamp_ms
    if time_lag_ms > MOST_INT64:  # Kafka 2.8 takes any timestamp from producers
        return None, method, first.timestamp_ms, TIMESTAMP_OUT_OF_RANGE, first.offset, timestamp_type
    return time_lag_ms, method, first.timestamp_ms, None, first.offset, timestamp_type


def _method_of_record(first: FirstUnread, fetched_offset: int, *, is_below: bool) -> str:
    if is_below:
        return BELOW_LOG_START
    if first.is_blocked:
        return BLOCKED
    return EXACT if first.offset == fetched_offset else NEXT_AFTER_GAP


def local_starts(offsets: Sequence[PartitionOffsetsRow]) -> dict[TopicPartition, int]:
    """The first offset on the leader's own disk, for partitions that have older records in tiered storage."""
    names = ("topic", "partition", "log_start_offset", "local_log_start_offset")
    return {
        TopicPartition(topic, partition): local
        for topic, partition, first, local in zip(*(column_of(offsets, name) for name in names), strict=True)
        if local is not None and first is not None and local > first
    }
