"""Makes the tables of a warehouse what this version writes: missing tables are created, columns and properties are added."""

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

from kafka_lagoon.clock import Clock
from kafka_lagoon.delta.kernel import State
from kafka_lagoon.delta.storage import JAVA_ERRORS, reason
from kafka_lagoon.delta.warehouse import COMMIT_LOCK_WAIT_MS, PARALLEL, Warehouse, columns_to_add
from kafka_lagoon.errors import NeedsSession, TableError
from kafka_lagoon.tables.columns import Column
from kafka_lagoon.tables.schema import TABLES
from kafka_lagoon.tables.table import LOG_RETENTION, STATISTICS_COLUMNS, TOMBSTONE_RETENTION, Table

_FORGETS = "delta.setTransactionRetentionDuration"


def prepare_tables(warehouse: Warehouse, tables: Sequence[Table], clock: Clock) -> None:
    """Create or complete tables; all tables, so that queries over several find them, if there are none."""
    with warehouse.exclusively("commit", clock, COMMIT_LOCK_WAIT_MS), ThreadPoolExecutor(PARALLEL) as threads:
        is_new = tables != TABLES and warehouse.kernel.load(warehouse.locations["snapshots"]) is None
        list(threads.map(lambda table: _prepare(warehouse, table), TABLES if is_new else tables))


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
