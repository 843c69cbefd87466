"""Maintains one table: makes commits that dead ingests left pending, removes old rows, joins files, and removes old files."""

from dataclasses import replace

from kafka_lagoon.clock import Clock
from kafka_lagoon.delta.maintain import Maintained, MaintainOptions, maintain
from kafka_lagoon.delta.old_rows import OldRows
from kafka_lagoon.delta.warehouse import Warehouse
from kafka_lagoon.ingest.pending_commits import commit_pending_of_all


def maintain_table(
    warehouse: Warehouse, table: str, options: MaintainOptions, clock: Clock, old_rows: OldRows | None = None
) -> Maintained:
    """Maintain a table; returns what was done, or what a dry run would do. Raises as `delta.maintain.maintain` does."""
    if not options.dry_run:
        commit_pending_of_all(warehouse, clock)
    (maintained,) = maintain(warehouse, replace(options, tables=(table,)), clock, old_rows)
    return maintained
