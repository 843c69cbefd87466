"""Stores the changes and the throughput of UTC days that are over, so that no query has to compute them again.

DuckDB computes the rows from views, one day after the other. A day is stored again if its published snapshots have changed
since, for example because retention has removed some. Until it is stored, the views compute it.
"""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from uuid import uuid4

import pyarrow as pa

from kafka_lagoon import log
from kafka_lagoon.clock import Clock
from kafka_lagoon.delta.compact import CHANGE_DATA_FEED, is_switched_on
from kafka_lagoon.delta.files import LiveFile
from kafka_lagoon.delta.kernel import State
from kafka_lagoon.delta.prepare_tables import prepare_tables
from kafka_lagoon.delta.replace_files import ATTEMPTS, Replacement, replace_files
from kafka_lagoon.delta.warehouse import Warehouse
from kafka_lagoon.errors import TableError
from kafka_lagoon.frozen import frozen
from kafka_lagoon.job_settings import SqlSettings
from kafka_lagoon.query.history import PREDECESSORS, Windows, first_compared, has_predecessors, open_until, windows
from kafka_lagoon.query.statements import Ask, Open, tuples
from kafka_lagoon.query.views import CHANGES_VERSION, THROUGHPUT_VERSION
from kafka_lagoon.tables.schema import STORED_CHANGES, STORED_THROUGHPUT
from kafka_lagoon.tables.table import Table
from kafka_lagoon.times import utc_day

_MOST_DAYS = (
    31  # in one run: a day with many snapshots takes seconds, and a warehouse may have years that are not stored
)
_AT_ONCE = 7  # days for which tables are opened together, because that takes half a second
_LONGEST_S = 600  # after this time no days are begun: the next run stores them
_DAY = timedelta(days=1)

_SNAPSHOTS = """
    SELECT cluster, cluster_id, snapshot_date, concat(count(*), ' ', max(snapshot_id)) FROM snapshots
    GROUP BY cluster, cluster_id, snapshot_date"""


@frozen
class _Stored:
    """A table of stored days, and the views that it is made from.

    `rows` is the view with the rows, `days` the view with the state for which the rows of a day are valid, and `version` the
    version of both. View `predecessors` names the snapshot that each snapshot is compared with; without it each is compared
    with the one before.
    """

    table: Table
    rows: str
    days: str
    version: int
    order: str
    predecessors: str | None = None

    @property
    def relations(self) -> Sequence[str]:
        """The tables and views that are read to store days."""
        return [self.rows, self.days, "snapshots", *([self.predecessors] if self.predecessors else [])]


_STORED = (
    _Stored(
        table=STORED_CHANGES,
        rows="daily_changes",
        days="change_days",
        version=CHANGES_VERSION,
        order="entity_type, entity, attribute",
        predecessors=PREDECESSORS,
    ),
    _Stored(
        table=STORED_THROUGHPUT,
        rows="topic_throughput",
        days="throughput_days",
        version=THROUGHPUT_VERSION,
        order="topic, topic_id",
    ),
)


@frozen
class StoredDays:
    """The numbers of days that were stored and removed, or that a dry run would store and remove.

    `problem` names days whose rows DuckDB could not compute, with the reason. Days after those have been stored.
    """

    stored: int = 0
    removed: int = 0
    problem: str | None = None


@frozen
class _Days:
    """Consecutive days, the last one first.

    `windows` are the spans of snapshots to open for them, `continued` the clusters with snapshots before these days.
    """

    of: _Stored
    days: Sequence[date]
    windows: Windows
    continued: Sequence[str]

    def suffices(self, ask: Ask) -> bool:
        """False if a table may have been collected last before the open window, in a cluster with earlier snapshots."""
        return self.of.predecessors is None or has_predecessors(ask, self._continued_days(), self.continued)

    def earliest(self, ask: Ask) -> datetime | None:
        """The begin of the first snapshot that tables of these days are compared with."""
        return first_compared(ask, self._continued_days(), self.continued)

    def _continued_days(self) -> str:
        marks = ", ".join("?" for _ in self.continued) or "NULL"
        return f"{_among(self.days)} AND cluster IN ({marks})"

    def missing(self, ask: Ask) -> list[date]:
        """The days whose rows are missing or no longer valid for a cluster, because its snapshots have changed."""
        statement = f"""
            SELECT DISTINCT coalesce(days.snapshot_date, stored.snapshot_date)
            FROM (SELECT * FROM {self.of.days} WHERE {_among(self.days)}) AS days
            FULL JOIN (SELECT * FROM {self.of.table.name} WHERE {_among(self.days)} AND snapshots IS NOT NULL) AS stored
              ON days.cluster = stored.cluster AND days.cluster_id IS NOT DISTINCT FROM stored.cluster_id
              AND days.snapshot_date = stored.snapshot_date AND days.state = stored.state
            WHERE days.state IS NULL OR stored.state IS NULL ORDER BY 1 DESC"""  # noqa: S608  names of ours, dates
        return [day for (day,) in tuples(ask(statement))]


def store_days(
    warehouse: Warehouse, table: str, sql: SqlSettings, clock: Clock, *, dry_run: bool = False
) -> StoredDays:
    """Store days that are over in a table of stored days, the latest first, and remove days without snapshots.

    Nothing is done for other tables, and where DuckDB cannot read the tables: it is not installed, or they are not in a folder
    of this machine. TableError if a table cannot be read or written.
    """
    of = next((one for one in _STORED if one.table.name == table), None)
    folder = _folder(warehouse, table) if of else None
    if of is None or folder is None:
        return StoredDays()
    from kafka_lagoon.query.duckdb_tables import NeedsSpark  # noqa: PLC0415  see `_folder`

    try:
        return _stored(warehouse, folder, of, sql, clock, dry_run=dry_run)
    except NeedsSpark as error:
        log.info("days_not_stored", table=table, reason=str(error))
        return StoredDays()


def _folder(warehouse: Warehouse, table: str) -> Path | None:
    """The folder with the tables; None if they are elsewhere, or if DuckDB is not installed, which is an extra."""
    location = None if warehouse.in_catalog else warehouse.kernel.storage.local(warehouse.locations["snapshots"])
    if location is None or find_spec("duckdb") is None:
        reason = "DuckDB is not installed" if location else "the tables are not in a folder"
        log.info("days_not_stored", table=table, reason=reason)
        return None
    return location.parent


def _stored(
    warehouse: Warehouse, folder: Path, of: _Stored, sql: SqlSettings, clock: Clock, *, dry_run: bool
) -> StoredDays:
    from kafka_lagoon.query import duckdb_engine  # noqa: PLC0415  see `_folder`

    limits = duckdb_engine.Limits(**dict(sql) | {"timeout_ms": 0})  # nobody waits
    today = utc_day(clock.now_ms())
    with duckdb_engine.connected(folder, limits) as open_tables:
        ask = open_tables(("snapshots", of.table.name), None)
        changed, gone = _changed_days(tuples(ask(_SNAPSHOTS)), tuples(ask(_known(of))))
        days = sorted((day for day in changed if day < today), reverse=True)
        groups = [_group(ask, of, adjacent) for adjacent in _adjacent(days[:_MOST_DAYS])]
        if not (days or gone):
            return StoredDays()
        if not dry_run:
            prepare_tables(warehouse, [of.table], clock)
        looked_at, stored, problem, started = 0, 0, None, clock.monotonic()
        for group in groups:
            if problem or clock.monotonic() - started > _LONGEST_S:
                break
            made, problem = _made(open_tables, group, dry_run=dry_run)
            looked_at, stored = looked_at + len(group.days), stored + len(made)
            if not dry_run:
                _replace_all(warehouse, of.table, made, clock)
    if problem or looked_at < len(days):
        gone = []  # kept until all other days are stored: they show the next run which days were compared with them
    if not dry_run:
        _replace_all(warehouse, of.table, dict.fromkeys(gone), clock)
        warehouse.kernel.checkpoint(warehouse.locations[of.table.name])
    return StoredDays(stored=stored, removed=len(gone), problem=problem)


def _made(open_tables: Open, group: _Days, *, dry_run: bool) -> tuple[Mapping[date, pa.Table | None], str | None]:
    """The rows of the days to store, without rows in a dry run; and the reason if they cannot be computed."""
    from kafka_lagoon.query.duckdb_tables import NeedsSpark  # noqa: PLC0415  see `_folder`

    try:
        ask = open_until(open_tables, group.of.relations, group.windows, group.suffices, group.earliest)
        return {day: None if dry_run else _rows(ask, group.of, day) for day in group.missing(ask)}, None
    except NeedsSpark:
        raise
    except TableError as error:  # for example too little memory: the run goes on, because views compute these days
        return {}, f"{group.days[-1]} to {group.days[0]} are not stored: {error}"


def _known(of: _Stored) -> str:
    """A query of the stored days of clusters, in the form of `_SNAPSHOTS`, with the first day that each was compared with.

    The first day is null if a row had nothing to be compared with, so that a snapshot of any earlier day could change it.
    """
    return f"""
        SELECT cluster, cluster_id, snapshot_date,
          CASE WHEN state LIKE '{of.version} %' THEN concat(snapshots, ' ', snapshot_id) ELSE '' END,
          CAST(previous_captured_at AS DATE)
        FROM {of.table.name} WHERE snapshots IS NOT NULL"""  # noqa: S608  a number and a name of ours


def _changed_days(
    snapshots: Iterable[tuple[str, str | None, date, str]],
    stored: Iterable[tuple[str, str | None, date, str, date | None]],
) -> tuple[set[date], list[date]]:
    """The days that may have to be stored, and the stored days without any snapshot.

    A day has to be stored if its snapshots are not those of the time when it was stored. So may later days, if they were
    compared with snapshots from before the end of that day, or with none.
    """
    now, then = defaultdict[Any, dict[date, str]](dict), defaultdict[Any, dict[date, str]](dict)
    since = defaultdict[Any, dict[date, date | None]](dict)
    for *cluster, day, summary in snapshots:
        now[tuple(cluster)][day] = summary
    for *cluster, day, summary, first in stored:
        then[tuple(cluster)][day], since[tuple(cluster)][day] = summary, first
    changed = set[date]()
    for cluster in {*now, *then}:
        days = {*now[cluster], *then[cluster]}
        others = sorted(day for day in days if now[cluster].get(day) != then[cluster].get(day))
        changed.update(others)
        for day, first in since[cluster].items():
            later = bisect_left(others, first) if first else 0
            if later < len(others) and others[later] < day:
                changed.add(day)
    known = {day for days in now.values() for day in days}
    return changed & known, sorted({day for days in then.values() for day in days} - known)


def _adjacent(days: Sequence[date]) -> Sequence[Sequence[date]]:
    """Groups of consecutive days, the last one first."""
    groups: list[list[date]] = []
    for day in days:
        if not groups or groups[-1][-1] - day != _DAY or len(groups[-1]) == _AT_ONCE:
            groups.append([])
        groups[-1].append(day)
    return groups


def _group(ask: Ask, of: _Stored, days: Sequence[date]) -> _Days:
    """The days, with a window that has the last snapshot before them of each cluster and of each of its ids."""
    begin, end = (datetime(day.year, day.month, day.day, tzinfo=UTC) for day in (days[-1], days[0]))
    statement = f"""
        SELECT cluster, min(before) FROM (
          SELECT of_days.cluster, max(earlier.captured_at) AS before
          FROM (SELECT DISTINCT cluster, cluster_id FROM snapshots WHERE {_among(days)}) AS of_days
          LEFT JOIN snapshots AS earlier
            ON of_days.cluster = earlier.cluster AND of_days.cluster_id IS NOT DISTINCT FROM earlier.cluster_id
            AND earlier.snapshot_date < DATE '{days[-1]}'
          GROUP BY of_days.cluster, of_days.cluster_id
        ) AS of_ids GROUP BY cluster"""  # noqa: S608  dates
    begins = dict(tuples(ask(statement)))
    tried = windows([before or begin for before in begins.values()], [end + _DAY] * len(begins))
    continued = [cluster for cluster, before in begins.items() if before]
    return _Days(of=of, days=days, windows=tried, continued=continued)


def _among(days: Sequence[date]) -> str:
    return f"snapshot_date BETWEEN DATE '{days[-1]}' AND DATE '{days[0]}'"


def _rows(ask: Ask, of: _Stored, day: date) -> pa.Table:
    """The rows of a day, and for each cluster one row about the day."""
    statement = f"""
        WITH days AS (SELECT * FROM {of.days} WHERE snapshot_date = DATE '{day}')
        SELECT days.state, computed.* FROM {of.rows} AS computed
        JOIN days ON computed.cluster = days.cluster AND computed.cluster_id IS NOT DISTINCT FROM days.cluster_id
        WHERE computed.snapshot_date = DATE '{day}'
        UNION ALL BY NAME
        SELECT days.cluster, days.cluster_id, days.state, days.snapshots, max(snapshots.snapshot_id) AS snapshot_id,
          max(snapshots.captured_at) AS captured_at, days.previous_captured_at
        FROM days
        JOIN snapshots ON days.cluster = snapshots.cluster AND days.cluster_id IS NOT DISTINCT FROM snapshots.cluster_id
          AND days.snapshot_date = snapshots.snapshot_date
        GROUP BY days.cluster, days.cluster_id, days.state, days.snapshots, days.previous_captured_at
        ORDER BY cluster, cluster_id, captured_at, snapshots, {of.order}"""  # noqa: S608  names of ours, and a date
    answer = ask(statement)
    rows, schema = pa.Table.from_batches(answer.batches, answer.schema), of.table.file_schema()
    return rows.select(schema.names).cast(schema)


def _replace_all(warehouse: Warehouse, table: Table, days: Mapping[date, pa.Table | None], clock: Clock) -> None:
    for day, rows in days.items():
        _replace(warehouse, table, day, rows, clock)


def _replace(warehouse: Warehouse, table: Table, day: date, rows: pa.Table | None, clock: Clock) -> None:
    """Replace the rows of a day in one commit, in a table with a change data feed in two: removed and then added.

    Delta takes no commit there that does both. In between, views compute the day.
    """
    kernel = warehouse.kernel

    def stored(state: State) -> Sequence[LiveFile]:
        return kernel.live_files(state, {table.partition_by: day})

    url = f"{warehouse.locations[table.name]}/{table.partition_by}={day}/{uuid4().hex}.parquet"
    new = {} if rows is None else {day: [kernel.storage.write_rows(url, rows)]}
    replacements = [Replacement(old=stored, new=new, removes_rows=True, adds_rows=True)]
    if new and is_switched_on(warehouse, table, CHANGE_DATA_FEED) and stored(warehouse.state(table.name)):
        added = Replacement(old=lambda state: None if stored(state) else [], new=new, adds_rows=True)
        replacements = [Replacement(old=stored, new={}, removes_rows=True), added]
    if not all(replace_files(warehouse, table, replacement, clock) for replacement in replacements):
        raise TableError(f"table {table.name} was written by others {ATTEMPTS} times meanwhile")
