"""A table whose history may have been turned back in, where archiving goes on out.

Guards one rule: RESTORE rolls back the records of a table and neither its transaction ids nor its positions
(delta-io/delta#1813), so a run that went on from them would leave a hole that nothing tells of. It is found, and how to go
on is for a person to say.
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
from kafka_lagoon.ingest.next_offsets import LastRun, Ledger, domain, from_json
from kafka_lagoon.ingest.pending_commits import KEEP

REPEAT = "repeat"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Restore:
    """A RESTORE behind the last run: the version that it made, and the version that it brought back."""

    at: int
    to: int | None


def restored(
    warehouse: Warehouse,
    cluster_id: str,
    state: State,
    ledger: Ledger,
    clock: Clock,
    after_restore: str | None,
) -> Mapping[str, Archived]:
    """Where a cluster's topics go on: at the ledger's positions, if table `records` was not restored since.

    If it was, `repeat` goes back to the positions of the version that was brought back, and takes the ranges and problems
    of later runs away; `keep` goes on without the records that are gone; without either it is a TableError.
    """
    found = _restore(warehouse, state, ledger.last) if ledger.last else None
    if found is None or after_restore == KEEP:
        return ledger.topics
    if after_restore != REPEAT:
        raise TableError(
            f"table records was restored (version {found.at}) behind the positions of its last ingest, which Delta does not "
            "roll back: give --after-restore repeat to read again what is missing, or keep to go on without it"
        )
    before = _ledger_at(warehouse, state, cluster_id, found)
    _forget_later_runs(warehouse, cluster_id, before.last, clock)
    return before.topics


def _restore(warehouse: Warehouse, state: State, last: LastRun) -> _Restore | None:
    """The last RESTORE among the commits behind a run's; most times there are no such commits."""
    for version in range(state.version, last.base_version + 1, -1):
        info = _commit_info(warehouse, state, version)
        if info.get("operation") == "RESTORE":
            to = info.get("operationParameters", {}).get("version")
            return _Restore(at=version, to=None if to is None else int(to))
    return None


def _commit_info(warehouse: Warehouse, state: State, version: int) -> Mapping[str, Any]:
    """What was done in a version; empty where the log does not say any more."""
    try:
        log = warehouse.kernel.storage.read(f"{state.location}/_delta_log/{version:020d}.json")
    except TableError:
        return {}
    actions = (json.loads(line) for line in log.splitlines() if b'"commitInfo"' in line)
    return next((action["commitInfo"] for action in actions if "commitInfo" in action), {})


def _ledger_at(warehouse: Warehouse, state: State, cluster_id: str, found: _Restore) -> Ledger:
    if found.to is None:
        raise TableError(
            f"table records was restored (version {found.at}) to a time, not to a version: restore it to a version, "
            "so that its positions can be found, or give --after-restore keep"
        )
    before = warehouse.kernel.load(state.location, found.to)
    return from_json(warehouse.kernel.domain(before, domain(cluster_id)) if before else None)


def _forget_later_runs(warehouse: Warehouse, cluster_id: str, last: LastRun | None, clock: Clock) -> None:
    """Delete the ranges and problems of runs behind `last`, whose records are gone; ids of runs sort by time."""
    later = (F.col("cluster_id") == cluster_id) & (F.col("ingest_id") > (last.ingest_id if last else ""))
    with warehouse.exclusively("commit", clock, COMMIT_LOCK_WAIT_MS):
        for table in (RECORD_RANGES, RECORD_PROBLEMS):
            location = warehouse.locations[table.name]
            try:
                DeltaTable.forPath(warehouse.spark, location).delete(later)
            except PySparkException as error:
                raise TableError(f"{location}: {reason(error)}") from error
