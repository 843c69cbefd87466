"""Maintains tables: removes old rows, rewrites days that are over into fewer and larger files, and removes unneeded files.

Rows are removed only if settings of retention say so (delta/old_rows.py). Nothing is removed that a reader or a run may still
need: files only when no version of the last week needs them. Small days are joined here (delta/compact.py), large ones and all
of table `records` by Delta's own OPTIMIZE.
"""

import re
import shutil
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import field
from datetime import date
from itertools import groupby
from math import ceil
from typing import Any

from pyarrow.lib import ArrowException

from kafka_lagoon.clock import Clock
from kafka_lagoon.delta.compact import compact, has_row_ids
from kafka_lagoon.delta.files import DataFile, LiveFile
from kafka_lagoon.delta.log_files import removed_since
from kafka_lagoon.delta.log_store import spark_excludes
from kafka_lagoon.delta.old_rows import OldRows, RemovedRows, refuse_to_thin
from kafka_lagoon.delta.prepare_tables import declare_properties
from kafka_lagoon.delta.session import settings_for_block
from kafka_lagoon.delta.storage import JAVA_ERRORS, Storage, Stored, reason
from kafka_lagoon.delta.warehouse import COMMIT_LOCK_WAIT_MS, Warehouse
from kafka_lagoon.errors import ConfigError, TableError
from kafka_lagoon.frozen import frozen
from kafka_lagoon.job_settings import RetentionSettings
from kafka_lagoon.tables.record_tables import RECORD_TABLES, RECORDS
from kafka_lagoon.tables.schema import STATE_TABLES, STORED_TABLES, TABLES, WRITE_TABLES
from kafka_lagoon.tables.table import TOMBSTONE_RETENTION, Table
from kafka_lagoon.text import counted
from kafka_lagoon.times import utc_day

# A week, as in Delta: longer than any run that reads an old version or has not committed its files yet.
SAFE_HOURS = 168
TARGET_BYTES = 128 << 20
# One process joins small files itself up to this size; larger amounts go to Spark, on all executors.
ON_DRIVER_BYTES = 64 << 20
_ROW_GROUP_BYTES = 32 << 20
_INTERVAL = re.compile(r"(?:interval )?(\d+) (second|minute|hour|day|week)s?")  # value of a table's property
_SECONDS_OF = {"second": 1, "minute": 60, "hour": 3600, "day": 86_400, "week": 604_800}
_CHANGES = "_change_data"  # the folder of a table's change data feed
# Files of commits that log stores are about to rename, and Hadoop's checksums of them.
_TEMPORARY = (".tmp", ".tmp.crc")
_CHECKSUM = re.compile(r"/(\d{20})\.crc$")  # of the whole table at a version

# Z-order by topic and partition, so that a file holds few of them; tests/bench/layout.py has the figures. Time is no third
# column: topics and partitions are few, so its bits would come first in Delta's curve and every file would hold all topics of
# an hour.
_ORDER = {RECORDS.name: "ZORDER BY (topic, `partition`)"}


# A snapshot in `snapshots` first, in reverse order of commits; records before their ranges and problems (delta/old_rows.py).
IN_ORDER = (*reversed(STATE_TABLES), *STORED_TABLES, *RECORD_TABLES, *WRITE_TABLES)


@frozen
class MaintainOptions:
    """Options of maintenance. Less than `SAFE_HOURS` needs `force`, and is safe only while no run and no reader is active."""

    tables: tuple[str, ...] = tuple(table.name for table in IN_ORDER)
    retention: RetentionSettings = field(default_factory=RetentionSettings)
    keep_hours: int = SAFE_HOURS
    force: bool = False
    dry_run: bool = False
    target_bytes: int = TARGET_BYTES


@frozen
class Files:
    """The number of files and their size in bytes."""

    count: int = 0
    size: int = 0

    def __add__(self, other: "Files") -> "Files":
        return Files(count=self.count + other.count, size=self.size + other.size)


@frozen
class Maintained:
    """The changes to a table, or those of a dry run: old rows removed, `days` rewritten, and old files removed.

    In a dry run `after` is an estimate, of the same size as `before`.
    """

    table: str
    days: int
    before: Files
    after: Files
    removed: Files
    old: RemovedRows = field(default_factory=RemovedRows)
    stored_days: int = 0  # number of days whose rows were stored (runs/stored_days.py)
    dropped_days: int = 0  # number of stored days that were removed, because no snapshot of them is left
    not_stored: str | None = None  # a message about days whose rows could not be computed


@frozen
class _Day:
    day: date
    files: Sequence[LiveFile]
    small: Sequence[LiveFile]


def maintain(
    warehouse: Warehouse, options: MaintainOptions, clock: Clock, old_rows: OldRows | None = None
) -> list[Maintained]:
    """Remove old rows of tables, compact their closed days and remove files that nobody needs any more.

    Whoever calls it for one table after the other gives the same `old_rows`, which read once what is published.

    ConfigError before anything is done if `options` name no table of ours, or too few hours without force; LockHeld if
    others commit to a local warehouse without a pause; TableError with Delta's words for the rest.
    """
    check_options(options)
    old_rows = old_rows or OldRows(warehouse, options.retention, options.keep_hours, clock)
    tables = [table for table in IN_ORDER if table.name in options.tables]
    return [_maintained(warehouse, table, options, clock, old_rows) for table in tables]


def in_order(names: Collection[str]) -> tuple[str, ...]:
    """Names of tables in the order in which they are maintained; unknown names come last."""
    known = [table.name for table in IN_ORDER]
    return tuple(sorted(names, key=lambda name: known.index(name) if name in known else len(known)))


def check_options(options: MaintainOptions) -> None:
    """Raise ConfigError with all faults of the options."""
    known = {table.name for table in TABLES}
    problems = [f"there is no table {name}" for name in options.tables if name not in known]
    if options.keep_hours < SAFE_HOURS and not options.force:
        problems.append(
            f"{options.keep_hours} hours are less than {SAFE_HOURS}: readers and runs that are under way could lose files; "
            "force it when there are none"
        )
    if problems:
        raise ConfigError(problems)


def _maintained(
    warehouse: Warehouse, table: Table, options: MaintainOptions, clock: Clock, old_rows: OldRows
) -> Maintained:
    if not warehouse.has(table):
        return Maintained(table=table.name, days=0, before=Files(), after=Files(), removed=Files())
    state = warehouse.state(table.name)
    if not options.dry_run:
        with warehouse.exclusively("commit", clock, COMMIT_LOCK_WAIT_MS):
            declare_properties(warehouse, table, state)
    try:
        with _vacuumed_if_it_fails(warehouse, table, options, clock):
            old, files = _without_old_rows(warehouse, table, warehouse.kernel.live_files(state), options, old_rows)
            days = list(_scattered_days(table, files, options, clock))
            before = sum((_sum(day.files) for day in days), Files())
            if options.dry_run:
                after = Files(
                    count=sum(ceil(_sum(day.files).size / options.target_bytes) for day in days), size=before.size
                )
            else:
                rewritten = [_rewrite(warehouse, table, batch, options, clock) for batch in _batches(days, options)]
                before = sum((each for each, _ in rewritten), Files())
                after = sum((each for _, each in rewritten), Files())
        removed = _vacuum(warehouse, table, options, clock)
        refuse_to_thin(table, old.not_thinned)
    except (*JAVA_ERRORS, ArrowException) as error:
        raise TableError(f"table {table.name} cannot be maintained: {reason(error)}") from error
    return Maintained(table=table.name, days=len(days), before=before, after=after, removed=removed, old=old)


@contextmanager
def _vacuumed_if_it_fails(warehouse: Warehouse, table: Table, options: MaintainOptions, clock: Clock) -> Iterator[None]:
    """Remove unneeded files also if the block fails, as it does each night where the disk is full or a file is damaged."""
    try:
        yield
    except (TableError, *JAVA_ERRORS, ArrowException):
        if not options.dry_run:
            with suppress(TableError, *JAVA_ERRORS):
                _vacuum(warehouse, table, options, clock)
        raise


def _without_old_rows(
    warehouse: Warehouse, table: Table, files: Sequence[LiveFile], options: MaintainOptions, old_rows: OldRows
) -> tuple[RemovedRows, Sequence[LiveFile]]:
    """Remove old rows of a table; returns what was removed, and the table's files after it."""
    if options.dry_run:
        return old_rows.would_go(table, files), files
    old = old_rows.remove(table, files, options.target_bytes)
    return old, warehouse.kernel.live_files(warehouse.state(table.name)) if old.days else files


def _scattered_days(table: Table, files: Sequence[LiveFile], options: MaintainOptions, clock: Clock) -> Iterator[_Day]:
    """The days before today (UTC) that have more than one file of less than half the target size.

    So rewritten days and the files of large runs stay as they are until more files arrive. A table in Z-order is judged by the
    number of its files: Z-order makes files with equal numbers of rows, which differ in size if the records of topics do.
    """
    today = utc_day(clock.now_ms())
    for day, group in groupby(sorted(files, key=lambda file: file.day), key=lambda file: file.day):
        of_day = list(group)
        small = [file for file in of_day if file.size < options.target_bytes // 2]
        full = _sum(of_day).size // options.target_bytes
        is_in_order = table.name in _ORDER and len(of_day) <= max(1, full + full // 4)
        if len(small) > 1 and day < today and not is_in_order:
            yield _Day(day=day, files=of_day, small=small)


def _batches(days: Sequence[_Day], options: MaintainOptions) -> Iterator[list[_Day]]:
    """Days that are rewritten together: enough for two full files, because each commit and each statement has a cost."""
    batch: list[_Day] = []
    size = 0
    for day in days:
        of_day = _sum(day.files).size
        if batch and size + of_day > 2 * options.target_bytes:
            yield batch
            batch, size = [], 0
        batch.append(day)
        size += of_day
    if batch:
        yield batch


def _rewrite(
    warehouse: Warehouse, table: Table, days: Sequence[_Day], options: MaintainOptions, clock: Clock
) -> tuple[Files, Files]:
    """Compact days; returns the old files and the new ones."""
    small = [file for day in days for file in day.small]
    if table.name in _ORDER or _sum(small).size > ON_DRIVER_BYTES or has_row_ids(warehouse, table):
        # The second of two rewrites at once fails when it has written all, and Spark leaves its files.
        with warehouse.exclusively(f"optimize-{table.name}", clock, 0):
            _check_space(warehouse, table, days)
            with settings_for_block(warehouse.spark, _spark_settings(options)):
                return _optimize(warehouse, table, days, clock)
    before, after = compact(warehouse, table, small, options.target_bytes, clock)
    return _sum(before), _sum(after)


def _check_space(warehouse: Warehouse, table: Table, days: Sequence[_Day]) -> None:
    """TableError if the disk has less space than Spark's new files may take, which are about as large as the old ones.

    Spark leaves the files of a rewrite that fails. They would fill the disk, also for snapshots and ingests, and nobody knows
    whose they are before they are a week old. Object stores are not measured.
    """
    folder = warehouse.kernel.storage.local(warehouse.locations[table.name])
    needed = sum((_sum(day.files if table.name in _ORDER else day.small) for day in days), Files())
    if folder is not None and (free := shutil.disk_usage(folder).free) < needed.size:
        raise TableError(
            f"{needed.count:,} files of {counted(len(days), 'day')} of table {table.name} are not joined: "
            f"that needs {needed.size / 1e6:,.1f} MB, and the disk of {folder} has {free / 1e6:,.1f} MB free"
        )


def _optimize(warehouse: Warehouse, table: Table, days: Sequence[_Day], clock: Clock) -> tuple[Files, Files]:
    """Compact days with Spark in one commit; returns the old files and the new ones.

    Others can commit meanwhile where Spark's commit excludes them by itself; elsewhere they wait until the statement has
    finished.
    """
    name, order = warehouse.identifiers[table.name], _ORDER.get(table.name, "")
    dates = ", ".join(f"DATE'{day.day}'" for day in days)
    statement = f"OPTIMIZE {name} WHERE {table.partition_by} IN ({dates}) {order}"
    excludes = spark_excludes(warehouse.spark, warehouse.kernel.storage, warehouse.locations[table.name])
    with nullcontext() if excludes else warehouse.exclusively("commit", clock, COMMIT_LOCK_WAIT_MS):
        metrics = warehouse.spark.sql(statement).collect()[0]["metrics"]
    return _files(metrics["filesRemoved"]), _files(metrics["filesAdded"])


def _vacuum(warehouse: Warehouse, table: Table, options: MaintainOptions, clock: Clock) -> Files:
    """Remove the files that no version of the last `keep_hours` needs, or count them. A table's property may keep them longer.

    A version whose commit is no longer in the log keeps no files, because it cannot be read. Spark's VACUUM does the same, but
    takes 4 s of CPU for each table, in which time a hundred thousand files are listed here.

    A link in place of a day's folder is not followed: whoever may write the tables could have files of others removed.
    """
    hours = options.keep_hours if options.force else max(options.keep_hours, _kept_by_property(warehouse, table))
    unneeded = _unneeded(warehouse, table, clock.now_ms() - hours * 3_600_000)
    if not options.dry_run:
        storage = warehouse.kernel.storage
        for file in unneeded:
            if not _is_behind_link(storage, file.url):  # it may have been put there since
                storage.delete(file.url)
    return Files(count=len(unneeded), size=sum(file.size for file in unneeded))


def _is_behind_link(storage: Storage, url: str) -> bool:
    """True if the folder of a file, or that of the change data which it is in, is a link."""
    folder = url.rpartition("/")[0]
    above = folder.rpartition("/")[0]
    return storage.is_link(folder) or (above.endswith(f"/{_CHANGES}") and storage.is_link(above))


def _kept_by_property(warehouse: Warehouse, table: Table) -> int:
    """Hours for which the table's own property keeps removed files; TableError if it is not a number of one unit."""
    text = warehouse.kernel.table_property(warehouse.state(table.name), TOMBSTONE_RETENTION) or ""
    interval = _INTERVAL.fullmatch(text.strip().lower())
    if text and not interval:
        raise TableError(f"table {table.name}: {TOMBSTONE_RETENTION} is {text}: write it as interval 30 days")
    return ceil(int(interval[1]) * _SECONDS_OF[interval[2]] / 3600) if interval else 0


def _unneeded(warehouse: Warehouse, table: Table, before_ms: int) -> list[Stored]:
    """Files from before `before_ms` that no version since then names; parts of commits and of change data that are as old."""
    storage, location = warehouse.kernel.storage, warehouse.locations[table.name]
    names = storage.names(location)
    folders = [f"{location}/{name}" for name in names if name.startswith(f"{table.partition_by}=")]
    files = (file for folder in folders if not storage.is_link(folder) for file in storage.listed(folder))
    old = [file for file in files if file.modified_at_ms <= before_ms and not _is_hidden(file)]
    parts = [*_parts_of_commits(storage, location), *(_changes(storage, location) if _CHANGES in names else ())]
    parts = [file for file in parts if file.modified_at_ms <= before_ms]
    if not old:
        return parts
    needed = {file.url(location) for file in warehouse.kernel.live_files(warehouse.state(table.name))}
    unnamed = [file for file in old if file.url not in needed]
    removed = set(removed_since(storage, location, before_ms)) if unnamed else set()
    return [*(file for file in unnamed if file.url not in removed), *parts]


def _parts_of_commits(storage: Storage, location: str) -> list[Stored]:
    """Files of a table's log that belong to no commit in it.

    A writer that was killed before it gave its commit a name leaves a temporary file. Spark writes a checksum file for each of
    its commits, which has all next offsets of an archive; Delta Kernel removes old commits without theirs.
    """
    log = f"{location}/_delta_log"
    stored = storage.listed(log)
    names = {file.url.removeprefix(f"{log}/") for file in stored}
    return [
        file
        for file in stored
        if (file.url.startswith(f"{log}/.") and file.url.endswith(_TEMPORARY))
        or ((checksum := _CHECKSUM.search(file.url)) and f"{checksum[1]}.json" not in names)
    ]


def _changes(storage: Storage, location: str) -> Iterator[Stored]:
    """Files of a table's change data feed, which versions name beside their rows. VACUUM, too, removes them by their age."""
    feed = f"{location}/{_CHANGES}"
    if not storage.is_link(feed):
        for folder in (feed, *(f"{feed}/{name}" for name in storage.names(feed) if "=" in name)):
            if not storage.is_link(folder):
                yield from storage.listed(folder)


def _is_hidden(file: Stored) -> bool:
    return file.url.rpartition("/")[2].startswith((".", "_"))


def _sum(files: Sequence[LiveFile | DataFile]) -> Files:
    return Files(count=len(files), size=sum(file.size for file in files))


def _files(metrics: Any) -> Files:
    return Files(count=metrics["totalFiles"], size=metrics["totalSize"])


def _spark_settings(options: MaintainOptions) -> Mapping[str, str]:
    """Spark's and Delta's settings about rewritten files."""
    return {
        "spark.databricks.delta.optimize.maxFileSize": str(options.target_bytes),
        "spark.databricks.delta.optimize.minFileSize": str(options.target_bytes // 2),
        "spark.databricks.io.skipping.mdc.sortWithinFiles": "true",
        "spark.sql.parquet.compression.codec": "zstd",
        "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
        "parquet.block.size": str(_ROW_GROUP_BYTES),
    }
