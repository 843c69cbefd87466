"""Removes from tables what the settings of retention do not keep: whole snapshots of the state tables, whole days of others.

A snapshot is removed from `snapshots` first, in one commit, so that views show all of it or nothing. Its rows in other tables
go a day later: whoever has read `snapshots` before finds them until then. A run that dies in between leaves rows that no view
shows; the next one removes them, as it does what attempts that were never published have left. Nothing is remembered of
earlier runs: what is to be done follows from what is published and from the numbers of rows in the logs.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, date, datetime
from functools import cached_property
from itertools import chain, groupby
from sys import intern
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from kafka_lagoon.clock import Clock
from kafka_lagoon.delta.arrow import read_table
from kafka_lagoon.delta.compact import CHANGE_DATA_FEED, ROW_TRACKING, has_row_ids, is_switched_on, keep_rows
from kafka_lagoon.delta.files import LiveFile
from kafka_lagoon.delta.log_files import removed_since
from kafka_lagoon.delta.retention import PublishedSnapshot, StoredRows, ids_with_rows, not_kept, rows_of
from kafka_lagoon.delta.warehouse import Warehouse
from kafka_lagoon.errors import TableError
from kafka_lagoon.frozen import frozen
from kafka_lagoon.job_settings import RetentionSettings
from kafka_lagoon.tables.columns import TIMESTAMP
from kafka_lagoon.tables.record_tables import RECORD_PROBLEMS, RECORD_RANGES, RECORD_TABLES, RECORDS
from kafka_lagoon.tables.schema import ADMIN_ACTIONS, STATE_TABLES
from kafka_lagoon.tables.table import Table
from kafka_lagoon.times import utc_day

# How long rows stay that readers of an earlier version of `snapshots` may need: until the run of the next day, which may begin
# somewhat earlier. The log of `snapshots` keeps the commits of three days, which tell what it named.
_READERS_HOURS = 20
_HOUR_MS = 3_600_000
_READ_AT_ONCE = 16  # files; on object stores each is a request
_REMOVAL_BYTES = (
    10_000  # as much as this costs a file that is only taken out of the log, in one commit with some 25,000 others
)
_SNAPSHOTS = STATE_TABLES[-1]
_COLUMNS = ("snapshot_id", "cluster", "cluster_id", "captured_at", "status", "tables")


@frozen
class RemovedRows:
    """The number of rows and days that were removed, or that a dry run would remove.

    `uncounted` counts files that are removed as a whole, and whose number of rows is not in the log (nor in `rows`): other
    engines may leave out statistics, or put them into checkpoints in another form (`delta.checkpoint.writeStatsAsJson`).
    `not_thinned` counts days with rows to remove and rows that stay, in a table with a change data feed or ids of rows: its
    readers would see the rows that stay as deleted or new, so these days keep all rows.
    """

    days: int = 0
    rows: int = 0
    uncounted: int = 0
    not_thinned: int = 0


@frozen(kw_only=False)
class _Day:
    """A day with rows to remove, and their number by the log: all except those of kept snapshots."""

    files: Sequence[LiveFile]
    kept: frozenset[str]
    rows: int


class OldRows:
    """Finds and removes old rows of a warehouse; the published snapshots are read once, when they are first needed."""

    def __init__(self, warehouse: Warehouse, retention: RetentionSettings, keep_hours: int, clock: Clock) -> None:
        self._warehouse, self._retention, self._clock = warehouse, retention, clock
        self._today = utc_day(clock.now_ms())
        self._keep_hours = keep_hours
        self._rows: dict[str, Sequence[PublishedSnapshot]] = {}  # by file of table `snapshots`
        self._records_going: Collection[date] = ()  # days of a dry run, in which the records stay

    def would_go(self, table: Table, files: Sequence[LiveFile]) -> RemovedRows:
        """The rows that would be removed from a table with these files, if `records` was asked about before its ranges."""
        days = self._without_needed(table, self._days(table, files))
        if table == RECORDS:
            self._records_going = days.keys()
        staying = self._with_feed(table, days)
        going = [day for number, day in days.items() if number not in staying]
        # Rows of a state table were counted in its files.
        uncounted = 0 if table in STATE_TABLES else _uncounted(going)
        rows = sum(day.rows for day in going)
        return RemovedRows(days=len(going), rows=rows, uncounted=uncounted, not_thinned=len(staying))

    def remove(self, table: Table, files: Sequence[LiveFile], target_bytes: int) -> RemovedRows:
        """Remove old rows of a table with these files, in commits that one process can handle.

        Ranges and problems of a day stay until its records are gone: ranges tell which records a truncation took back, and
        problems which header keys are escaped.
        """
        days = self._without_needed(table, self._days(table, files))
        staying = self._with_feed(table, days)
        removed = RemovedRows(not_thinned=len(staying))
        for batch in _batches({number: day for number, day in days.items() if number not in staying}, 2 * target_bytes):
            of_batch = [file for day in batch.values() for file in day.files]
            kept = {number: day.kept for number, day in batch.items()}
            rows = keep_rows(self._warehouse, table, of_batch, kept, target_bytes, self._clock)
            if rows is not None:
                removed = replace(
                    removed,
                    days=removed.days + len(batch),
                    rows=removed.rows + rows,
                    uncounted=removed.uncounted + _uncounted(batch.values()),
                )
        return removed

    def _without_needed(self, table: Table, days: Mapping[date, _Day]) -> Mapping[date, _Day]:
        """The days without those of ranges and problems whose records are there."""
        if table not in (RECORD_RANGES, RECORD_PROBLEMS) or not days:
            return days
        needed = {file.day for file in self._live(RECORDS)}.difference(self._records_going)
        return {number: day for number, day in days.items() if number not in needed}

    def _with_feed(self, table: Table, days: Mapping[date, _Day]) -> Mapping[date, _Day]:
        """The days of which some rows would stay, if the table has a change data feed or ids of rows; else no days."""
        thinned = {number: day for number, day in days.items() if day.kept}
        if not thinned:
            return {}
        has_feed = is_switched_on(self._warehouse, table, CHANGE_DATA_FEED)
        return thinned if has_feed or has_row_ids(self._warehouse, table) else {}

    def _days(self, table: Table, files: Sequence[LiveFile]) -> Mapping[date, _Day]:
        """The days of a table that have rows to remove."""
        ordered = sorted(files, key=lambda file: file.day)
        by_day = {day: list(of_day) for day, of_day in groupby(ordered, key=lambda file: file.day)}
        if table not in STATE_TABLES:
            return dict(self._whole_days(table, by_day))
        if self._retention.snapshots_all_days is None:
            return {}
        return dict(self._published_days(by_day) if table == _SNAPSHOTS else self._unneeded_days(table, by_day))

    def _whole_days(self, table: Table, by_day: Mapping[date, Sequence[LiveFile]]) -> Iterator[tuple[date, _Day]]:
        """Days older than the retention of the table."""
        kept_days = self._retention.admin_actions_days if table == ADMIN_ACTIONS else None
        if table in RECORD_TABLES:
            kept_days = self._retention.records_days
        if kept_days is None:
            return
        for day, files in by_day.items():
            if (self._today - day).days > kept_days:
                yield day, _Day(files, frozenset(), sum(file.rows or 0 for file in files))

    def _published_days(self, by_day: Mapping[date, Sequence[LiveFile]]) -> Iterator[tuple[date, _Day]]:
        """Days of table `snapshots` with rows of snapshots that are not kept."""
        published = {day: self._rows_of_files(files) for day, files in by_day.items()}
        removed = not_kept(chain.from_iterable(published.values()), self._retention, self._today)
        for day, snapshots in published.items():
            ids = frozenset(snapshot.snapshot_id for snapshot in snapshots)
            if ids & removed:
                yield day, _Day(by_day[day], ids - removed, len(ids & removed))

    def _unneeded_days(self, table: Table, by_day: Mapping[date, Sequence[LiveFile]]) -> Iterator[tuple[date, _Day]]:
        """Days with rows that published snapshots do not need.

        A day that should have a snapshot and has none is left alone: otherwise all rows would be lost if table `snapshots`
        had been replaced by an empty one.
        """
        for day, files in by_day.items():
            if not self._is_over(day):
                continue
            now = self._published.get(day, [])
            if _surplus(files, now, table) == 0:
                continue
            needed_by = [*now, *self._just_removed.get(day, [])]
            if not needed_by and not self._is_past_all(day):
                continue
            ids = ids_with_rows(needed_by, table.name)
            surplus = _surplus(files, needed_by, table)
            rows = self._count_others(table, files, ids) if surplus is None else surplus
            if rows > 0:
                yield day, _Day(files, ids, rows)

    def _is_over(self, day: date) -> bool:
        """True if no further snapshot of the day can be published, and snapshots of it may be removed."""
        hours = self._clock.now_ms() / _HOUR_MS - datetime(day.year, day.month, day.day, tzinfo=UTC).timestamp() / 3600
        return hours - 24 >= self._keep_hours and (self._today - day).days > (self._retention.snapshots_all_days or 0)

    def _is_past_all(self, day: date) -> bool:
        kept_days = self._retention.snapshots_daily_days
        return kept_days is not None and (self._today - day).days > kept_days

    @cached_property
    def _published(self) -> Mapping[date, Sequence[PublishedSnapshot]]:
        """Published snapshots by day; read after snapshots were removed, and then kept."""
        return _by_day(self._rows_of_files(self._live(_SNAPSHOTS)))

    @cached_property
    def _just_removed(self) -> Mapping[date, Sequence[PublishedSnapshot]]:
        """Snapshots by day that readers of earlier versions of table `snapshots` may still need."""
        kernel, location = self._warehouse.kernel, self._warehouse.locations[_SNAPSHOTS.name]
        since_ms = self._clock.now_ms() - min(_READERS_HOURS, self._keep_hours) * _HOUR_MS
        removed = removed_since(kernel.storage, location, since_ms)
        urls = [url for url, day in removed.items() if day is None or self._is_over(day)]
        return _by_day(chain.from_iterable(self._read(url) for url in urls if kernel.storage.size(url)))

    def _rows_of_files(self, files: Sequence[LiveFile]) -> list[PublishedSnapshot]:
        """The rows of files of table `snapshots`; each file is read once."""
        location = self._warehouse.locations[_SNAPSHOTS.name]
        new = [file for file in files if file.path not in self._rows]
        with ThreadPoolExecutor(_READ_AT_ONCE) as threads:
            rows = threads.map(lambda file: self._read(file.url(location)), new)
            self._rows.update(zip((file.path for file in new), rows, strict=True))
        return [row for file in files for row in self._rows[file.path]]

    def _read(self, url: str) -> Sequence[PublishedSnapshot]:
        arrow = read_table(self._warehouse.kernel.storage, url)
        arrow = arrow.select([name for name in _COLUMNS if name in arrow.column_names])
        captured = arrow["captured_at"].cast(TIMESTAMP)  # Spark may write INT96
        rows, places = arrow.drop_columns(["captured_at"]).to_pylist(), dict[StoredRows, StoredRows]()
        return [
            _published_snapshot(row, moment, places) for row, moment in zip(rows, captured.to_pylist(), strict=True)
        ]

    def _count_others(self, table: Table, files: Sequence[LiveFile], ids: frozenset[str]) -> int:
        """The number of rows of other snapshots."""
        location, kept = self._warehouse.locations[table.name], pa.array(ids, pa.string())
        count = 0
        for file in files:
            column = read_table(self._warehouse.kernel.storage, file.url(location), ["snapshot_id"])["snapshot_id"]
            count += len(column) - (pc.sum(pc.is_in(column, value_set=kept)).as_py() or 0)
        return count

    def _live(self, table: Table) -> list[LiveFile]:
        return self._warehouse.kernel.live_files(self._warehouse.state(table.name))


def refuse_to_thin(table: Table, days: int) -> None:
    """TableError if days were not thinned.

    A commit removes whole files, so a feed would show all of their rows as deleted, and the ids of the rows that stay are lost.
    """
    if days:
        raise TableError(
            f"table {table.name} has {CHANGE_DATA_FEED} or {ROW_TRACKING}, whose readers would see rows that stay as deleted "
            f"or new: {days:,} days are not thinned; set it to false, or retention.snapshots_daily_days to snapshots_all_days, "
            "so that whole days go"
        )


def _published_snapshot(
    row: Mapping[str, Any], captured_at: datetime, places: dict[StoredRows, StoredRows]
) -> PublishedSnapshot:
    """A row of table `snapshots`; equal values of its file are one object, because a warehouse has years of snapshots.

    Otherwise each takes 7 KB, most of it names of tables and ids.
    """

    def place(state: Mapping[str, Any]) -> StoredRows:
        made = StoredRows(intern(state["stored_in"]), state["row_count"])
        return places.setdefault(made, made)

    states = row.get("tables")
    return PublishedSnapshot(
        snapshot_id=intern(row["snapshot_id"]),
        cluster=intern(row["cluster"]),
        cluster_id=row["cluster_id"] and intern(row["cluster_id"]),
        captured_at=captured_at,
        day=captured_at.astimezone(UTC).date(),
        is_complete=row["status"] == "complete",
        stored=None if states is None else {intern(state["table_name"]): place(state) for state in states},
    )


def _surplus(files: Sequence[LiveFile], snapshots: Sequence[PublishedSnapshot], table: Table) -> int | None:
    """The number of rows of a day that its snapshots do not need; None if it is unknown."""
    needed = rows_of(snapshots, table.name)
    rows = [file.rows for file in files]
    return None if needed is None or None in rows else sum(count or 0 for count in rows) - needed


def _uncounted(days: Iterable[_Day]) -> int:
    """The number of files that go as a whole, and whose number of rows the log does not have."""
    return sum(file.rows is None for day in days if not day.kept for file in day.files)


def _by_day(snapshots: Iterable[PublishedSnapshot]) -> Mapping[date, Sequence[PublishedSnapshot]]:
    by_day: dict[date, list[PublishedSnapshot]] = {}
    for snapshot in snapshots:
        by_day.setdefault(snapshot.day, []).append(snapshot)
    return by_day


def _batches(days: Mapping[date, _Day], most_bytes: int) -> Iterator[Mapping[date, _Day]]:
    """Days of about that many bytes together, because each commit has a cost. Files of which no row is kept are not read."""
    batch: dict[date, _Day] = {}
    size = 0
    for number, day in days.items():
        of_day = sum(file.size if day.kept else min(file.size, _REMOVAL_BYTES) for file in day.files)
        if batch and size + of_day > most_bytes:
            yield batch
            batch, size = {}, 0
        batch[number] = day
        size += of_day
    if batch:
        yield batch
