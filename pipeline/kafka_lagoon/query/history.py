"""Finds how far back a query about some snapshots has to read, and when the newest snapshot is late."""

from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from statistics import median

from kafka_lagoon.query.statements import Ask, Open, tuples
from kafka_lagoon.query.window import Span, Window

Windows = Sequence[Window | None]  # tried one after the other; None is all of the history
PREDECESSORS = "table_coverage"  # the view that `has_predecessors` reads
_GAP = timedelta(days=7)  # snapshots are seldom missing for longer
NEARBY = 12  # intervals between snapshots that say what is usual
_LATE_INTERVALS = 2  # the next run may take long, or start late
_LATE_AT_LEAST_MS = 300_000  # runs by hand follow one another within seconds
_LATE_WITHOUT_INTERVAL_MS = 2 * 86_400_000  # jobs run once a day, or more often
_AHEAD_AFTER_MS = 300_000  # clocks of machines may differ by less, as in conf/prometheus/lagoon.rules.yml
WHY_AHEAD = "a clock is or was wrong, and no later snapshot replaces it before that time"
FIRST = datetime(1, 1, 2, tzinfo=UTC)  # the earliest begin of a history: a day after the begin of Python's calendar
_MOMENT = timedelta(microseconds=1)  # the resolution of timestamps
_EARLIER = tuple(timedelta(days=days) for days in (0, 1, 7, 31))


def last_before(ask: Ask, cluster: str, start: datetime) -> datetime | None:
    """The begin of a cluster's last published snapshot that began at `start` or before; None if there is none."""
    nearby = f"snapshot_date >= DATE '{(max(start.astimezone(UTC), FIRST + _GAP) - _GAP).date()}'"
    until = f"CAST('{start.astimezone(UTC).replace(tzinfo=None).isoformat()}Z' AS TIMESTAMP)"
    for days in (nearby, "true"):
        statement = f"SELECT max(captured_at) FROM snapshots WHERE cluster = ? AND captured_at <= {until} AND {days}"  # noqa: S608
        ((latest,),) = tuples(ask(statement, cluster))
        if latest is not None:
            return latest  # type: ignore[no-any-return]
    return None


def first_needed(ask: Ask, cluster: str, start: datetime, stored: Iterable[str]) -> datetime | None:
    """The begin of the first snapshot that the history since `start` needs; None if there is none before the day of `start`.

    Views compare the snapshots of a UTC day with each other and with the last one before that day. Rows of the day in tables
    `stored` are valid only together with all snapshots that the day was compared with.
    """
    midnight = start.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    before = last_before(ask, cluster, max(midnight, FIRST) - _MOMENT)
    if before is None:
        return None
    begins = [before]
    for table in stored:
        statement = f"""
            SELECT previous_captured_at FROM {table}
            WHERE cluster = ? AND snapshot_date = DATE '{midnight.date()}' AND snapshots IS NOT NULL"""  # noqa: S608  names of ours
        begins += [previous for (previous,) in tuples(ask(statement, cluster)) if previous is not None]
    return min(begins)


def windows(begins: Sequence[datetime | None], ends: Sequence[datetime]) -> Windows:
    """A window with a span per cluster, then windows that begin earlier, then None, the whole history.

    A span without begin reaches back to the first snapshot.
    """
    known = [begin or FIRST for begin in begins]
    if not any(begins):  # the whole history, but as a window: of a window, small tables are read only once
        return [[Span(begin=FIRST, end=end) for end in ends]]
    return [
        *(
            [Span(begin=max(begin, FIRST + days) - days, end=end) for begin, end in zip(known, ends, strict=True)]
            for days in _EARLIER
        ),
        None,
    ]


def open_until(
    open_tables: Open,
    names: Iterable[str],
    tried: Windows,
    suffices: Callable[[Ask], bool],
    earliest: Callable[[Ask], datetime | None] | None = None,
) -> Ask:
    """Open tables over the first of the windows that suffices; the last one is opened without that check.

    With `earliest`, which is asked for a begin over the whole history of view `PREDECESSORS`, the whole history is not opened:
    the last window begins there, or as the first one where that is earlier or nothing is compared. A table or a visibility that
    is seen for the first time has no predecessor in any window.
    """
    relations, (*others, last) = set(names), tried
    for window in others:
        ask = open_tables(relations, window)
        if suffices(ask):
            return ask
    if last is None and others and earliest is not None:
        begin = earliest(open_tables({"snapshots", PREDECESSORS}, None))
        last = [Span(begin=min(span.begin, begin or span.begin), end=span.end) for span in others[0] or ()]
    return open_tables(relations, last)


def has_predecessors(ask: Ask, condition: str, values: Sequence[int | str]) -> bool:
    """False if tables of these snapshots may have been collected last in a snapshot before the open window.

    View topology_changes compares each table with the last snapshot that has it, which need not be the one before.
    """
    statement = f"""
        SELECT count(*) FROM {PREDECESSORS}
        WHERE {condition} AND problem IS NULL AND previous_snapshot_id IS NULL"""  # noqa: S608  names of ours
    ((alone,),) = tuples(ask(statement, *values))
    return bool(alone == 0)


def has_lists_alike(ask: Ask, condition: str, values: Sequence[int | str]) -> bool:
    """False if lists of these snapshots may have to be compared with one before the open window.

    View late_list_changes compares a list whose visibility has changed with the latest earlier list of the same visibility, and
    leaves out what such comparisons of lists between the two show already.
    """
    statement = f"SELECT count(*) FROM ({_lists_alike(condition)}) AS compared WHERE alike_place IS NULL"  # noqa: S608  names of ours
    ((alone,),) = tuples(ask(statement, *values))
    return bool(alone == 0)


def _lists_alike(condition: str) -> str:
    """A query of the latest earlier lists of the same visibility: of lists of these snapshots, and of lists between the two."""
    return f"""
        WITH lists AS (
          SELECT *, lag(place) OVER alike AS alike_place, lag(captured_at) OVER alike AS alike_captured_at
          FROM {PREDECESSORS}
          WHERE problem IS NULL AND table_name IN ('topics', 'consumer_groups')
          WINDOW alike AS (PARTITION BY cluster, cluster_id, table_name, visibility ORDER BY place)
        ),
        changed AS (SELECT * FROM lists WHERE visibility IS DISTINCT FROM previous_visibility)
        SELECT between_both.alike_place, between_both.alike_captured_at
        FROM (SELECT * FROM changed WHERE {condition}) AS these
        JOIN changed AS between_both
          ON these.cluster = between_both.cluster AND these.cluster_id IS NOT DISTINCT FROM between_both.cluster_id
          AND these.table_name = between_both.table_name AND between_both.place <= these.place
          AND coalesce(these.alike_place, these.place - 1) < between_both.place"""  # noqa: S608  names of ours


def first_compared(ask: Ask, condition: str, values: Sequence[int | str]) -> datetime | None:
    """The begin of the first snapshot that tables of these snapshots, and of their days, are compared with; None if none is."""
    statement = f"""
        SELECT min(begin) FROM (
          SELECT steps.previous_captured_at AS begin
          FROM {PREDECESSORS} AS steps
          SEMI JOIN (SELECT cluster, snapshot_date FROM {PREDECESSORS} WHERE {condition}) AS of_day
            ON steps.cluster = of_day.cluster AND steps.snapshot_date = of_day.snapshot_date
          UNION ALL
          SELECT alike_captured_at FROM ({_lists_alike(condition)}) AS of_lists
        ) AS compared"""  # noqa: S608  names of ours
    ((begin,),) = tuples(ask(statement, *values, *values))
    return begin  # type: ignore[no-any-return]


def usual_interval_ms(captured_ms: Sequence[int]) -> int | None:
    """The median of the last intervals between snapshots that began at these ascending times; None of less than two.

    A run by hand or a gap makes one interval short or long, and not the median.
    """
    intervals = [after - before for before, after in pairwise(captured_ms[-NEARBY - 1 :])]
    return round(median(intervals)) if intervals else None


def late_after_ms(interval_ms: int | None) -> int:
    """Return the age that makes a snapshot late: two of the usual intervals, or two days for an only snapshot.

    No snapshot is late in its first five minutes.
    """
    if interval_ms is None:
        return _LATE_WITHOUT_INTERVAL_MS
    return max(_LATE_INTERVALS * interval_ms, _LATE_AT_LEAST_MS)


def is_ahead(age_ms: int) -> bool:
    """Return True for the age of a snapshot in the future, whose true age is not known (WHY_AHEAD)."""
    return age_ms < -_AHEAD_AFTER_MS
