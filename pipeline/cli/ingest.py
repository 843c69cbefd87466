"""Settings in, archived records out, one commit per cluster: planning, reading, committing, and the final line of each.

Guards one rule: clusters do not depend on each other. What one of them refuses is said, and the others are archived.
"""

from collections.abc import Sequence
from contextlib import AbstractContextManager
from datetime import UTC, date, datetime
from functools import cached_property

from pipeline import log
from pipeline.cli.arguments import IngestArguments
from pipeline.cli.summary import ingest_line
from pipeline.cli.terminal import COMPLETE, INCOMPLETE, Steps, complain, say, worst
from pipeline.client.cluster import Cluster
from pipeline.client.deadline import Clock, Deadline
from pipeline.client.journal import Journal
from pipeline.errors import PipelineError
from pipeline.fetch.accounting import LOSSES, Settled, settle
from pipeline.fetch.plan import Plan, plan
from pipeline.fetch.split import ReadOptions
from pipeline.fetch.tasks import Task, divide
from pipeline.identity import new_id
from pipeline.records.decoding import DecodeOptions
from pipeline.settings import IngestSettings, KafkaSettings, Settings
from pipeline.tables.archive import ArchiveTurn, Run, archive_turn, commit, execute
from pipeline.tables.archive_task import TaskSettings
from pipeline.tables.session import session
from pipeline.tables.staged import commit_staged, staged_turn
from pipeline.tables.warehouse import Warehouse, open_warehouse

STEPS = ("plan", "read", "commit")


def ingest_all(arguments: IngestArguments, clock: Clock) -> int:
    """Archive every cluster of the settings; the exit code of the worst."""
    run = _Runs(arguments, clock)
    codes = []
    for name, kafka in arguments.settings.named_clusters().items():
        try:
            codes.append(run.archive(name, kafka))
        except PipelineError as error:
            codes.append(complain(error))
    return worst(codes)


class _Runs:
    """One run of the job; the Spark session and the warehouse are opened once, when the first cluster answers."""

    def __init__(self, arguments: IngestArguments, clock: Clock) -> None:
        self._arguments, self._settings, self._clock = arguments, arguments.settings, clock

    @cached_property
    def _warehouse(self) -> Warehouse:
        return open_warehouse(session("lagoon ingest"), self._settings, self._clock)

    def archive(self, name: str, kafka: KafkaSettings) -> int:
        """Archive one cluster; its exit code. A cluster that does not answer is known before Spark is started."""
        started = self._clock.monotonic()
        told = self._settings.ingest
        deadline = Deadline.after(self._clock, told.deadline_ms)
        with Cluster.connect(kafka, self._clock, Journal(), deadline) as cluster:
            cluster_id = cluster.refresh((), deadline).cluster_id or name
            with self._turn(cluster_id) as mine, Steps(name, STEPS) as steps:
                return self._archive(name, kafka, cluster, mine, steps, started)

    def _turn(self, cluster_id: str) -> AbstractContextManager[ArchiveTurn]:
        wait_ms, after_restore = self._settings.ingest.lock_wait_ms, self._arguments.after_restore
        if staging := self._settings.staging():
            return staged_turn(self._warehouse, staging, cluster_id, self._clock, wait_ms)
        return archive_turn(self._warehouse, cluster_id, self._clock, wait_ms, after_restore)

    def _archive(
        self, name: str, kafka: KafkaSettings, cluster: Cluster, mine: ArchiveTurn, steps: Steps, started: float
    ) -> int:
        steps.tell("plan", len(mine.topics))
        deadline = Deadline.after(self._clock, self._settings.ingest.deadline_ms)
        planned = plan(cluster, self._arguments.wanted, mine.topics, deadline)
        steps.tell("read", sum(one.offsets for one in planned.ranges))
        ingest_id, day = new_id(planned.planned_at_ms), _day(planned.planned_at_ms)
        results = execute(
            mine,
            _task_settings(self._settings, kafka, self._clock, mine, ingest_id, day),
            self._tasks(planned, mine),
        )
        outcomes = [result.outcome for result in results]
        settled = settle(ingest_id, mine.cluster_id, planned, mine.topics, outcomes)
        files = [file for number in sorted(settled.kept) for file in results[number].files]
        steps.tell("commit", len(files))
        if settled.ranges:
            write = commit_staged if self._settings.staging() else commit
            write(mine, Run(ingest_id=ingest_id, ingest_date=day, settled=settled, files=files))
        seconds = self._clock.monotonic() - started
        return self._conclude(name, mine.cluster_id, planned, settled, seconds)

    def _tasks(self, planned: Plan, mine: ArchiveTurn) -> Sequence[Task]:
        most = self._settings.ingest.task_mb << 20
        return divide(planned.ranges, planned.bytes_of, mine.warehouse.spark.sparkContext.defaultParallelism, most)

    def _conclude(self, name: str, cluster_id: str, planned: Plan, settled: Settled, seconds: float) -> int:
        say(ingest_line(name, cluster_id, planned, settled, self._settings.place(), seconds))
        log.info("archived", cluster=name, ranges=len(settled.ranges), seconds=round(seconds, 3))
        for failure in planned.failures:
            say(f"{name}: {failure.scope}: {failure.name}" + (f" ({failure.message})" if failure.message else ""))
        return INCOMPLETE if planned.failures or _incomplete(settled, self._settings.ingest) else COMPLETE


def _incomplete(settled: Settled, told: IngestSettings) -> bool:
    """Whether anything is missing that the settings do not accept to be missing."""
    lost = any(row.problem in LOSSES or row.corrupt for row in settled.ranges)
    stopped = any(row.problem is not None and row.problem not in LOSSES for row in settled.ranges)
    return stopped or (lost and not told.accept_loss)


def _task_settings(
    settings: Settings, kafka: KafkaSettings, clock: Clock, mine: ArchiveTurn, ingest_id: str, day: date
) -> TaskSettings:
    return TaskSettings(
        kafka=kafka,
        clock=clock,
        options=read_options(settings.ingest),
        folder=mine.folder(day),
        ingest_id=ingest_id,
        cluster_id=mine.cluster_id,
        target_bytes=settings.records.target_file_mb << 20,
        compression=settings.records.compression,
    )


def read_options(told: IngestSettings) -> ReadOptions:
    """How splits are read, with sizes that keep the buffers of a task below its memory.

    They are: an answer being decoded, the next one on its way, what it expands to, its columns, and what is being written.
    """
    part = (told.task_memory_mb << 20) // 16
    return ReadOptions(
        isolation_level=told.isolation_level,
        fetch_bytes=min(told.max_partition_fetch_bytes, part),
        patience_ms=told.patience_ms,
        decoding=DecodeOptions(
            expanded_bytes=part,
            batch_limit_bytes=told.batch_limit_mb << 20,
            check_crcs=told.check_crcs,
        ),
    )


def _day(epoch_ms: int) -> date:
    return datetime.fromtimestamp(epoch_ms / 1000, tz=UTC).date()
