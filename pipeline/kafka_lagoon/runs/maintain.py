"""Maintains one table: makes the commits that dead ingests left pending, then removes old rows, joins files, removes others."""

from dataclasses import replace

from kafka_lagoon.clock import Clock
from kafka_lagoon.delta.maintain import Maintained, MaintainOptions, maintain
from kafka_lagoon.delta.old_rows import OldRows
from kafka_lagoon.delta.warehouse import Warehouse
from kafka_lagoon.ingest.pending_commits import commit_pending_of_all


def maintain_table(
    warehouse: Warehouse, table: str, options: MaintainOptions, clock: Clock, old_rows: OldRows | None = None
) -> Maintained:
    """What was done for a table, or in a dry run would be; raises as `delta.maintain.maintain` does."""
    if not options.dry_run:
        commit_pending_of_all(warehouse, clock)
    (maintained,) = maintain(warehouse, replace(options, tables=(table,)), clock, old_rows)
    return maintained
