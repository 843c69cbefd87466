"""Maintains one table: removes old rows, joins files, and removes old files.

Before that, the tables of the archive get the commits that dead ingests left pending, and the tables of stored days the days
that are over.
"""

from dataclasses import replace

from kafka_lagoon.clock import Clock
from kafka_lagoon.delta.maintain import Maintained, MaintainOptions, maintain
from kafka_lagoon.delta.old_rows import OldRows
from kafka_lagoon.delta.warehouse import Warehouse
from kafka_lagoon.ingest.pending_commits import commit_pending_of_all
from kafka_lagoon.job_settings import SqlSettings
from kafka_lagoon.runs.stored_days import StoredDays, store_days
from kafka_lagoon.tables.record_tables import RECORD_TABLES

_OF_RECORDS = {table.name for table in RECORD_TABLES}


def maintain_table(
    warehouse: Warehouse,
    table: str,
    options: MaintainOptions,
    clock: Clock,
    old_rows: OldRows | None = None,
    sql: SqlSettings | None = None,
) -> Maintained:
    """Maintain a table; returns the changes, or those that a dry run would make. Raises as `delta.maintain.maintain` does.

    TableError also if a table of the archive was replaced while commits are pending. DuckDB computes the rows of stored days
    with the limits `sql`; without `sql` no days are stored.
    """
    if table in _OF_RECORDS and not options.dry_run:
        commit_pending_of_all(warehouse, clock)
    days = StoredDays() if sql is None else store_days(warehouse, table, sql, clock, dry_run=options.dry_run)
    (maintained,) = maintain(warehouse, replace(options, tables=(table,)), clock, old_rows)
    return replace(maintained, stored_days=days.stored, dropped_days=days.removed, not_stored=days.problem)
