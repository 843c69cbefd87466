"""Decides where archiving goes on after somebody has restored table `records` to an older version.

RESTORE rolls back the records of a table and neither its transaction ids nor its next offsets (delta-io/delta#1813). A run
that went on from those would leave a gap that no table shows, so it is refused until the user has said how to go on.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from delta.tables import DeltaTable
from pyspark.errors import PySparkException
from pyspark.sql import functions as F  # noqa: N812  everybody's name for it

from kafka_lagoon.clock import Clock
from kafka_lagoon.delta.kernel import State
from kafka_lagoon.delta.schema import RECORD_PROBLEMS, RECORD_RANGES
from kafka_lagoon.delta.storage import reason
from kafka_lagoon.delta.warehouse import COMMIT_LOCK_WAIT_MS, Warehouse
from kafka_lagoon.errors import TableError
from kafka_lagoon.fetch.plan import Archived
from kafka_lagoon.ingest.next_offsets import LastRun, NextOffsets, domain, from_json
from kafka_lagoon.ingest.pending_commits import KEEP

REPEAT = "repeat"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Restore:
    """A RESTORE after the last run: the version that it made, and the version that it brought back."""

    version: int
    restored_version: int | None


def topics_after_restore(
    warehouse: Warehouse,
    cluster_id: str,
    state: State,
    offsets: NextOffsets,
    clock: Clock,
    after_restore: str | None,
) -> Mapping[str, Archived]:
    """The offsets that a cluster's topics start from: those stored last, if table `records` was not restored since.

    If it was, `repeat` goes back to those of the restored version and deletes the ranges and problems of later runs; `keep`
    goes on without the records that are gone; without either it is a TableError.
    """
    restore = _restore(warehouse, state, offsets.last_run) if offsets.last_run else None
    if restore is None or after_restore == KEEP:
        return offsets.topics
    if after_restore != REPEAT:
        raise TableError(
            f"table records was restored (version {restore.version}) after its last ingest, whose next offsets Delta does not "
            "roll back: give --after-restore repeat to read again what is missing, or keep to go on without it"
        )
    before = _offsets_before(warehouse, state, cluster_id, restore)
    _delete_later_runs(warehouse, cluster_id, before.last_run, clock)
    return before.topics


def _restore(warehouse: Warehouse, state: State, run: LastRun) -> _Restore | None:
    """The last RESTORE among the commits after a run's; most times there are no such commits."""
    for version in range(state.version, run.base_version + 1, -1):
        info = _commit_info(warehouse, state, version)
        if info.get("operation") == "RESTORE":
            restored = info.get("operationParameters", {}).get("version")
            return _Restore(version=version, restored_version=None if restored is None else int(restored))
    return None


def _commit_info(warehouse: Warehouse, state: State, version: int) -> Mapping[str, Any]:
    """The commit info of a version; empty if its log file is gone."""
    try:
        log = warehouse.kernel.storage.read(f"{state.location}/_delta_log/{version:020d}.json")
    except TableError:
        return {}
    actions = (json.loads(line) for line in log.splitlines() if b'"commitInfo"' in line)
    return next((action["commitInfo"] for action in actions if "commitInfo" in action), {})


def _offsets_before(warehouse: Warehouse, state: State, cluster_id: str, restore: _Restore) -> NextOffsets:
    """Next offsets as the restored version has them."""
    if restore.restored_version is None:
        raise TableError(
            f"table records was restored (version {restore.version}) to a time, not to a version: restore it to a version, "
            "so that its next offsets can be found, or give --after-restore keep"
        )
    before = warehouse.kernel.load(state.location, restore.restored_version)
    return from_json(warehouse.kernel.domain(before, domain(cluster_id)) if before else None)


def _delete_later_runs(warehouse: Warehouse, cluster_id: str, run: LastRun | None, clock: Clock) -> None:
    """Delete the ranges and problems of runs after `run`, whose records are gone; ids of runs sort by time."""
    later = (F.col("cluster_id") == cluster_id) & (F.col("ingest_id") > (run.ingest_id if run else ""))
    with warehouse.exclusively("commit", clock, COMMIT_LOCK_WAIT_MS):
        for table in (RECORD_RANGES, RECORD_PROBLEMS):
            location = warehouse.locations[table.name]
            try:
                DeltaTable.forPath(warehouse.spark, location).delete(later)
            except PySparkException as error:
                raise TableError(f"{location}: {reason(error)}") from error
