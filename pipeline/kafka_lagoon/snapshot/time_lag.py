"""Adds to the rows of consumer lag how old the first record is that a group has not read.

Rows whose commit is at the end of the log need no request. The others become positions, each once for all groups that are
there, the largest lag first: where not all can be measured, those that hurt most are.
"""

from array import array
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import compress
from typing import Any

from kafka_lagoon.client.cluster import TopicPartition
from kafka_lagoon.client.failures import Failure
from kafka_lagoon.fetch.unread_positions import FirstUnread, Outcome, Position, UnreadRecords
from kafka_lagoon.row_columns import Chosen, Column, Columns, WithColumns, column_of
from kafka_lagoon.snapshot.state_rows import ConsumerLagRow, PartitionOffsetsRow

EXACT, NEXT_AFTER_GAP, CAUGHT_UP = "exact", "next_after_gap", "caught_up"
BELOW_LOG_START, BLOCKED = "below_log_start", "blocked_by_open_transaction"
BATCH_BOUND, INTERPOLATED, UNREADABLE, NOT_MEASURED = "batch_bound", "interpolated", "unreadable", "not_measured"
COMMIT_PAST_END, IN_TIERED_STORAGE = "COMMIT_PAST_END", "IN_TIERED_STORAGE"
NO_TIMESTAMP, TIME_LAG_OFF = "NO_TIMESTAMP", "TIME_LAG_OFF"

Measure = Callable[[Sequence[Position]], UnreadRecords]
Given = tuple[Any, ...]  # the values of the added columns

_TIMESTAMP_TYPES = {0: "create_time", 1: "log_append_time"}
_METHODS = {
    Outcome.NOTHING: CAUGHT_UP,
    Outcome.BOUND: BATCH_BOUND,
    Outcome.INTERPOLATED: INTERPOLATED,
    Outcome.UNREADABLE: UNREADABLE,
    Outcome.NOT_READ: NOT_MEASURED,
}
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


@dataclass(frozen=True, slots=True, kw_only=True)
class TimedLag:
    """Rows of consumer lag with their age, and what failed."""

    rows: Columns[ConsumerLagRow]
    failures: Sequence[Failure]


@dataclass(slots=True)
class _Wanted:
    """Rows with a lag, by row number: what each is to be given, or whose position says it.

    A position is kept once with and once without its commit being below the log's start.
    """

    known: dict[int, Given] = field(default_factory=dict)
    places: dict[tuple[Position, bool], list[int]] = field(default_factory=dict)


def with_time_lag(
    rows: Columns[ConsumerLagRow],
    last_epochs: Sequence[int | None],
    local_starts: Mapping[TopicPartition, int],
    measure: Measure | None,
) -> TimedLag:
    """The same rows with their time lag; `last_epochs` are the leader epochs of their commits.

    `local_starts` are where the leader's own disk begins, of partitions that have older records in tiered storage. Without
    `measure` only rows without a lag are known.
    """
    if measure is None:
        return TimedLag(rows=_Unmeasured(rows), failures=())
    lags = column_of(rows, "lag")
    wanted = _wanted(rows, lags, last_epochs, local_starts)
    given: list[Given] = [_NULL, _CAUGHT_UP]
    places = array("i", [1 if lag == 0 else 0 for lag in lags])
    for row, values in wanted.known.items():
        places[row] = len(given)
        given.append(values)
    failures: Sequence[Failure] = ()
    if wanted.places:
        positions = sorted(dict.fromkeys(position for position, _ in wanted.places), key=_by_lag)
        measured = measure(positions)
        failures = measured.failures
        for (position, is_below), several in wanted.places.items():
            for row in several:
                places[row] = len(given)
            given.append(_values(measured.first[position], position.offset, is_below=is_below))
    columns = {name: Chosen(places, [values[number] for values in given]) for number, name in enumerate(_ADDED)}
    return TimedLag(rows=WithColumns(rows, **columns), failures=failures)


def _by_lag(position: Position) -> int:
    return position.offset - position.high_watermark


# Hot: of two million rows all may be behind.
def _wanted(
    rows: Columns[ConsumerLagRow],
    lags: Sequence[int | None],
    last_epochs: Sequence[int | None],
    local_starts: Mapping[TopicPartition, int],
) -> _Wanted:
    wanted = _Wanted()
    known, places = wanted.known, wanted.places
    columns = [column_of(rows, name) for name in _READ]
    for row, lag, epoch, topic, partition, offset, start, stable, end in compress(
        zip(range(len(rows)), lags, last_epochs, *columns, strict=True), lags
    ):
        is_below = start is not None and offset < start
        first = start if is_below else offset
        if lag < 0:
            known[row] = _unknown(UNREADABLE, COMMIT_PAST_END)
        elif local_starts and first < local_starts.get(TopicPartition(topic, partition), 0):
            known[row] = _unknown(NOT_MEASURED, IN_TIERED_STORAGE)
        else:
            last_epoch = -1 if is_below or epoch is None else epoch
            is_blocked = stable is not None and first >= stable
            position = Position(topic, partition, first, last_epoch, is_blocked, end)
            places.setdefault((position, is_below), []).append(row)
    return wanted


class _Unmeasured(Columns[ConsumerLagRow]):
    """Rows of consumer lag whose time lag is what their lag says alone; each column is made when it is asked for."""

    row = ConsumerLagRow

    def __init__(self, rows: Columns[ConsumerLagRow]) -> None:
        self._rows = rows
        self._last: tuple[int, int | None, array[int]] = (0, 0, array("i"))
        self._by_lag = (
            _NULL,
            _CAUGHT_UP,
            _unknown(UNREADABLE, COMMIT_PAST_END),
            _unknown(NOT_MEASURED, TIME_LAG_OFF),
        )

    def __len__(self) -> int:
        return len(self._rows)

    def column(self, name: str, start: int = 0, stop: int | None = None) -> Column:
        """An added column, or one of the rows themselves."""
        if name not in _ADDED:
            return self._rows.column(name, start, stop)
        number = _ADDED.index(name)
        return Chosen(self._places(start, stop), tuple(values[number] for values in self._by_lag))

    def _places(self, start: int, stop: int | None) -> "array[int]":
        """The place in `_by_lag` of each row; kept for the next column of the same rows."""
        if self._last[:2] != (start, stop):
            lags = self._rows.column("lag", start, stop)
            places = array("i", [0 if lag is None else 1 if lag == 0 else 2 if lag < 0 else 3 for lag in lags])
            self._last = (start, stop, places)
        return self._last[2]


def _unknown(method: str, problem: str) -> Given:
    return None, method, None, problem, None, None


def _values(first: FirstUnread, fetched_offset: int, *, is_below: bool) -> Given:
    """The added columns of a row, from what was learned of its position."""
    if first.outcome in (Outcome.UNREADABLE, Outcome.NOT_READ):
        return _unknown(_METHODS[first.outcome], first.problem or "")
    if first.outcome is Outcome.NOTHING:
        return (0, BELOW_LOG_START, None, None, None, None) if is_below else _CAUGHT_UP
    method = _METHODS.get(first.outcome) or _method_of_record(first, fetched_offset, is_below=is_below)
    timestamp_type = None if first.timestamp_type is None else _TIMESTAMP_TYPES.get(first.timestamp_type)
    if first.timestamp_ms is None or first.read_at_ms is None or first.timestamp_ms == -1:
        return None, method, None, NO_TIMESTAMP, first.offset, None
    time_lag_ms = first.read_at_ms - first.timestamp_ms
    return time_lag_ms, method, first.timestamp_ms, None, first.offset, timestamp_type


def _method_of_record(first: FirstUnread, fetched_offset: int, *, is_below: bool) -> str:
    if is_below:
        return BELOW_LOG_START
    if first.is_blocked:
        return BLOCKED
    return EXACT if first.offset == fetched_offset else NEXT_AFTER_GAP


def local_starts(offsets: Sequence[PartitionOffsetsRow]) -> dict[TopicPartition, int]:
    """Where a leader's own disk begins, of the partitions that have older records in tiered storage."""
    names = ("topic", "partition", "log_start_offset", "local_log_start_offset")
    return {
        TopicPartition(topic, partition): local
        for topic, partition, first, local in zip(*(column_of(offsets, name) for name in names), strict=True)
        if local is not None and first is not None and local > first
    }
