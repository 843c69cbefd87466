"""Reads the splits of one Spark task of an ingest on its executor, and writes their records to data files.

A task depends only on its splits. It writes files under names that no other attempt uses and returns them; a file that is not
returned never becomes part of the table.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pyspark import TaskContext

from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.client.failures import refusal_name
from kafka_lagoon.client.request_stats import RequestStats
from kafka_lagoon.clock import Clock
from kafka_lagoon.delta.files import DataFile
from kafka_lagoon.errors import PipelineError, TableError
from kafka_lagoon.fetch.split import ReadOptions, Split, SplitOutcome
from kafka_lagoon.fetch.stalls import BOOTSTRAP, RUN_DEADLINE_PASSED, Limits, Stalls
from kafka_lagoon.fetch.tasks import Task, TaskOutcome
from kafka_lagoon.frozen import frozen
from kafka_lagoon.ingest.task_progress import TaskProgress
from kafka_lagoon.kafka_settings import KafkaSettings
from kafka_lagoon.records.decoding import Counts
from kafka_lagoon.topic_partition import TopicPartition

if TYPE_CHECKING:
    from kafka_lagoon.delta.record_files import RecordFiles
    from kafka_lagoon.delta.s3_access import S3Access
    from kafka_lagoon.fetch.reader import SplitReader
    from kafka_lagoon.fetch.small_partitions import SharedRecords, Unread

# State of the one run that this process works for: Spark's workers run one task after the other.
_stalls: dict[str, Stalls] = {}


@frozen
class TaskSettings:
    """Settings that all tasks of a run share. `folder` is the URL of the folder for data files.

    `progress_folder` is where tasks report their progress, if the driver is on the same machine.
    """

    kafka: KafkaSettings
    clock: Clock
    options: ReadOptions
    folder: str
    ingest_id: str
    cluster: str
    cluster_id: str
    target_bytes: int
    compression: str
    access: "S3Access | None" = None
    progress_folder: str | None = None


@frozen
class TaskResult:
    """The outcomes and files of a task. If `error` says why files could not be written, there are no files."""

    outcome: TaskOutcome
    files: Sequence[DataFile] = ()
    error: str | None = None


@dataclass(slots=True)
class _Progress:
    reported: TaskProgress
    alone: list[SplitOutcome] = field(default_factory=list)
    together: list[SplitOutcome] = field(default_factory=list)
    files: dict[TopicPartition, int] = field(default_factory=dict)

    @property
    def outcomes(self) -> list[SplitOutcome]:
        """Outcomes of splits that were read alone, and together with others."""
        return self.alone + self.together

    def report(self, reader: "SplitReader | None" = None, *, is_last: bool = False) -> None:
        """Report the counts so far, with those of the split that `reader` is reading."""
        self.reported.report(
            lambda: [one.counts for one in (*self.outcomes, *([reader.outcome] if reader else []))], is_last=is_last
        )


def archive_or_repeat(attempts: int, settings: TaskSettings, task: Task) -> TaskResult:
    """Archive a task. An attempt that cannot write raises TableError, so that Spark repeats it, unless it is the last one.

    As a result the error would count at once: other executors could not try, and of two attempts that run at the same time
    the broken one, which ends first, would be taken.
    """
    result = archive(settings, task)
    context = TaskContext.get()
    if result.error and context and context.attemptNumber() < attempts - 1:
        raise TableError(result.error)
    return result


def archive(settings: TaskSettings, task: Task) -> TaskResult:
    """Read the splits of a task and write their records. Small splits are read together, others one after the other.

    Never raises for failures of brokers or disks: an outcome, or `error`, reports them.
    """
    from kafka_lagoon.delta.record_files import RecordFiles  # noqa: PLC0415  the driver needs neither this nor a decoder

    progress = _Progress(reported=TaskProgress(settings.progress_folder, settings.clock))
    files = RecordFiles(
        folder_url=settings.folder,
        ingest_id=settings.ingest_id,
        cluster=settings.cluster,
        cluster_id=settings.cluster_id,
        target_bytes=settings.target_bytes,
        compression=settings.compression,
        access=settings.access,
    )
    try:
        _read_all(settings, task, files, progress)
        written = files.close()
        progress.report(is_last=True)
    except TableError as error:
        files.discard()
        return TaskResult(outcome=TaskOutcome(outcomes=(), files={}), error=str(error))
    except BaseException:
        files.discard()
        raise
    finally:
        progress.reported.close()
    return TaskResult(outcome=TaskOutcome(outcomes=progress.outcomes, files=progress.files), files=written)


def _read_all(settings: TaskSettings, task: Task, files: "RecordFiles", progress: _Progress) -> None:
    topics = {split.topic for split in task.splits}
    limits = Limits.of(settings.clock, settings.options, _stalls_of(settings))
    if limits.run_is_over():  # the task has waited for a core until then
        progress.alone += [_unread(split, RUN_DEADLINE_PASSED, None) for split in task.splits]
        return
    from kafka_lagoon.fetch.small_partitions import SmallPartitions, Unread  # noqa: PLC0415

    with Cluster(settings.kafka, settings.clock, RequestStats(), waits=True) as cluster:
        try:
            cluster.refresh(topics, limits.waiting_for(BOOTSTRAP))
        except PipelineError as error:
            limits.stalls.stalled(BOOTSTRAP)
            name = RUN_DEADLINE_PASSED if limits.run_is_over() else refusal_name(error)
            progress.alone += [_unread(split, name, str(error)) for split in task.splits]
            return
        small = SmallPartitions(cluster, settings.options, limits)
        progress.together = small.outcomes
        for part in small.read(task.splits):
            if isinstance(part, Unread):
                _read_alone(cluster, part, settings, files, progress)
            else:
                _write_shared(part, files, progress)
            progress.report()


def _write_shared(part: "SharedRecords", files: "RecordFiles", progress: _Progress) -> None:
    from kafka_lagoon.delta.record_files import PartitionRows  # noqa: PLC0415

    owners = [PartitionRows(split.topic, split.topic_id, split.partition, rows) for split, rows in part.rows]
    files.write_several(owners, part.batch)
    progress.files |= {split.topic_partition: 1 for split, rows in part.rows if rows}


def _stalls_of(settings: TaskSettings) -> Stalls:
    """Brokers that hung in earlier tasks of the run in this process."""
    if settings.ingest_id not in _stalls:
        _stalls.clear()
        _stalls[settings.ingest_id] = Stalls(settings.clock, settings.options.stall_timeout_ms)
    return _stalls[settings.ingest_id]


def _read_alone(
    cluster: Cluster, part: "Unread", settings: TaskSettings, files: "RecordFiles", progress: _Progress
) -> None:
    from kafka_lagoon.fetch.reader import SplitReader  # noqa: PLC0415

    split, holding = part.split, set[str]()
    reader = SplitReader(cluster, split, settings.options, _stalls_of(settings), part.answer)
    try:
        for batch in reader.batches():
            holding.add(files.write(split.topic, split.topic_id, split.partition, batch))
            progress.report(reader)
    finally:
        reader.close()
    progress.alone.append(reader.outcome)
    progress.files[split.topic_partition] = len(holding)


def _unread(split: Split, failure: str, detail: str | None) -> SplitOutcome:
    """The outcome of a split of which nothing was read: no broker named its leader, or there was no time left."""
    return SplitOutcome(split=split, next_offset=split.from_offset, counts=Counts(), failure=failure, detail=detail)
