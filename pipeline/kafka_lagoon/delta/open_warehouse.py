"""Opens the warehouse that settings name: a folder or a schema of a catalog, with tables that have our columns.

It is opened before a cluster is captured, so that nothing is requested that cannot be written.
"""

import os
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress

from pyspark.sql import SparkSession

from kafka_lagoon.clock import Clock
from kafka_lagoon.delta import kernel
from kafka_lagoon.delta.kernel import Kernel
from kafka_lagoon.delta.lock import check_existing
from kafka_lagoon.delta.log_store import check_exclusion, choose_log_store, use_ours
from kafka_lagoon.delta.prepare_tables import prepare_tables
from kafka_lagoon.delta.storage import JAVA_ERRORS, is_unreachable, reason
from kafka_lagoon.delta.warehouse import Warehouse
from kafka_lagoon.errors import ConfigError, TableError
from kafka_lagoon.folders import NAME_USER, nameless_user, owner
from kafka_lagoon.settings import NO_PLACE, Settings
from kafka_lagoon.tables.schema import TABLES
from kafka_lagoon.tables.table import Table
from kafka_lagoon.warehouse_settings import no_warehouse, own_folder
from kafka_lagoon.warehouse_urls import credentials_fault, in_s3

_NO_CLASS = ("No FileSystem for scheme", "ClassNotFoundException", "NoClassDefFoundError")
_HADOOP_MODULES = {"s3a": "hadoop-aws", "abfss": "hadoop-azure", "abfs": "hadoop-azure", "gs": "hadoop-gcp"}


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
    # Whether the store answers: the Kernel asks three times for a table's newest checkpoint, which may take minutes each time.
    storage, location = warehouse.kernel.storage, warehouse.locations["snapshots"]
    if storage.local(location) is None:
        storage.exists(location)
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
        check_exclusion(warehouse.kernel.storage, warehouse.name, probe)
    except TableError as error:
        # The name of the folder is in the settings, and that of the probe is not.
        problem = str(error).replace(f"{probe} cannot be removed", f"files in {warehouse.name} cannot be removed")
        problem = problem.replace(probe, warehouse.name)
        cure = _whose(warehouse) if isinstance(error.__cause__, PermissionError) else ""
        raise ConfigError([f"warehouse: {problem}{cure}"]) from error


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


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"
