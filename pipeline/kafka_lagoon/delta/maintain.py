"""Maintains tables: rewrites days that are over into fewer and larger files, and removes files that no version needs.

It changes no row and removes nothing that a reader or a run may still need: Delta's own OPTIMIZE rewrites, and files are
removed only when no version of the last week needs them.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, date, datetime
from itertools import groupby
from math import ceil
from typing import Any

from pyspark.sql import SparkSession

from kafka_lagoon.clock import Clock
from kafka_lagoon.delta.schema import RECORDS, TABLES, Table
from kafka_lagoon.delta.storage import JAVA_ERRORS, reason
from kafka_lagoon.delta.warehouse import COMMIT_LOCK_WAIT_MS, Warehouse, declare_properties
from kafka_lagoon.errors import ConfigError, TableError

# A week, as Delta has it: longer than any run that reads an old version or has not committed its files yet.
SAFE_HOURS = 168
TARGET_BYTES = 128 << 20
_ROW_GROUP_BYTES = 32 << 20

# Files that hold few topics and partitions each; tests/bench/layout.py has the figures. Time is no third column: topics and
# partitions are few, so its bits would come first in Delta's curve and every file would hold all topics of an hour.
_ORDER = {RECORDS.name: "ZORDER BY (topic, `partition`)"}


@dataclass(frozen=True, slots=True, kw_only=True)
class MaintainOptions:
    """What maintenance may do. Less than `SAFE_HOURS` needs `force`, and that no run and no reader is under way."""

    tables: tuple[str, ...] = tuple(table.name for table in TABLES)
    keep_hours: int = SAFE_HOURS
    force: bool = False
    dry_run: bool = False
    target_bytes: int = TARGET_BYTES


@dataclass(frozen=True, slots=True, kw_only=True)
class Files:
    """A number of files and their size in bytes."""

    count: int = 0
    size: int = 0

    def __add__(self, other: "Files") -> "Files":
        return Files(count=self.count + other.count, size=self.size + other.size)


@dataclass(frozen=True, slots=True, kw_only=True)
class Maintained:
    """What was done for a table, or in a dry run would be: `days` rewritten, and old files removed.

    In a dry run `after` is an estimate, of the same size as `before`.
    """

    table: str
    days: int
    before: Files
    after: Files
    removed: Files


@dataclass(frozen=True, slots=True, kw_only=True)
class _Day:
    day: date
    files: Files
    small: int


def maintain(warehouse: Warehouse, options: MaintainOptions, clock: Clock) -> list[Maintained]:
    """Compact the closed days of tables and remove files that nobody needs any more.

    ConfigError before anything is done if `options` name no table of ours, or too few hours without force; LockHeld if
    others commit to a local warehouse without a pause; TableError with Delta's words for the rest.
    """
    check_options(options)
    return [_maintained(warehouse, table, options, clock) for table in TABLES if table.name in options.tables]


def check_options(options: MaintainOptions) -> None:
    """ConfigError with everything that is wrong with them."""
    known = {table.name for table in TABLES}
    problems = [f"there is no table {name}" for name in options.tables if name not in known]
    if options.keep_hours < SAFE_HOURS and not options.force:
        problems.append(
            f"{options.keep_hours} hours are less than {SAFE_HOURS}: readers and runs that are under way could lose files; "
            "force it when there are none"
        )
    if problems:
        raise ConfigError(problems)


def _maintained(warehouse: Warehouse, table: Table, options: MaintainOptions, clock: Clock) -> Maintained:
    if not warehouse.has(table):
        return Maintained(table=table.name, days=0, before=Files(), after=Files(), removed=Files())
    if not options.dry_run:
        with warehouse.exclusively("commit", clock, COMMIT_LOCK_WAIT_MS):
            declare_properties(warehouse, table, warehouse.state(table.name))
    days = list(_scattered_days(warehouse, table, options, clock))
    before = sum((day.files for day in days), Files())
    try:
        with _spark_settings(warehouse.spark, options):
            if options.dry_run:
                after = Files(count=sum(ceil(day.files.size / options.target_bytes) for day in days), size=before.size)
            else:
                rewritten = [_rewrite(warehouse, table, batch, clock) for batch in _batches(days, options)]
                before = sum((each for each, _ in rewritten), Files())
                after = sum((each for _, each in rewritten), Files())
            removed = _vacuum(warehouse, table, options, clock)
    except JAVA_ERRORS as error:
        raise TableError(f"table {table.name} cannot be maintained: {reason(error)}") from error
    return Maintained(table=table.name, days=len(days), before=before, after=after, removed=removed)


def _scattered_days(warehouse: Warehouse, table: Table, options: MaintainOptions, clock: Clock) -> Iterator[_Day]:
    """The days before today (UTC) that have more than one file of less than half the target.

    So what has been rewritten is left alone until more comes, and what large runs wrote is as it would be.
    """
    today = datetime.fromtimestamp(clock.now_ms() / 1000, UTC).date()
    sizes = sorted(warehouse.kernel.sizes(warehouse.state(table.name)))
    for day, group in groupby(sizes, key=lambda size: size[0]):
        of_day = [size for _, size in group]
        small = sum(1 for size in of_day if size < options.target_bytes // 2)
        if small > 1 and date.fromisoformat(day) < today:
            yield _Day(day=date.fromisoformat(day), files=Files(count=len(of_day), size=sum(of_day)), small=small)


def _batches(days: Sequence[_Day], options: MaintainOptions) -> Iterator[list[_Day]]:
    """Days that are rewritten by one statement: as many as make two full files, since each statement costs 3 s of CPU."""
    batch: list[_Day] = []
    for day in days:
        if batch and sum(each.files.size for each in (*batch, day)) > 2 * options.target_bytes:
            yield batch
            batch = []
        batch.append(day)
    if batch:
        yield batch


def _rewrite(warehouse: Warehouse, table: Table, days: Sequence[_Day], clock: Clock) -> tuple[Files, Files]:
    """Compact days; the files that were, and those that took their place.

    One lock and one commit: others wait for one large day, or for some small ones, at most.
    """
    name, order = warehouse.identifiers[table.name], _ORDER.get(table.name, "")
    dates = ", ".join(f"DATE'{day.day}'" for day in days)
    statement = f"OPTIMIZE {name} WHERE {table.partition_by} IN ({dates}) {order}"
    with warehouse.exclusively("commit", clock, COMMIT_LOCK_WAIT_MS):
        metrics = warehouse.spark.sql(statement).collect()[0]["metrics"]
    return _files(metrics["filesRemoved"]), _files(metrics["filesAdded"])


def _vacuum(warehouse: Warehouse, table: Table, options: MaintainOptions, clock: Clock) -> Files:
    """Remove files that no version of the last `keep_hours` needs, or only count them."""
    if not _has_old_files(warehouse, table, clock.now_ms() - options.keep_hours * 3_600_000):
        return Files()
    statement = f"VACUUM {warehouse.identifiers[table.name]} RETAIN {options.keep_hours} HOURS"
    with warehouse.exclusively("commit", clock, COMMIT_LOCK_WAIT_MS):
        unneeded = [row["path"] for row in warehouse.spark.sql(f"{statement} DRY RUN").collect()]
        size = sum(map(warehouse.kernel.storage.size, unneeded))
        if unneeded and not options.dry_run:
            warehouse.spark.sql(statement).collect()
    return Files(count=len(unneeded), size=size)


def _has_old_files(warehouse: Warehouse, table: Table, before_ms: int) -> bool:
    """Whether there is a file from before `before_ms` that the latest version does not name.

    VACUUM costs 4 s of CPU for a table, this 1 ms for a file, and in most tables on most days there is none.
    """
    storage, location = warehouse.kernel.storage, warehouse.locations[table.name]
    named = {url.rpartition("/")[2] for url in warehouse.kernel.urls(warehouse.state(table.name))}
    folders = (f"{location}/{name}" for name in storage.names(location) if name != "_delta_log")
    return any(name not in named for folder in folders for name in storage.names_before(folder, before_ms))


def _files(metrics: Any) -> Files:
    return Files(count=metrics["totalFiles"], size=metrics["totalSize"])


@contextmanager
def _spark_settings(spark: SparkSession, options: MaintainOptions) -> Iterator[None]:
    """The settings of Spark and Delta that decide how files are rewritten, for as long as it takes."""
    settings: Mapping[str, str] = {
        "spark.databricks.delta.optimize.maxFileSize": str(options.target_bytes),
        "spark.databricks.delta.optimize.minFileSize": str(options.target_bytes // 2),
        "spark.databricks.io.skipping.mdc.sortWithinFiles": "true",
        "spark.databricks.delta.retentionDurationCheck.enabled": str(not options.force).lower(),
        # By default VACUUM takes the table's own retention, a week, whatever hours are given, but for 0.
        "spark.databricks.delta.vacuum.retentionWindowIgnore.enabled": "false",
        "spark.sql.parquet.compression.codec": "zstd",
        "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
        "parquet.block.size": str(_ROW_GROUP_BYTES),
        # VACUUM lists folders in so many tasks; Spark's default of 10,000 takes two cores a minute for nothing.
        "spark.sql.sources.parallelPartitionDiscovery.parallelism": str(4 * spark.sparkContext.defaultParallelism),
    }
    before = {key: spark.conf.get(key, None) for key in settings}
    for key, value in settings.items():
        spark.conf.set(key, value)
    try:
        yield
    finally:
        for key, old in before.items():
            if old is None:
                spark.conf.unset(key)
            else:
                spark.conf.set(key, old)
