"""Chooses the snapshot of each cluster that a page is about, and the snapshots before it that make its history."""

from collections import Counter
from collections.abc import Collection, Sequence
from datetime import UTC, date, datetime
from typing import Any, TypeVar

from kafka_lagoon.errors import TableError
from kafka_lagoon.frozen import frozen
from kafka_lagoon.query.history import (
    FIRST,
    Windows,
    first_compared,
    first_needed,
    has_lists_alike,
    has_predecessors,
    windows,
)
from kafka_lagoon.query.statements import Ask, tuples
from kafka_lagoon.query.window import Span, Window
from kafka_lagoon.report.charts import Reading, Series
from kafka_lagoon.report.timeline import Timeline, timeline
from kafka_lagoon.report.values import time_text
from kafka_lagoon.tables.schema import STORED_TABLES
from kafka_lagoon.text import did_you_mean

T = TypeVar("T")
_STORED = tuple(table.name for table in STORED_TABLES)
CHOICE = frozenset({"snapshots", *_STORED})  # the tables that `scopes` and `windows_of` read
_HOUR_MS = 3_600_000
_FIRST_MS = round(FIRST.timestamp() * 1000)
_LEAST_HOURS = 24  # view loss_ahead compares a snapshot with the one of a day before
_OF_A_STATUS = 10  # snapshots that view group_status looks at


@frozen(kw_only=False)
class PublishedSnapshot:
    """A published snapshot, as table `snapshots` has it."""

    cluster: str
    cluster_id: str | None
    snapshot_id: str
    snapshot_date: date
    captured_ms: int
    slot_ms: int
    finished_ms: int
    status: str
    kafka_version_range: str | None
    brokers: int
    topics: int
    partitions: int
    groups: int
    failures: int
    requests: int
    bytes_in: int
    throttle_ms: int
    completeness: float | None
    is_of_first_version: bool  # 0.1.0 did not write which tables are complete


_COLUMNS = (
    "cluster, cluster_id, snapshot_id, snapshot_date, unix_millis(captured_at), unix_millis(slot), "
    "unix_millis(finished_at), status, kafka_version_range, brokers, topics, partitions, groups, failures, requests, "
    "bytes_in, throttle_ms, completeness, tables IS NULL"
)


@frozen
class Scope:
    """The sources of the sections about a cluster: its snapshot, the snapshots of the history, and the tables."""

    ask: Ask
    recent: Ask  # over the snapshots of `recent_window`
    snapshot: PublishedSnapshot
    runs: Sequence[PublishedSnapshot]  # of the history, the last one is `snapshot`
    axis: Timeline
    hours: int
    others: Sequence[PublishedSnapshot] = ()  # of the clusters that come after it on the page

    def rows(self, statement: str, *values: int | str) -> list[tuple[Any, ...]]:
        """The rows of a statement."""
        return tuples(self.ask(statement, *values))

    def read(self, row_class: type[T], statement: str, *values: int | str) -> list[T]:
        """The rows of a statement whose columns are the fields of a dataclass, in their order."""
        return [row_class(*row) for row in self.rows(statement, *values)]

    @property
    def first(self) -> PublishedSnapshot:
        """The first snapshot of the history."""
        return self.runs[0]

    @property
    def begin_ms(self) -> int:
        """The time from which snapshots are read: the history, and at least a day."""
        return _hours_before(self.snapshot.captured_ms, max(self.hours, _LEAST_HOURS))

    def incomplete_points(self, table: str) -> set[int]:
        """The points of the history with a snapshot that lacks rows of a table, because requests failed."""
        statement = f"""
            SELECT DISTINCT places.point
            FROM (
              SELECT * FROM table_states
              WHERE cluster = ? AND {self.history_days()} AND table_name = ? AND outcome IN ('partial', 'failed')
            ) AS incomplete
            JOIN ({self.places()}) AS places
              ON incomplete.snapshot_id = places.snapshot_id AND incomplete.snapshot_date = places.snapshot_date"""  # noqa: S608
        cluster = self.snapshot.cluster
        return {point for (point,) in self.rows(statement, cluster, table, cluster)}

    def series(self, statement: str, table: str) -> Series:
        """The values of a statement over points of the history; partial where some are unknown, or the table lacks rows.

        Its columns are the point, the value and the number of unknown values; its two question marks are the cluster.
        """
        incomplete = self.incomplete_points(table)
        series = [Reading(None) if point in incomplete else None for point in range(len(self.axis.points))]
        for point, value, unknown in self.rows(statement, self.snapshot.cluster, self.snapshot.cluster):
            series[point] = Reading(value, bool(unknown) or point in incomplete)
        return series

    def history_days(self) -> str:
        """A condition that keeps the engines from opening other days."""
        return _days(self.first.snapshot_date, self.snapshot.snapshot_date)

    def parts(self, most: int, days: Collection[date]) -> Sequence[str]:
        """Conditions that divide the history into parts of whole days, the last days first.

        A part has at most `most` snapshots of these `days`, or a single day. Views that compare snapshots are queried one part
        after the other, so that only the rows of one part need memory.
        """
        parts: list[list[date]] = []
        counted = 0
        for day, of_day in sorted(Counter(run.snapshot_date for run in self.runs).items(), reverse=True):
            runs = of_day if day in days else 0
            if not parts or (runs and counted + runs > most):
                parts.append([])
                counted = 0
            parts[-1].append(day)
            counted += runs
        return [_days(days[-1], days[0]) for days in parts]

    def short_parts(self, most: int, days: Collection[date]) -> Sequence[str]:
        """Conditions that divide the history into parts of snapshots, for views whose rows depend on one snapshot only.

        A part has at most `most` snapshots of these `days`.
        """
        pieces: list[list[PublishedSnapshot]] = []
        counted = 0
        for run in self.runs:
            if not pieces or counted + (run.snapshot_date in days) > most:
                pieces.append([])
                counted = 0
            pieces[-1].append(run)
            counted += run.snapshot_date in days
        return [
            f"{_days(piece[0].snapshot_date, piece[-1].snapshot_date)} "
            f"AND captured_at BETWEEN timestamp_millis({piece[0].captured_ms}) AND timestamp_millis({piece[-1].captured_ms})"
            for piece in pieces
        ]

    def places(self) -> str:
        """A query for the snapshots of the history, each with the number of its point; its question mark is the cluster."""
        return f"""
            SELECT snapshots.snapshot_id, snapshots.snapshot_date, axis.point
            FROM snapshots
            JOIN (VALUES {self.axis.axis_rows()}) AS axis (point, first_ms, last_ms)
              ON unix_millis(snapshots.captured_at) BETWEEN axis.first_ms AND axis.last_ms
            WHERE snapshots.cluster = ? AND snapshots.{self.history_days()}"""  # noqa: S608  numbers and dates


def _days(first: date, last: date) -> str:
    return f"snapshot_date BETWEEN DATE '{first}' AND DATE '{last}'"


def of(snapshot: PublishedSnapshot) -> str:
    """The condition that a row is of this snapshot, with question marks for `ids`; only its day is opened."""
    return f"cluster = ? AND snapshot_id = ? AND snapshot_date = DATE '{snapshot.snapshot_date}'"


def ids(snapshot: PublishedSnapshot) -> tuple[str, str]:
    """The values for the question marks of `of`."""
    return snapshot.cluster, snapshot.snapshot_id


def without_snapshot(scopes: Sequence[Scope], clusters: Sequence[str] | None, configured: Collection[str]) -> list[str]:
    """The chosen ones of the `configured` clusters that have no scope, because they have no snapshot."""
    chosen = set(configured) if clusters is None else set(configured).intersection(clusters)
    return sorted(chosen - {scope.snapshot.cluster for scope in scopes})


def scopes(
    ask: Ask, clusters: Sequence[str] | None, slot_ms: int | None, hours: int, configured: Collection[str] = ()
) -> list[Scope]:
    """A scope for each cluster: its newest snapshot, or the newest with a slot up to a time.

    TableError if there is no snapshot, or none of a cluster that is not among the `configured` ones.
    """
    chosen = [PublishedSnapshot(*values) for values in tuples(ask(_newest(slot_ms)))]
    wanted = [one for one in chosen if clusters is None or one.cluster in clusters]
    missing = sorted(set(clusters or ()) - {one.cluster for one in wanted} - set(configured if wanted else ()))
    if missing or not wanted:
        raise TableError(_nothing(missing, [one.cluster for one in chosen], slot_ms))
    return [_scope(ask, snapshot, hours, wanted[place:]) for place, snapshot in enumerate(wanted, 1)]


def _newest(slot_ms: int | None) -> str:
    until = "TRUE" if slot_ms is None else f"unix_millis(slot) <= {slot_ms:d}"
    order = "" if slot_ms is None else "slot DESC, "  # without a slot as in snapshots_now
    return f"""
        SELECT {_COLUMNS} FROM (
          SELECT snapshots.*,
            row_number() OVER (PARTITION BY cluster ORDER BY {order}captured_at DESC, snapshot_id DESC) AS recency
          FROM snapshots WHERE {until}
        ) AS ranked WHERE recency = 1 ORDER BY cluster"""  # noqa: S608  names of ours and a number


def _scope(ask: Ask, snapshot: PublishedSnapshot, hours: int, others: Sequence[PublishedSnapshot]) -> Scope:
    from_ms = _hours_before(snapshot.captured_ms, hours)
    first_day = datetime.fromtimestamp(from_ms / 1000, UTC).date()
    statement = f"""
        SELECT {_COLUMNS} FROM snapshots
        WHERE cluster = ? AND snapshot_date BETWEEN DATE '{first_day}' AND DATE '{snapshot.snapshot_date}'
          AND unix_millis(captured_at) BETWEEN {from_ms} AND {snapshot.captured_ms}
        ORDER BY captured_at, snapshot_id"""  # noqa: S608  names of ours and numbers
    runs = _of_one_cluster([PublishedSnapshot(*values) for values in tuples(ask(statement, snapshot.cluster))])
    axis = timeline([one.captured_ms for one in runs], from_ms)
    return Scope(ask=ask, recent=ask, snapshot=snapshot, runs=runs, axis=axis, hours=hours, others=others)


def _of_one_cluster(runs: Sequence[PublishedSnapshot]) -> Sequence[PublishedSnapshot]:
    """The last of these snapshots, and the earlier ones since the cluster's id last changed.

    As in the views, another id under the same name is another cluster, with which nothing is compared.
    """
    known = [(number, one.cluster_id) for number, one in enumerate(runs, 1) if one.cluster_id is not None]
    others = [number for number, cluster_id in known if cluster_id != known[-1][1]]
    return runs[max(others, default=0) :]


def _hours_before(at_ms: int, hours: int) -> int:
    """The time `hours` before `at_ms`, but not before the begin of all histories."""
    return max(at_ms - hours * _HOUR_MS, _FIRST_MS)


def windows_of(chosen: Sequence[Scope]) -> Windows:
    """The snapshots that the sections read: the history and the snapshot before it, and at least a day for what lies ahead."""
    ends = [datetime.fromtimestamp(one.snapshot.captured_ms / 1000, UTC) for one in chosen]
    starts = [datetime.fromtimestamp(min(one.begin_ms, one.axis.from_ms - 1) / 1000, UTC) for one in chosen]
    begins = [
        first_needed(one.ask, one.snapshot.cluster, start, _STORED) for start, one in zip(starts, chosen, strict=True)
    ]
    return windows(begins, ends)


def recent_window(chosen: Sequence[Scope]) -> Window:
    """The last snapshots, for the status of groups: view group_status would compute it for each snapshot of the history."""
    return [_recent_span(scope) for scope in chosen]


def _recent_span(scope: Scope) -> Span:
    end = datetime.fromtimestamp(scope.snapshot.captured_ms / 1000, UTC)
    statement = f"""
        SELECT min(captured_at) FROM (
          SELECT captured_at FROM snapshots
          WHERE cluster = ? AND unix_millis(captured_at) <= {scope.snapshot.captured_ms}
          ORDER BY captured_at DESC LIMIT {_OF_A_STATUS}
        ) AS latest"""  # noqa: S608  numbers
    ((begin,),) = scope.rows(statement, scope.snapshot.cluster)
    return Span(begin=begin, end=end)


def has_all_predecessors(scope: Scope) -> bool:
    """False if tables of the history were perhaps collected last in a snapshot that is not in the open window.

    The first snapshot of the history is compared with none.
    """
    of = _compared(scope)
    return all(has(scope.ask, of, [scope.snapshot.cluster]) for has in (has_predecessors, has_lists_alike))


def first_predecessor(scope: Scope) -> datetime | None:
    """The begin of the first snapshot that tables of the history are compared with; None if there is none."""
    return first_compared(scope.ask, _compared(scope), [scope.snapshot.cluster])


def _compared(scope: Scope) -> str:
    axis = scope.axis
    history = f"unix_millis(captured_at) > {axis.from_ms} AND unix_millis(captured_at) <= {axis.until_ms}"
    return f"cluster = ? AND {scope.history_days()} AND {history}"


def _nothing(missing: Sequence[str], known: Sequence[str], slot_ms: int | None) -> str:
    until = "" if slot_ms is None else f" of a slot up to {time_text(slot_ms)} UTC"
    if not missing:
        return f"there is no published snapshot{until}"
    others = f": there are {', '.join(known)}" if known else ""
    return f"there is no published snapshot of {missing[0]}{did_you_mean(missing[0], known)}{until}{others}"
