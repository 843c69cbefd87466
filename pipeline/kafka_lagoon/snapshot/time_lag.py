"""Adds to the rows of consumer lag how old the first record is that a group has not read.

Rows whose commit is at the end of the log need no request. The others become positions, each once for all groups that are
there, the largest lag first: where not all can be measured, those that hurt most are.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kafka_lagoon.client.cluster import TopicPartition
from kafka_lagoon.client.failures import Failure
from kafka_lagoon.fetch.unread_positions import FirstUnread, Outcome, Position, UnreadRecords
from kafka_lagoon.row_columns import Columns, WithColumns, choose, column_of
from kafka_lagoon.snapshot.state_rows import CommittedOffsetRow, ConsumerLagRow, PartitionOffsetsRow

EXACT, NEXT_AFTER_GAP, CAUGHT_UP = "exact", "next_after_gap", "caught_up"
BELOW_LOG_START, BLOCKED = "below_log_start", "blocked_by_open_transaction"
BATCH_BOUND, INTERPOLATED, UNREADABLE, NOT_MEASURED = "batch_bound", "interpolated", "unreadable", "not_measured"
COMMIT_PAST_END, IN_TIERED_STORAGE = "COMMIT_PAST_END", "IN_TIERED_STORAGE"
NO_TIMESTAMP, TIME_LAG_OFF = "NO_TIMESTAMP", "TIME_LAG_OFF"

Measure = Callable[[Sequence[Position]], UnreadRecords]

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
_REPEATED = frozenset({"time_lag_method", "time_lag_problem", "first_unread_timestamp_type"})
_CAUGHT_UP = (0, CAUGHT_UP, None, None, None, None)


@dataclass(frozen=True, slots=True, kw_only=True)
class TimedLag:
    """Rows of consumer lag with their age, and what failed."""

    rows: Columns[ConsumerLagRow]
    failures: Sequence[Failure]


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
    lags = column_of(rows, "lag")
    behind = [index for index, lag in enumerate(lags) if lag]
    positions: dict[int, Position] = {}
    values: dict[int, tuple[Any, ...]] = {}
    columns = [column_of(rows, name) for name in ("topic", "partition", "committed_offset")]
    ends = [column_of(rows, name) for name in ("log_start_offset", "last_stable_offset", "high_watermark")]
    for index in behind:
        topic, partition, committed_offset = (column[index] for column in columns)
        log_start_offset, last_stable_offset, high_watermark = (column[index] for column in ends)
        offset = max(committed_offset, log_start_offset or 0)
        if lags[index] < 0:
            values[index] = _unknown(UNREADABLE, COMMIT_PAST_END)
        elif measure is None:
            values[index] = _unknown(NOT_MEASURED, TIME_LAG_OFF)
        elif local_starts and offset < local_starts.get(TopicPartition(topic, partition), 0):
            values[index] = _unknown(NOT_MEASURED, IN_TIERED_STORAGE)
        else:
            epoch = last_epochs[index] if offset == committed_offset else None
            is_blocked = last_stable_offset is not None and offset >= last_stable_offset
            positions[index] = Position(
                topic, partition, offset, -1 if epoch is None else epoch, is_blocked, high_watermark
            )
    failures: Sequence[Failure] = ()
    if measure and positions:
        by_lag = sorted(positions, key=lags.__getitem__, reverse=True)
        measured = measure(list(dict.fromkeys(positions[index] for index in by_lag)))
        committed_offsets, failures = columns[2], measured.failures
        for index, position in positions.items():
            values[index] = _values(measured.first[position], committed_offsets[index], position.offset)
    return TimedLag(rows=_with_columns(rows, lags, values), failures=failures)


def _with_columns(
    rows: Columns[ConsumerLagRow], lags: Sequence[int | None], values: Mapping[int, tuple[Any, ...]]
) -> Columns[ConsumerLagRow]:
    added: dict[str, Any] = {}
    for number, name in enumerate(_ADDED):
        column = [_CAUGHT_UP[number] if lag == 0 else None for lag in lags]
        for index, some in values.items():
            column[index] = some[number]
        added[name] = choose(column) if name in _REPEATED else column
    return WithColumns(rows, **added)


def _unknown(method: str, problem: str) -> tuple[Any, ...]:
    return None, method, None, problem, None, None


def _values(first: FirstUnread, committed_offset: int, fetched_offset: int) -> tuple[Any, ...]:
    """The added columns of a row, from what was learned of its position."""
    is_below = fetched_offset > committed_offset
    if first.outcome in (Outcome.UNREADABLE, Outcome.NOT_READ):
        return _unknown(_METHODS[first.outcome], first.problem or "")
    if first.outcome is Outcome.NOTHING:
        return (0, BELOW_LOG_START, None, None, None, None) if is_below else _CAUGHT_UP
    method = _METHODS.get(first.outcome) or _method_of_record(first, committed_offset, is_below=is_below)
    timestamp_type = None if first.timestamp_type is None else _TIMESTAMP_TYPES.get(first.timestamp_type)
    if first.timestamp_ms is None or first.read_at_ms is None or first.timestamp_ms == -1:
        return None, method, None, NO_TIMESTAMP, first.offset, None
    return (
        first.read_at_ms - first.timestamp_ms,
        method,
        first.timestamp_ms,
        None,
        first.offset,
        timestamp_type,
    )


def _method_of_record(first: FirstUnread, committed_offset: int, *, is_below: bool) -> str:
    if is_below:
        return BELOW_LOG_START
    if first.is_blocked:
        return BLOCKED
    return EXACT if first.offset == committed_offset else NEXT_AFTER_GAP


def committed_leader_epochs(rows: Columns[ConsumerLagRow], commits: Sequence[CommittedOffsetRow]) -> list[int | None]:
    """The leader epoch of the commit of each row."""
    names = ("group_id", "topic", "partition")
    keys = zip(*(column_of(commits, name) for name in names), strict=True)
    epochs = dict(zip(keys, column_of(commits, "committed_leader_epoch"), strict=True))
    return list(map(epochs.get, zip(*(column_of(rows, name) for name in names), strict=True)))


def local_starts(offsets: Sequence[PartitionOffsetsRow]) -> dict[TopicPartition, int]:
    """Where a leader's own disk begins, of the partitions that have older records in tiered storage."""
    names = ("topic", "partition", "log_start_offset", "local_log_start_offset")
    return {
        TopicPartition(topic, partition): local
        for topic, partition, first, local in zip(*(column_of(offsets, name) for name in names), strict=True)
        if local is not None and first is not None and local > first
    }
