"""Decides from which offsets an archive continues after a user restored table `records` to an older version.

RESTORE rolls back the rows of a table, but neither its transaction ids nor its next offsets (delta-io/delta#1813). A run that
continued at the next offsets would leave a gap that no table shows, so it is refused until the user chooses how to continue. A
RESTORE during a run counts, too: commits are compared with the version that the run read under its lock. Commits that replace
rows are treated alike.
"""

from collections.abc import Mapping, Sequence
from datetime import date

from delta.tables import DeltaTable
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812  everybody's name for it

from kafka_lagoon.clock import Clock
from kafka_lagoon.delta.arrow import table_of
from kafka_lagoon.delta.foreign_commits import ENGINE_INFO, Commit, Contradiction, Kind
from kafka_lagoon.delta.kernel import State
from kafka_lagoon.delta.session import settings_for_block
from kafka_lagoon.delta.storage import JAVA_ERRORS, reason
from kafka_lagoon.delta.warehouse import COMMIT_LOCK_WAIT_MS, Warehouse
from kafka_lagoon.errors import TableError
from kafka_lagoon.ingest.examined_commits import KEEP, commits_of, conflict_with, refusal
from kafka_lagoon.ingest.next_offsets import LastRun, NextOffsets, domain, from_json
from kafka_lagoon.ingest.pending_commits import is_added, pending_url
from kafka_lagoon.ingest.pending_files import read_pending
from kafka_lagoon.ingest.rebuilt_ranges import COUNTS_LOST
from kafka_lagoon.tables.record_tables import RECORD_PROBLEMS, RECORD_RANGES, RECORDS
from kafka_lagoon.tables.table import Table

REPEAT = "repeat"
_USER_METADATA = "spark.databricks.delta.commitInfo.userMetadata"  # marks commits of Spark as ours


def offsets_to_repeat(
    warehouse: Warehouse,
    cluster_id: str,
    state: State,
    stored: NextOffsets,
    commits: Sequence[Commit],
    after_restore: str | None,
) -> NextOffsets | None:
    """The earlier next offsets to continue at, if table `records` lost records and the user chose to read them again.

    `commits` are those after the version that was examined last. None if they removed nothing, or if the user chose to `keep`
    the table as it is. TableError if the user chose nothing.
    """
    conflict = _conflict_with(warehouse, cluster_id, stored.last_run, commits)
    if conflict is None or after_restore == KEEP:
        return None
    if after_restore != REPEAT or conflict.rolled_back_to is None:
        raise TableError(refusal(RECORDS, conflict, has_offsets=True))
    return _offsets_before(warehouse, cluster_id, state, conflict)


def _conflict_with(
    warehouse: Warehouse, cluster_id: str, run: LastRun | None, commits: Sequence[Commit]
) -> Contradiction | None:
    """The commit that removed rows which the next offsets of a run rely on."""
    conflict = conflict_with(warehouse, RECORDS, cluster_id, commits, run.sequence) if run else None
    is_unknown = conflict is not None and conflict.commit.kind is Kind.GONE
    return None if run and is_unknown and _has_records_of(warehouse, cluster_id, run) else conflict


def _has_records_of(warehouse: Warehouse, cluster_id: str, run: LastRun) -> bool:
    """Return true if table `records` has the records of a run, according to its ranges.

    It replaces reading commits whose log files are gone, which the log keeps for a week: a commit that rolled back rows of
    earlier runs has rolled back those of this run, too. If this run had no records, the newest earlier run with records is
    compared. False if ranges of the run are gone, because they may have been rolled back together with the records, and if no
    run can be compared.
    """
    try:
        records = _records_in_ranges(warehouse, cluster_id, run)
        if records is None:
            return False
        compared = (run.ingest_date, run.ingest_id, records) if records else _run_before(warehouse, cluster_id, run)
        if compared is None:
            return False
        day, ingest_id, expected = compared
        return _rows_of_run(warehouse, RECORDS, day, ingest_id).count() >= expected
    except JAVA_ERRORS as error:
        raise TableError(f"records of ingest {run.ingest_id} cannot be counted: {reason(error)}") from error


def _records_in_ranges(warehouse: Warehouse, cluster_id: str, run: LastRun) -> int | None:
    """The number of records in a run's ranges, which may still be pending; None if some of the ranges are gone."""
    if run.ranges and not is_added(warehouse, RECORD_RANGES, cluster_id, run.sequence):
        pending = read_pending(warehouse.kernel.storage, pending_url(warehouse, RECORD_RANGES, run.ranges), run.ranges)
        return None if pending is None else sum(table_of(pending, ["records"])["records"].to_pylist())
    ranges = _rows_of_run(warehouse, RECORD_RANGES, run.ingest_date, run.ingest_id)
    is_rebuilt = F.col("problem") == F.lit(COUNTS_LOST)  # rebuilt ranges may be fewer than the pending file had
    counts = ranges.agg(F.count("*"), F.count_if(is_rebuilt), F.sum("records")).collect()[0]
    is_whole = counts[0] >= (run.ranges.rows if run.ranges else 1) or counts[1] > 0
    return int(counts[2] or 0) if is_whole else None


def _run_before(warehouse: Warehouse, cluster_id: str, run: LastRun) -> tuple[str, str, int] | None:
    """Day, id and number of records of the newest run before `run` that had any. Runs without a number came first."""
    ranges = warehouse.spark.table(warehouse.identifiers[RECORD_RANGES.name])
    number = F.coalesce("sequence", F.lit(-1))
    earlier = ranges.filter((F.col("cluster_id") == cluster_id) & (number < run.sequence) & (F.col("records") > 0))
    counted = earlier.groupBy(RECORD_RANGES.partition_by, "ingest_id", number.alias("number")).agg(F.sum("records"))
    newest = counted.orderBy(F.desc("number"), F.desc("ingest_id")).first()
    return None if newest is None else (str(newest[0]), newest[1], int(newest[3]))


def _rows_of_run(warehouse: Warehouse, table: Table, day: str, ingest_id: str) -> DataFrame:
    rows = warehouse.spark.table(warehouse.identifiers[table.name])  # before F.col, which needs a session
    return rows.filter(
        (F.col(table.partition_by) == F.lit(date.fromisoformat(day))) & (F.col("ingest_id") == ingest_id)
    )


def _offsets_before(warehouse: Warehouse, cluster_id: str, state: State, conflict: Contradiction) -> NextOffsets:
    """The next offsets of the version that was restored, or of an earlier one if that version had lost rows, too."""
    contradiction: Contradiction | None = conflict
    before = NextOffsets()
    while contradiction:
        if contradiction.rolled_back_to is None:
            raise TableError(refusal(RECORDS, contradiction, has_offsets=True))
        earlier = warehouse.kernel.load(state.location, contradiction.rolled_back_to)
        before = from_json(warehouse.kernel.domain(earlier, domain(cluster_id)) if earlier else None)
        run, after = before.last_run, before.examined_records
        commits = commits_of(warehouse, RECORDS, after, earlier.version) if earlier and run else []
        contradiction = _conflict_with(warehouse, cluster_id, run, commits)
    return before


def go_back(warehouse: Warehouse, cluster_id: str, stored: NextOffsets, before: NextOffsets, clock: Clock) -> None:
    """Remove the ranges and problems of runs after `before`, and records that were committed over a RESTORE."""
    with settings_for_block(warehouse.spark, {_USER_METADATA: ENGINE_INFO}):
        _delete_later_runs(warehouse, cluster_id, before.last_run, clock)
        if stored.last_run and stored.last_run != before.last_run:
            _delete_records(warehouse, cluster_id, stored.last_run, clock)


def _delete_records(warehouse: Warehouse, cluster_id: str, run: LastRun, clock: Clock) -> None:
    """Delete the records of the last run, the only run that can have committed after the RESTORE: later ones are refused."""
    day = date.fromisoformat(run.ingest_date)
    wanted: Mapping[str, str | date] = {RECORDS.partition_by: day, "ingest_id": run.ingest_id}
    if not warehouse.kernel.files(warehouse.state(RECORDS.name), wanted):
        return
    of_run = (F.col(RECORDS.partition_by) == F.lit(day)) & (F.col("ingest_id") == run.ingest_id)
    with warehouse.exclusively("commit", clock, COMMIT_LOCK_WAIT_MS):
        try:
            records = DeltaTable.forPath(warehouse.spark, warehouse.locations[RECORDS.name])
            records.delete(of_run & (F.col("cluster_id") == cluster_id))
        except JAVA_ERRORS as error:
            raise TableError(f"records of ingest {run.ingest_id} cannot be deleted: {reason(error)}") from error


def _delete_later_runs(warehouse: Warehouse, cluster_id: str, run: LastRun | None, clock: Clock) -> None:
    """Delete the problems and ranges of runs after `run`, whose records are gone.

    Ranges go last: they have the numbers of runs, by which a run that takes over from a dead one finds the problems.
    """
    is_of_cluster = F.col("cluster_id") == cluster_id
    with warehouse.exclusively("commit", clock, COMMIT_LOCK_WAIT_MS):
        try:
            later = is_of_cluster & F.col("ingest_id").isin(_later_runs(warehouse, cluster_id, run))
            for table in (RECORD_PROBLEMS, RECORD_RANGES):
                DeltaTable.forPath(warehouse.spark, warehouse.locations[table.name]).delete(later)
        except JAVA_ERRORS as error:
            raise TableError(f"the ranges of runs that are gone cannot be deleted: {reason(error)}") from error


def _later_runs(warehouse: Warehouse, cluster_id: str, run: LastRun | None) -> list[str]:
    """Ids of the runs after `run` by their numbers; ids of runs without a number, which came before all others."""
    ranges = warehouse.spark.sql(f"SELECT * FROM {warehouse.identifiers[RECORD_RANGES.name]}")  # noqa: S608  our own names
    is_later = F.lit(True)
    if run:
        is_later = F.coalesce(F.col("sequence") > run.sequence, F.col("ingest_id") > run.ingest_id)
    later = ranges.filter((F.col("cluster_id") == cluster_id) & is_later).select("ingest_id").distinct()
    return [row[0] for row in later.collect()]
