"""One run over one cluster, in this order: plan, read on executors, check what was read, commit.

The plan is made from next offsets that were read under the lock, the tasks read what the plan says, and the commit names
exactly the files of tasks whose records are part of one history of their partitions.
"""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.clock import Clock, Deadline
from kafka_lagoon.delta.warehouse import Warehouse
from kafka_lagoon.fetch.accounting import Reconciled, reconcile
from kafka_lagoon.fetch.last_epochs import with_last_epochs
from kafka_lagoon.fetch.plan import Plan, plan
from kafka_lagoon.fetch.read_spec import ReadSpec
from kafka_lagoon.fetch.split import ReadOptions
from kafka_lagoon.fetch.tasks import Task, divide
from kafka_lagoon.fetch.truncation_checks import check_outcomes
from kafka_lagoon.ingest.archive import ArchiveLock, Run, archive_lock, commit, execute
from kafka_lagoon.ingest.archive_task import TaskSettings
from kafka_lagoon.ingest.staged import commit_staged, staged_lock
from kafka_lagoon.kafka_settings import KafkaSettings
from kafka_lagoon.records.decoding import DecodeOptions
from kafka_lagoon.settings import IngestSettings, Settings
from kafka_lagoon.uuid7 import new_id

STEPS = ("plan", "read", "commit")
_CHECK_MS = 5_000  # left for the check of what was read when the run's deadline has passed


@dataclass(frozen=True, slots=True, kw_only=True)
class Ingested:
    """What a run planned, and what it came to."""

    planned: Plan
    reconciled: Reconciled


def lock_archive(
    warehouse: Warehouse, settings: Settings, cluster_id: str, clock: Clock, after_restore: str | None = None
) -> AbstractContextManager[ArchiveLock]:
    """The lock on a cluster's archive, for the writer that the settings name; raises as `archive_lock` does."""
    wait_ms = settings.ingest.lock_wait_ms
    if staging := settings.staging():
        return staged_lock(warehouse, staging, cluster_id, clock, wait_ms, after_restore)
    return archive_lock(warehouse, cluster_id, clock, wait_ms, after_restore)


def ingest(
    lock: ArchiveLock,
    name: str,
    cluster: Cluster,
    settings: Settings,
    wanted: ReadSpec,
    tell: Callable[[str, int], None],
    ends_at_ms: int | None = None,
) -> Ingested:
    """Archive what is wanted and new of the cluster called `name`; `tell` hears each step and how much there is to it.

    At `ends_at_ms` (wall time) reading ends, and what was read by then is committed.
    ConfigError for topics and offsets that are not there; TableError if something cannot be written: nothing is, then.
    """
    tell("plan", len(lock.topics))
    limits = settings.ingest
    planned = plan(cluster, wanted, lock.topics, _within(lock.clock, limits.plan_timeout_ms, ends_at_ms))
    tasks = with_last_epochs(
        cluster, _tasks(lock, planned, limits), _within(lock.clock, limits.plan_timeout_ms, ends_at_ms)
    )
    tell("read", sum(one.offsets for one in planned.ranges))
    ingest_id = new_id(planned.planned_at_ms)
    day = datetime.fromtimestamp(planned.planned_at_ms / 1000, tz=UTC).date()
    told = _task_settings(lock, name, cluster.settings, settings, lock.folder(day), ingest_id, ends_at_ms)
    results = execute(lock, told, tasks)
    outcomes = [result.outcome for result in results]
    read = [one for outcome in outcomes for one in outcome.outcomes]
    checked = check_outcomes(
        cluster,
        planned.ranges,
        planned.topic_ids,
        read,
        _within(lock.clock, limits.stall_timeout_ms, ends_at_ms, _CHECK_MS),
    )
    reconciled = reconcile(ingest_id, name, lock.cluster_id, planned, lock.topics, outcomes, checked)
    files = [file for number in sorted(reconciled.kept) for file in results[number].files]
    tell("commit", len(files))
    if reconciled.ranges:
        write = commit_staged if settings.staging() else commit
        write(lock, Run(ingest_id=ingest_id, ingest_date=day, reconciled=reconciled, files=files))
    return Ingested(planned=planned, reconciled=reconciled)


def _within(clock: Clock, timeout_ms: int, ends_at_ms: int | None, least_ms: int = 0) -> Deadline:
    """A timeout that ends with the run, but leaves at least `least_ms`."""
    left_ms = timeout_ms if ends_at_ms is None else min(timeout_ms, ends_at_ms - clock.now_ms())
    return Deadline.after(clock, max(left_ms, least_ms))


def _tasks(lock: ArchiveLock, planned: Plan, told: IngestSettings) -> Sequence[Task]:
    parallelism = lock.warehouse.spark.sparkContext.defaultParallelism
    return divide(planned.ranges, planned.bytes_of, parallelism, told.task_mb << 20)


def _task_settings(
    lock: ArchiveLock,
    name: str,
    kafka: KafkaSettings,
    settings: Settings,
    folder: str,
    ingest_id: str,
    ends_at_ms: int | None,
) -> TaskSettings:
    return TaskSettings(
        kafka=kafka,
        clock=lock.clock,
        options=replace(read_options(settings.ingest), ends_at_ms=ends_at_ms),
        folder=folder,
        ingest_id=ingest_id,
        cluster=name,
        cluster_id=lock.cluster_id,
        target_bytes=settings.records.target_file_mb << 20,
        compression=settings.records.compression,
    )


def read_options(told: IngestSettings) -> ReadOptions:
    """How splits are read, with sizes that keep the buffers of a task below its memory.

    They are: an answer being decoded, the next one on its way, what it expands to, its columns, and what is being written.
    A batch that makes much more is decoded into several Arrow batches; one large value is what remains whole.
    """
    part = (told.task_memory_mb << 20) // 16
    return ReadOptions(
        isolation_level=told.isolation_level,
        fetch_bytes=min(told.max_partition_fetch_bytes, part),
        stall_timeout_ms=told.stall_timeout_ms,
        decoding=DecodeOptions(
            expanded_bytes=part,
            batch_limit_bytes=told.batch_limit_mb << 20,
            check_crcs=told.check_crcs,
        ),
    )
