"""Describes one write of the data source: plain values that Spark moves between its driver and tasks.

A transaction that several processes share must have at most one writer for each partition of a topic: brokers take the
batches of a second writer for repetitions.
"""

from collections.abc import Mapping, Sequence
from dataclasses import field

from pyspark.sql.datasource import WriterCommitMessage
from pyspark.sql.types import StructType

from kafka_lagoon import log
from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.client.request_stats import RequestStats
from kafka_lagoon.clock import SYSTEM_CLOCK, Deadline
from kafka_lagoon.errors import ConfigError, PipelineError
from kafka_lagoon.frozen import frozen
from kafka_lagoon.kafka_settings import KafkaSettings
from kafka_lagoon.produce.batch_progress import BatchProgress
from kafka_lagoon.produce.transactions import Transaction
from kafka_lagoon.protocol.messages.produce import ALL_ACKS
from kafka_lagoon.source.plan import connection_settings, require_topics
from kafka_lagoon.source.write_options import DEFAULT_PREFIX, SinkOptions
from kafka_lagoon.topic_partition import TopicPartition
from kafka_lagoon.uuid7 import new_id

# After as many transactions of the driver its tasks use the same transactional ids again. A micro-batch takes two or three.
GENERATIONS = 11
_MOST_REASONS = 3  # in the message of an exception


@frozen(kw_only=False)
class MicroBatch:
    """A micro-batch of a stream: Spark's id of the query, which its checkpoint keeps, and the number of the batch."""

    query_id: str
    number: int


@frozen
class SparkTask:
    """One attempt of a task; `batch` is None unless it belongs to a stream."""

    partition: int
    attempt: int
    batch: MicroBatch | None


@frozen
class Sink:
    """The target cluster and the columns of a write. `run_id` is new for each write."""

    options: SinkOptions
    kafka: KafkaSettings
    columns: tuple[str, ...]
    run_id: str

    @property
    def prefix(self) -> str:
        """The prefix of the transactional ids: the configured one, or one of this write."""
        return self.options.prefix or f"{DEFAULT_PREFIX}-{self.run_id}"

    @property
    def task_prefix(self) -> str:
        """The prefix of the transactional ids of tasks, which no other write uses."""
        return f"{self.prefix}.task-"

    def claim(self, partition: int) -> str:
        """The transactional id that only one attempt of a task can use, new for each write."""
        return f"{self.prefix}.claim-{self.run_id}-{partition}"

    def claim_of_stream(self, partition: int) -> str:
        """The transactional id that one attempt of a task can use in each micro-batch; all micro-batches have the same."""
        return f"{self.prefix}.claim-{partition}"

    def deadline(self) -> Deadline:
        """The time for one step between records."""
        return Deadline.after(SYSTEM_CLOCK, self.kafka.default_api_timeout_ms)

    def connect(self, deadline: Deadline, *, waits: bool = False) -> Cluster:
        """The cluster, to be closed by the caller. It `waits` for brokers only if it has answered the driver before."""
        log.configure()
        return Cluster.connect(self.kafka, SYSTEM_CLOCK, RequestStats(), deadline, waits=waits)

    def check(self, cluster: Cluster, deadline: Deadline) -> None:
        """Raise ConfigError if the topic does not exist; log an event if acknowledgements are weak."""
        if self.options.topic is not None:
            require_topics(cluster, [self.options.topic], deadline)
        if self.options.acks != ALL_ACKS:
            log.error("weak_acks", acks=self.options.acks, detail="records may be lost, and may be there twice")


@frozen
class TaskWritten(WriterCommitMessage):
    """A task's message to the driver: the number of records written to each partition, and the transaction.

    `deciding` is the transaction in which the driver commits that a micro-batch is written.
    """

    task: SparkTask
    transaction: Transaction | None
    deciding: Transaction | None = None
    records: Mapping[TopicPartition, int] = field(default_factory=dict)


@frozen
class TaskRepeated(WriterCommitMessage):
    """The message of a task that wrote none of its `rows`, because `written` includes its micro-batch."""

    task: SparkTask
    written: BatchProgress
    rows: int


@frozen
class TaskFailed(WriterCommitMessage):
    """The message of a task's only attempt that did not write all of its records: the reason.

    An exception on the executor would lose the reason: Spark would run the task again, which is refused, and report that.
    """

    task: SparkTask
    reason: str


class WriteFailed(PipelineError):
    """Tasks have not written all of their records; `reasons` are by task."""

    def __init__(self, reasons: Mapping[int, str]) -> None:
        super().__init__(reasons)
        self.reasons = reasons

    def __str__(self) -> str:
        named = [f"task {task}: {reason}" for task, reason in sorted(self.reasons.items())[:_MOST_REASONS]]
        more = len(self.reasons) - len(named)
        return "; ".join(named) + (f"; and {more} more tasks failed" if more else "")


def generation(driver: Transaction | None) -> int:
    """The first repetition of the transactional ids of the tasks for which this is the driver's transaction."""
    return driver.epoch % GENERATIONS if driver else 0


def transactional_id(sink: Sink, partition: int, attempt: int, repetition: int = 0) -> str:
    """The transactional id of an attempt of a task. Later writes use the same ids again: brokers keep each for a week."""
    again = f".{repetition}" if repetition else ""
    return f"{sink.task_prefix}{partition}-{attempt}{again}"


def generation_of(sink: Sink, transactional_id: str) -> int:
    """The generation of an id of `transactional_id`."""
    _, _, repetition = transactional_id.removeprefix(sink.task_prefix).partition(".")
    return int(repetition) % GENERATIONS if repetition.isdecimal() else 0


def require_written(messages: Sequence[WriterCommitMessage | None]) -> None:
    """Raise WriteFailed with the reasons of failed tasks."""
    reasons = {message.task.partition: message.reason for message in messages if isinstance(message, TaskFailed)}
    if reasons:
        raise WriteFailed(reasons)


def require_same(messages: Sequence[WriterCommitMessage | None], number: int, prefix: str) -> None:
    """Raise ConfigError if a micro-batch that was written before may have other rows now.

    Spark repeats only the last micro-batch, with the rows that it had, or fewer if its source has lost some: all others come
    from a checkpoint that is older.
    """
    repeated = [message for message in messages if isinstance(message, TaskRepeated)]
    if not repeated:
        return
    written, rows = repeated[0].written, sum(message.rows for message in repeated)
    if number < written.number:
        fault = f"micro-batches up to {written.number} are written: the checkpoint is older than the topics"
    elif written.records is not None and rows > written.records:
        what = "the checkpoint is older than the topics, or the query was changed"
        fault = f"its number is written, with {written.records:,}: {what}"
    else:
        return
    cure = (
        "begin a new checkpoint with startingOffsets where the records end that are written, or delete the offsets of group "
        f"{prefix} to write all from this micro-batch on, what is written already a second time"
    )
    raise ConfigError([f"micro-batch {number} with {rows:,} rows is not written: {fault}; {cure}"])


def task_messages(messages: Sequence[WriterCommitMessage | None]) -> list[TaskWritten]:
    """The messages of the tasks that succeeded."""
    return [message for message in messages if isinstance(message, TaskWritten)]


def shared_partitions(messages: Sequence[TaskWritten]) -> list[TopicPartition]:
    """Partitions of topics that several tasks wrote to."""
    seen: set[TopicPartition] = set()
    shared: set[TopicPartition] = set()
    for message in messages:
        shared |= seen & message.records.keys()
        seen |= message.records.keys()
    return sorted(shared)


def new_sink(options: SinkOptions, schema: StructType) -> Sink:
    """Make a write; ConfigError lists invalid properties."""
    return Sink(
        options=options,
        kafka=connection_settings(options.kafka),
        columns=tuple(schema.fieldNames()),
        run_id=new_id(SYSTEM_CLOCK.now_ms()),
    )


def require_unshared(messages: Sequence[TaskWritten]) -> None:
    """Raise ConfigError for partitions that several tasks wrote to in one transaction."""
    shared = shared_partitions(messages)
    if shared:
        names = ", ".join(map(str, shared[:3])) + (", ..." if len(shared) > 3 else "")  # noqa: PLR2004
        raise ConfigError([f"transactions=run: several tasks wrote to {names}; {CURE_OF_SHARING}"])


CURE_OF_SHARING = (
    "write each partition from one task, as by coalesce(1), or set transactions=task; nothing is committed"
)
