"""Archives the new records of one cluster: connect, lock, plan, read on executors, check what was read, commit, report.

The plan starts from next offsets that were read under the lock, the tasks read what the plan says, and the commit names
exactly the files of tasks whose records are part of one history of their partitions.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace

from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.client.request_stats import RequestStats
from kafka_lagoon.clock import Clock, Deadline
from kafka_lagoon.delta.executors import parallelism, refuse_alone
from kafka_lagoon.delta.hadoop_s3 import refuse_encryption, s3_access
from kafka_lagoon.delta.warehouse import COMMIT_LOCK_WAIT_MS, LONGEST_COMMIT_WAIT_MS, Warehouse
from kafka_lagoon.errors import RangesPending, TableError
from kafka_lagoon.fetch.accounting import Reconciled, RunIdentity, is_loss, reconcile
from kafka_lagoon.fetch.archived import Archived
from kafka_lagoon.fetch.last_epochs import with_last_epochs
from kafka_lagoon.fetch.plan import Plan
from kafka_lagoon.fetch.planning import plan
from kafka_lagoon.fetch.ranges import LOSSES
from kafka_lagoon.fetch.read_spec import ReadSpec
from kafka_lagoon.fetch.split import ReadOptions
from kafka_lagoon.fetch.tasks import Task, divide
from kafka_lagoon.fetch.truncation_checks import check_outcomes
from kafka_lagoon.frozen import frozen
from kafka_lagoon.garbage import gc_paused
from kafka_lagoon.ingest.archive_lock import ArchiveLock, archive_lock
from kafka_lagoon.ingest.archive_task import TaskSettings
from kafka_lagoon.ingest.commit import RunOutput, commit, commit_examined
from kafka_lagoon.ingest.execution import run_tasks
from kafka_lagoon.ingest.pending_files import Report
from kafka_lagoon.ingest.staged_commit import commit_staged, staged_lock, store_examined
from kafka_lagoon.job_settings import IngestSettings
from kafka_lagoon.protocol.messages.metadata import METADATA
from kafka_lagoon.records.decoding import DecodeOptions
from kafka_lagoon.runs.context import Progress, RunContext
from kafka_lagoon.settings import Settings
from kafka_lagoon.snapshot.list_notes import list_note
from kafka_lagoon.times import utc_day
from kafka_lagoon.uuid7 import new_id

STEPS = ("plan", "read", "commit")
_CHECK_MS = 5_000  # left for checking what was read when the run's deadline has passed
_NOTE_MS = 10_000  # for a request that only decides what is printed at the end


@frozen
class RunDeadline:
    """The time at which a run stops reading, as wall time for executors; None if there is no limit."""

    clock: Clock
    ends_at_ms: int | None = None

    def within(self, timeout_ms: int, least_ms: int = 0) -> Deadline:
        """A timeout that ends with the run, but is at least `least_ms`."""
        left_ms = timeout_ms if self.ends_at_ms is None else min(timeout_ms, self.ends_at_ms - self.clock.now_ms())
        return Deadline.after(self.clock, max(left_ms, least_ms))


@frozen
class ArchivedRecords:
    """The planned and the archived records of a run; `pending` is the error if the next run has to commit their ranges."""

    plan: Plan
    reconciled: Reconciled
    pending: RangesPending | None = None

    @property
    def ingest_id(self) -> str | None:
        """The id of the run in record_ranges; None if there was nothing new."""
        return self.reconciled.ranges[0].ingest_id if self.reconciled.ranges else None

    @property
    def failures(self) -> int:
        """Failed requests, ranges not read to their end for a reason other than a loss, and a failed commit of ranges."""
        problems = (row.problem for row in self.reconciled.ranges)
        unfinished = sum(1 for name in problems if name is not None and name not in LOSSES)
        return len(self.plan.failures) + unfinished + (self.pending is not None)

    def counts(self) -> Counter[str]:
        """The number of partitions with new records, and sums over the ranges."""
        ranges = self.reconciled.ranges
        counts = Counter(partitions=len({(row.topic, row.partition) for row in ranges}))
        for row in ranges:
            counts.update(records=row.records, lost=row.lost, corrupt=row.corrupt, bytes_fetched=row.bytes_fetched)
        return counts


@frozen
class IngestResult:
    """A run over one cluster; `reports` are losses of earlier runs that died before they could report them."""

    cluster: str
    cluster_id: str
    archived: ArchivedRecords
    reports: Sequence[Report]
    seconds: float

    @property
    def has_loss(self) -> bool:
        """True if records were lost, in this run or in one that is reported now."""
        return any(map(is_loss, self.archived.reconciled.ranges)) or any(report.is_loss for report in self.reports)

    @property
    def is_complete(self) -> bool:
        """True if every request was answered, and everything planned was read and committed."""
        return not (self.archived.failures or self.archived.reconciled.unread)


def ingest(
    context: RunContext,
    name: str,
    wanted: ReadSpec,
    after_restore: str | None,
    request_stats: RequestStats,
    progress: Progress,
    report: Callable[[IngestResult], None],
) -> str | None:
    """Archive the new records of the selected topics of cluster `name`, and pass the result to `report`.

    Losses are kept in the warehouse until `report` has returned, so that the next run reports them if this one dies. Returns a
    note, or None: about changes of others to the tables, ranges that the next run has to commit, losses that it reports again,
    and topics that this user may not see.

    ConfigError for topics and offsets that do not exist, and if the records would lack an encryption that Hadoop's settings ask
    for; LockHeld if another run holds the lock. After a TableError readers see nothing of this run, unless the error says that
    it is committed.
    """
    clock, limits = context.clock, context.settings.ingest
    started = clock.monotonic()
    deadline = RunDeadline(clock=clock, ends_at_ms=clock.now_ms() + limits.deadline_ms if limits.deadline_ms else None)
    kafka = context.settings.named_clusters()[name]
    with Cluster.connect(kafka, clock, request_stats, deadline.within(limits.plan_timeout_ms)) as cluster:
        cluster.waits = True  # a broker that restarts from now on is waited for
        cluster_id = cluster.cluster_id or name
        progress.connected(cluster_id)
        plans = _Plans(cluster, wanted, limits.plan_timeout_ms, deadline)

        def archive() -> str | None:
            with lock_archive(context.warehouse, context.settings, cluster_id, clock, after_restore) as lock:
                refuse_encryption(lock.warehouse.kernel.storage, lock.root)
                progress.step("plan", len(lock.topics))
                planned = plans.beginning_at(lock.topics)
                archived = archive_new_records(
                    lock, name, cluster, context.settings, planned, progress.step, deadline, progress.advanced
                )
                result = IngestResult(
                    cluster=name,
                    cluster_id=cluster_id,
                    archived=archived,
                    reports=tuple(lock.reports.values()),
                    seconds=clock.monotonic() - started,
                )
                report(result)
                repeated = remove_reports(lock, archived.ingest_id)
                pending = str(archived.pending) if archived.pending else None
                notes = [
                    *lock.notes,
                    pending,
                    repeated,
                    _hidden_topics(cluster, wanted, Deadline.after(clock, _NOTE_MS)),
                ]
            return "; ".join(filter(None, notes)) or None

        return context.with_or_without_session(archive)


@dataclass(slots=True)
class _Plans:
    """Plans of a run, of which the last one is kept: the run may take its lock again, and planning takes long."""

    cluster: Cluster
    wanted: ReadSpec
    timeout_ms: int
    deadline: RunDeadline
    last: tuple[Mapping[str, Archived], Plan] | None = None

    def beginning_at(self, topics: Mapping[str, Archived]) -> Plan:
        """The plan that begins at these offsets."""
        if self.last is None or self.last[0] != topics:
            with gc_paused():  # as in a snapshot: many objects and no cycles
                self.last = topics, plan(self.cluster, self.wanted, topics, self.deadline.within(self.timeout_ms))
        return self.last[1]


def lock_archive(
    warehouse: Warehouse, settings: Settings, cluster_id: str, clock: Clock, after_restore: str | None = None
) -> AbstractContextManager[ArchiveLock]:
    """The lock on a cluster's archive, for the writer in the settings; raises as `archive_lock` does."""
    wait_ms = settings.ingest.lock_wait_ms
    if staging := settings.staging():
        return staged_lock(warehouse, staging, cluster_id, clock, wait_ms, after_restore)
    return archive_lock(warehouse, cluster_id, clock, wait_ms, after_restore)


def archive_new_records(
    lock: ArchiveLock,
    name: str,
    cluster: Cluster,
    settings: Settings,
    planned: Plan,
    step: Callable[[str, int], None],
    deadline: RunDeadline,
    advanced: Callable[[int, int, int], None] | None = None,
) -> ArchivedRecords:
    """Read, check and commit; records read before the run's deadline are committed, the rest is left for the next run.

    NeedsSession if the warehouse has no session of Spark, and the plan is too large for this process alone.
    """
    limits = settings.ingest
    with gc_paused():
        tasks = _tasks(lock, planned, limits)
    tasks = with_last_epochs(cluster, tasks, deadline.within(limits.plan_timeout_ms))
    step("read", sum(planned_range.offsets for planned_range in planned.ranges))
    ingest_id = new_id(planned.planned_at_ms)
    day = utc_day(planned.planned_at_ms)
    task_settings = TaskSettings(
        kafka=cluster.settings,
        clock=lock.clock,
        options=replace(read_options(limits), ends_at_ms=deadline.ends_at_ms),
        folder=lock.folder(day),
        ingest_id=ingest_id,
        cluster=name,
        cluster_id=lock.cluster_id,
        target_bytes=settings.records.target_file_mb << 20,
        compression=settings.records.compression,
        access=s3_access(lock.warehouse.kernel.storage, lock.root),
    )
    results = run_tasks(lock.warehouse, task_settings, tasks, advanced)
    outcomes = [result.outcome for result in results]
    of_splits = [outcome for task_outcome in outcomes for outcome in task_outcome.outcomes]
    checked = check_outcomes(
        cluster, planned.ranges, planned.topic_ids, of_splits, deadline.within(limits.stall_timeout_ms, _CHECK_MS)
    )
    run = RunIdentity(ingest_id=ingest_id, sequence=lock.fence.version, cluster=name, cluster_id=lock.cluster_id)
    reconciled = reconcile(run, planned, outcomes, checked)
    files = [file for number in sorted(reconciled.kept) for file in results[number].files]
    step("commit", len(files))
    output = RunOutput(ingest_id=ingest_id, ingest_date=day, reconciled=reconciled, files=files)
    pending = _commit(lock, output, deadline, is_staged=bool(settings.staging()))
    return ArchivedRecords(plan=planned, reconciled=reconciled, pending=pending)


def _commit(lock: ArchiveLock, output: RunOutput, deadline: RunDeadline, *, is_staged: bool) -> RangesPending | None:
    """Commit the records and next offsets of a run; the error if its ranges are left to the next run."""
    wait_ms = deadline.within(LONGEST_COMMIT_WAIT_MS, COMMIT_LOCK_WAIT_MS).budget_ms
    topics = output.reconciled.topics
    if output.reconciled.ranges:
        write = commit_staged if is_staged else commit
        try:
            write(lock, output, wait_ms)
        except RangesPending as error:
            return error
    elif is_staged:
        store_examined(lock, topics)
    else:
        commit_examined(lock, topics, wait_ms)
    return None


def _tasks(lock: ArchiveLock, planned: Plan, limits: IngestSettings) -> Sequence[Task]:
    refuse_alone(lock.warehouse, sum(map(planned.bytes_of, planned.ranges)), limits.local_max_bytes)
    return divide(planned.ranges, planned.bytes_of, parallelism(lock.warehouse), limits.task_mb << 20)


def read_options(limits: IngestSettings) -> ReadOptions:
    """Options of splits, with sizes that keep the buffers of a task within its memory.

    The buffers are: an answer being decoded, the next one being received, its decompressed content, its columns, and the rows
    being written. A batch with much more is decoded into several Arrow batches; only a single large value cannot be split.
    """
    part = (limits.task_memory_mb << 20) // 16
    return ReadOptions(
        isolation_level=limits.isolation_level,
        fetch_bytes=min(limits.max_partition_fetch_bytes, part),
        stall_timeout_ms=limits.stall_timeout_ms,
        decoding=DecodeOptions(
            expanded_bytes=part,
            batch_limit_bytes=limits.batch_limit_mb << 20,
            check_crcs=limits.check_crcs,
        ),
    )


def remove_reports(lock: ArchiveLock, ingest_id: str | None) -> str | None:
    """Remove the reports that the caller has passed on; a note if one stays, because the run itself is done."""
    try:
        lock.remove_reports(ingest_id)
    except TableError as error:
        return f"the next run reports again what earlier runs, or this one, have lost: {error}"
    return None


def _hidden_topics(cluster: Cluster, wanted: ReadSpec, deadline: Deadline) -> str | None:
    """A note about a pattern's topics, if others may be hidden from the principal."""
    if not wanted.pattern:
        return None
    return list_note(cluster, METADATA.name, "topics that match the pattern", deadline)
