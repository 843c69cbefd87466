"""Opens the warehouse that settings name: a folder or a schema of a catalog, with tables that have our columns.

It is opened before a cluster is captured, so that nothing is requested that cannot be written.
"""

import os
import uuid
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import field
from datetime import date
from pathlib import Path
from threading import Lock
from typing import Any

from pyspark.sql import SparkSession

from kafka_lagoon.clock import Clock
from kafka_lagoon.delta import kernel
from kafka_lagoon.delta.arrow import plain_table
from kafka_lagoon.delta.file_names import file_name
from kafka_lagoon.delta.files import DataFile
from kafka_lagoon.delta.foreign_commits import Kind, commits_since, contradiction
from kafka_lagoon.delta.kernel import Kernel, State
from kafka_lagoon.delta.lock import check_existing, locked
from kafka_lagoon.delta.log_store import check_exclusion, choose_log_store, use_ours
from kafka_lagoon.delta.storage import JAVA_ERRORS, is_unreachable, reason
from kafka_lagoon.errors import ChecksFailed, ConfigError, NeedsSession, SchemaChanged, TableError
from kafka_lagoon.folders import NAME_USER, nameless_user, owner
from kafka_lagoon.frozen import frozen
from kafka_lagoon.settings import NO_PLACE, Settings
from kafka_lagoon.tables.columns import Column
from kafka_lagoon.tables.schema import TABLES
from kafka_lagoon.tables.table import (
    LOG_RETENTION,
    STATISTICS_COLUMNS,
    TOMBSTONE_RETENTION,
    UNWRITTEN,
    Table,
    differences,
    spelled,
)
from kafka_lagoon.warehouse_settings import no_warehouse, own_folder
from kafka_lagoon.warehouse_urls import credentials_fault, in_s3

# Appends wait for the log's file system as much as for a core: on two cores 0.65 s with 4 threads, 0.95 s with one.
PARALLEL = 4
COMMIT_LOCK_WAIT_MS = 60_000
LONGEST_COMMIT_WAIT_MS = 3_600_000  # for a run without a deadline: the records that it has read are worth the wait
_FORGETS = "delta.setTransactionRetentionDuration"
_NO_CLASS = ("No FileSystem for scheme", "ClassNotFoundException", "NoClassDefFoundError")
_HADOOP_MODULES = {"s3a": "hadoop-aws", "abfss": "hadoop-azure", "abfs": "hadoop-azure", "gs": "hadoop-gcp"}


@frozen
class Warehouse:
    """The tables of one place: a folder with one folder each, or a schema of a catalog."""

    session: SparkSession | None  # None if the warehouse was opened without one
    kernel: Kernel
    name: str  # a folder's URL, or catalog and schema, quoted
    in_catalog: bool
    identifiers: Mapping[str, str]  # SQL's names of the tables, quoted
    locations: Mapping[str, str]  # their URLs
    committing: Lock = field(default_factory=Lock)
    opened: dict[str, State] = field(default_factory=dict)  # the versions that `open_warehouse` read

    @property
    def spark(self) -> SparkSession:
        """The session that runs statements over these tables; NeedsSession if there is none.

        One is not started beside a JVM of our own, because PySpark attributes every exception of Java to its own JVM.
        """
        if self.session is None:
            raise NeedsSession(f"only a Spark session can do this with the tables in {self.name}")
        return self.session

    def state(self, table: str) -> State:
        """The latest version of a table; TableError if it is gone."""
        state = self.kernel.load(self.locations[table])
        if state is None:
            raise TableError(f"there is no table {table} at {self.locations[table]}: {UNWRITTEN}")
        return state

    def base(self, table: str) -> State:
        """A version of a table that files can be appended to: the opened one, else the latest.

        Reading the log again costs as much as the commit, and more with each commit that is kept. The Kernel reads later
        commits if there are any.
        """
        return self.opened.get(table) or self.state(table)

    def state_to_read(self, table: Table) -> State:
        """The latest version of a table for reading its data files; SchemaChanged if the files alone do not have its rows.

        With deletion vectors a file has rows that are deleted, and with column mapping its columns have other names.
        """
        state = self.state(table.name)
        columns_to_add(table, state)
        return state

    def write_rows(self, table: Table, rows: Sequence[Any], day: date) -> DataFile:
        """Write rows as a new data file of a day, which no commit names yet; TableError if it cannot be written."""
        url = f"{self.locations[table.name]}/{table.partition_by}={day}/{uuid.uuid4().hex}.parquet"
        return self.kernel.storage.write_rows(url, plain_table(table, rows))

    def has(self, table: Table) -> bool:
        """True if a table exists; tables that are not optional are assumed to exist."""
        if not table.is_optional:
            return True
        location = self.locations.get(table.name)
        return location is not None and self.kernel.load(location) is not None

    def lock_file(self, what: str) -> Path | None:
        """The file of the lock called `what`; None for tables that are not on a local path."""
        folder = self.kernel.storage.local(self.locations["snapshots"])
        return None if folder is None else folder.parent / f".lagoon-{file_name(what)}.lock"

    @property
    def has_locks(self) -> bool:
        """True if a lock can keep other runs away; elsewhere only transaction ids do."""
        return self.lock_file("commit") is not None

    @contextmanager
    def exclusively(self, what: str, clock: Clock, wait_ms: int) -> Iterator[None]:
        """Hold the lock called `what` beside tables on a local path; does nothing on other file systems.

        Runs of this process over other clusters commit one after the other, however long each takes.
        """
        path = self.lock_file(what)
        if path is None:
            yield
            return
        with self.committing if what == "commit" else nullcontext(), locked(path, clock, wait_ms):
            yield


def at_path(spark: SparkSession, path: str) -> Warehouse:
    """The warehouse in a folder, given as a path or URL; its tables are not checked.

    ConfigError if no file system serves such URLs, or if the URL has credentials in it.
    """
    if fault := credentials_fault(path):
        raise ConfigError([f"warehouse: {fault}"])
    delta = kernel.start(spark)
    choose_log_store(spark, delta.storage, path, "warehouse")
    return _at_path(spark, delta, path)


def _at_path(session: SparkSession | None, delta: Kernel, path: str) -> Warehouse:
    try:
        root = delta.storage.qualified(path)
    except TableError as error:
        raise ConfigError([f"warehouse: {error}{_cure(delta, path, str(error))}"]) from error
    locations = {table.name: f"{root}/{table.name}" for table in TABLES}
    names = {table: f"delta.{_quoted(location)}" for table, location in locations.items()}
    return Warehouse(session=session, kernel=delta, name=root, in_catalog=False, identifiers=names, locations=locations)


def _cure(delta: Kernel, path: str, problem: str) -> str:
    """The package with the file system of a URL, if its classes are missing; a name for this user, if it has none."""
    if fault := nameless_user():
        return f"; {fault}: {NAME_USER}"
    if not any(one in problem for one in _NO_CLASS):
        return ""
    module = _HADOOP_MODULES.get(path.partition("://")[0])
    version = delta.storage.jvm.org.apache.hadoop.util.VersionInfo.getVersion()
    return f"; spark-submit --packages org.apache.hadoop:{module}:{version} brings what serves it" if module else ""


def in_catalog(spark: SparkSession, catalog: str, schema: str) -> Warehouse:
    """The warehouse in a schema of a catalog; TableError if a table is missing there."""
    delta = kernel.start(spark)
    place = f"{_quoted(catalog)}.{_quoted(schema)}"
    names = {table.name: f"{place}.{table.name}" for table in TABLES}
    locations = dict(_catalog_locations(spark, names))
    choose_log_store(spark, delta.storage, locations["snapshots"], "catalog")
    return Warehouse(session=spark, kernel=delta, name=place, in_catalog=True, identifiers=names, locations=locations)


def find_warehouse(spark: SparkSession, settings: Settings) -> Warehouse:
    """Find the warehouse that settings name, for reading; TableError if no run has created its tables."""
    warehouse = _warehouse(spark, settings)
    warehouse.state("snapshots")
    return warehouse


def open_warehouse(
    spark: SparkSession, settings: Settings, clock: Clock, tables: Sequence[Table] = TABLES
) -> Warehouse:
    """The warehouse that settings name, for writing to some tables: those that are missing are created, all if none is there.

    ConfigError names the setting if the place cannot be written or does not keep writers apart; SchemaChanged if a
    table does not have our columns. Nullable columns that a newer version of ours brings are added, and tables of version 0.1.0
    are made to answer the filters of every reader.
    """
    if not settings.warehouse:
        _create_in_catalog(spark, settings)
    warehouse = _warehouse(spark, settings)
    if settings.warehouse:
        _check_creation(warehouse, settings)
        check_writable(warehouse)
    prepare_tables(warehouse, tables, clock)
    return warehouse


def open_alone(delta: Kernel, settings: Settings, tables: Sequence[Table], clock: Clock) -> Warehouse:
    """The warehouse of the settings in a local folder or in S3, for writing to some tables, without a session of Spark.

    All tables are created if there are none. Errors are those of `open_warehouse`, and NeedsSession where columns are missing.
    """
    path = settings.warehouse or ""
    if in_s3(path):
        use_ours(delta.storage, path.partition("://")[0], "warehouse")
    warehouse = _at_path(None, delta, path)
    _check_creation(warehouse, settings)
    check_writable(warehouse)
    prepare_tables(warehouse, tables, clock)
    return warehouse


def prepare_tables(warehouse: Warehouse, tables: Sequence[Table], clock: Clock) -> None:
    """Create or complete tables; all tables, so that queries over several find them, if there are none."""
    with warehouse.exclusively("commit", clock, COMMIT_LOCK_WAIT_MS), ThreadPoolExecutor(PARALLEL) as threads:
        is_new = tables != TABLES and warehouse.kernel.load(warehouse.locations["snapshots"]) is None
        list(threads.map(lambda table: _prepare(warehouse, table), TABLES if is_new else tables))


def columns_to_add(table: Table, state: State) -> tuple[Column, ...]:
    """Nullable columns of ours that an existing table lacks; SchemaChanged if it differs in any other way."""
    faults = differences(table, state.schema["fields"], state.partition_by, spelled)
    if state.reader_version != 1:
        # Version 2 is older than lists of features, and means this one.
        cures = [
            f"ALTER TABLE {table.name} DROP FEATURE {name}" for name in state.reader_features or ("columnMapping",)
        ]
        faults.append(f"it needs readers of version {state.reader_version}, not 1: {' and '.join(cures)}")
    if faults:
        raise SchemaChanged(f"table {table.name} at {state.location} is not as we made it: {'; '.join(faults)}")
    theirs = {field["name"] for field in state.schema["fields"]}
    return tuple(column for column in table.columns if column.name not in theirs)


def _warehouse(spark: SparkSession, settings: Settings) -> Warehouse:
    if settings.warehouse:
        return at_path(spark, settings.warehouse)
    catalog, schema = _catalog_and_schema(settings)
    return in_catalog(spark, catalog, schema)


def _check_creation(warehouse: Warehouse, settings: Settings) -> None:
    """Raise ConfigError for a warehouse that does not exist, unless what it would be in exists and is empty.

    About folders that this process reaches by itself `creation_fault` of warehouse_settings.py decides, before Spark starts.
    """
    if settings.create or own_folder(settings) is not None:
        return
    storage, above = warehouse.kernel.storage, warehouse.name.rpartition("/")[0]
    try:
        is_allowed = storage.exists(warehouse.name) or (storage.exists(above) and not storage.names(above))
    except TableError as error:
        if is_unreachable(error.__cause__):
            raise ConfigError([f"warehouse: {error}"]) from error
        return  # the check that it can be written says why not
    if not is_allowed:
        raise ConfigError([no_warehouse(warehouse.name)])


def check_writable(warehouse: Warehouse) -> None:
    """Raise ConfigError if the warehouse cannot be written, its commits be locked, or if it does not keep writers apart."""
    probe = f"{warehouse.name}/.lagoon-probe-{uuid.uuid4().hex}"
    try:
        warehouse.kernel.storage.write(probe, b"")
        warehouse.kernel.storage.delete(probe)
        if commit_lock := warehouse.lock_file("commit"):
            check_existing(commit_lock)
    except TableError as error:
        # The name of the folder is in the settings, and that of the probe is not.
        problem = str(error).replace(probe, warehouse.name)
        cure = _whose(warehouse) if isinstance(error.__cause__, PermissionError) else ""
        raise ConfigError([f"warehouse: {problem}{cure}"]) from error
    check_exclusion(warehouse.kernel.storage, warehouse.name)


def _whose(warehouse: Warehouse) -> str:
    """The owner of a folder of this machine that this user may not write to, and the cure; else nothing."""
    folder = warehouse.kernel.storage.local(warehouse.name)
    if folder is None or os.access(folder, os.W_OK | os.X_OK, effective_ids=True):
        return ""
    with suppress(OSError):  # the folder does not exist, or is in another one that this user may not enter
        return f": it belongs to user {owner(folder)}: let user {os.geteuid()} write to it"
    return ""


def _create_in_catalog(spark: SparkSession, settings: Settings) -> None:
    catalog, schema = _catalog_and_schema(settings)
    place = f"{_quoted(catalog)}.{_quoted(schema)}"
    _choose_for_schema(spark, place)
    for table in TABLES:
        name = f"{place}.{table.name}"
        try:
            if not spark.catalog.tableExists(name):
                spark.sql(table.ddl(name))
        except JAVA_ERRORS as error:
            with suppress(*JAVA_ERRORS):
                if spark.catalog.tableExists(name):  # another run has created it meanwhile
                    continue
            raise ConfigError([f"catalog, schema: {name} cannot be created: {reason(error)}"]) from error


def _choose_for_schema(spark: SparkSession, place: str) -> None:
    """Choose the log store for tables that a schema does not have yet; a missing schema is reported by their creation."""
    with suppress(*JAVA_ERRORS):
        location = str(spark.catalog.getDatabase(place).locationUri)
        choose_log_store(spark, kernel.start(spark).storage, location, "catalog")


def _catalog_and_schema(settings: Settings) -> tuple[str, str]:
    if not settings.catalog or not settings.schema_name:
        raise ConfigError([NO_PLACE])
    return settings.catalog, settings.schema_name


def _catalog_locations(spark: SparkSession, names: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    for table in TABLES:
        try:
            yield table.name, _catalog_location(spark, names[table.name])
        except TableError:
            if not table.is_optional:
                raise


def _catalog_location(spark: SparkSession, name: str) -> str:
    try:
        return str(spark.sql(f"DESCRIBE DETAIL {name}").collect()[0]["location"])
    except JAVA_ERRORS as error:
        raise TableError(f"table {name} cannot be found: {reason(error)}") from error


def _prepare(warehouse: Warehouse, table: Table) -> None:
    location = warehouse.locations[table.name]
    state = warehouse.kernel.load(location)
    if state is None:
        state = _create(warehouse, table)
    if state is None:
        return
    missing = columns_to_add(table, state)
    if warehouse.kernel.table_property(state, _FORGETS) is not None:
        raise TableError(
            f"table {table.name} at {location} has {_FORGETS}, after which Delta forgets what runs have committed, and a "
            f"repeated run could commit it again: ALTER TABLE {table.name} UNSET TBLPROPERTIES ('{_FORGETS}')"
        )
    if missing and warehouse.session is None:
        raise NeedsSession(f"table {table.name} at {location} lacks columns, which Spark adds")
    declared = declare_properties(warehouse, table, state)
    if missing:
        _add_columns(warehouse, table, missing)
    if not missing and not declared:
        warehouse.opened[table.name] = state


def _create(warehouse: Warehouse, table: Table) -> State | None:
    """Create a table; returns its state if another run was first, where no lock keeps runs apart."""
    location = warehouse.locations[table.name]
    properties = {**table.properties, "comment": table.comment}  # Spark shows it as the table's comment
    try:
        warehouse.kernel.create(location, table.delta_schema(), table.partition_by, properties)
    except TableError:
        with suppress(TableError):
            if state := warehouse.kernel.load(location):
                return state
        raise
    return None


def _add_columns(warehouse: Warehouse, table: Table, missing: Sequence[Column]) -> None:
    """Add columns; TableError if that fails, as without the permission to alter a catalog's table.

    Where no lock keeps runs apart, another one may have added them meanwhile.
    """
    added = ", ".join(column.ddl() for column in missing)
    try:
        warehouse.spark.sql(f"ALTER TABLE {warehouse.identifiers[table.name]} ADD COLUMNS ({added})")
    except JAVA_ERRORS as error:
        if lacking := columns_to_add(table, warehouse.state(table.name)):
            names = ", ".join(column.name for column in lacking)
            raise TableError(
                f"table {table.name} at {warehouse.locations[table.name]} lacks columns of this version ({names}), and they "
                f"cannot be added: {reason(error)}"
            ) from error


def declare_properties(warehouse: Warehouse, table: Table, state: State) -> bool:
    """Give a table that an earlier version made the properties that it lacks; return True if it lacked any.

    What is set stays as it is, also if another run sets it meanwhile. Readers learn which columns have bounds in every file,
    which version 0.1.0 did not say.
    """
    missing = _missing_properties(warehouse, table, state)
    if missing:
        try:
            warehouse.kernel.set_properties(state, missing)
        except TableError:
            if _missing_properties(warehouse, table, warehouse.state(table.name)):
                raise
    return bool(missing)


def _missing_properties(warehouse: Warehouse, table: Table, state: State) -> Mapping[str, str]:
    wanted = {STATISTICS_COLUMNS: ",".join(table.bounded_in_0_1), **table.log_properties}
    kept = {key for key in wanted if warehouse.kernel.table_property(state, key) is not None}
    if kept & {LOG_RETENTION, TOMBSTONE_RETENTION}:  # setting only one of them may contradict the other
        kept |= {LOG_RETENTION, TOMBSTONE_RETENTION}
    return {key: value for key, value in wanted.items() if key not in kept}


def refuse_replaced(warehouse: Warehouse, table: Table, after: int, app_id: str | None = None) -> bool:
    """ChecksFailed if a commit of somebody else's, after a version, took away rows that we count on.

    Return False if the log does not have all commits since then, so that none is known.
    """
    conflict = contradiction(commits_since(warehouse.kernel.storage, warehouse.locations[table.name], after), app_id)
    if conflict and conflict.commit.kind is Kind.GONE:
        return False
    if conflict:
        raise ChecksFailed(
            f"table {table.name} {conflict.commit}, and rows that this run counts on are gone: "
            f"RESTORE TABLE {table.name} TO VERSION AS OF {conflict.commit.version - 1} brings them back"
        )
    return True


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"
