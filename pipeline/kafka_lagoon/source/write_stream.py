"""Writes the micro-batches of a stream, each exactly once, even if Spark repeats them or processes die.

A consumer group, named like the prefix of the transactional ids, stores the last micro-batch that was written. The driver
commits its offset in a transaction; beginning that transaction fences an earlier driver of the query. With transactions=run it
is the one transaction of all tasks. With transactions=task each task has its own, and the driver's transaction stores the list
of them before they are committed: if the driver dies, the next one commits those that are left. Brokers forget the group
`offsets.retention.minutes` after the last commit: a micro-batch that Spark repeats after that is written again. A micro-batch
of a checkpoint that is older than what was written has a number that is known and may have other rows: it is refused.

For each micro-batch Spark creates this object, pickles it for the tasks, and creates another one for the commit, which knows
only the options and the messages of the tasks.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import DataSourceStreamArrowWriter, WriterCommitMessage

from kafka_lagoon import log
from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.clock import Deadline
from kafka_lagoon.errors import TransactionFailed
from kafka_lagoon.produce.batch_progress import BatchProgress, keep_progress, read_progress
from kafka_lagoon.produce.transaction_requests import FENCED
from kafka_lagoon.produce.transaction_state import refuse_ended
from kafka_lagoon.produce.transactions import Transaction, commit, end_all, init_transactions
from kafka_lagoon.protocol.error_codes import INVALID_PRODUCER_ID_MAPPING, INVALID_TXN_STATE
from kafka_lagoon.source.sink import (
    MicroBatch,
    Sink,
    TaskRepeated,
    TaskWritten,
    require_same,
    require_unshared,
    require_written,
    task_messages,
)
from kafka_lagoon.source.task_transactions import (
    abort_attempts,
    abort_left_open,
    commit_tasks,
    transactions_with_records,
)
from kafka_lagoon.source.write_options import NO_TRANSACTIONS, OF_TASKS

if TYPE_CHECKING:
    import pyarrow as pa

_GONE = FENCED | {INVALID_TXN_STATE, INVALID_PRODUCER_ID_MAPPING}  # the transaction was aborted, as by its timeout
_CURE = "the rest of its records is missing; to write all of it again, delete the offsets of group {group}"


class LagoonStreamWriter(DataSourceStreamArrowWriter):
    """Appends the rows of a micro-batch to topics."""

    def __init__(self, sink: Sink) -> None:
        self._sink = sink
        self._transaction: Transaction | None = None
        self._progress: list[BatchProgress] | None = None  # None until Spark sends the object to its tasks

    def __getstate__(self) -> dict[str, Any]:
        """Begin the micro-batch: Spark pickles this object for the tasks and never for a commit, so that it is begun once."""
        if self._progress is None:
            self._progress = self._begin()
        return self.__dict__

    def write(self, iterator: "Iterator[pa.RecordBatch]") -> WriterCommitMessage:
        """Write the rows of one task, on an executor, unless the micro-batch is written already."""
        from kafka_lagoon.source.write_task import this_task, write_task  # noqa: PLC0415  encoding is not for the driver to load

        task = this_task()
        if written := _including(self._progress or (), task.batch):
            return TaskRepeated(task=task, written=written, rows=sum(some.num_rows for some in iterator))
        return write_task(self._sink, self._transaction, task, iterator)

    def commit(self, messages: Sequence[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803  Spark's name
        """Make the tasks' records visible, and store that the micro-batch is written; WriteFailed if a task has failed.

        ConfigError if a micro-batch of this number was written before, and was another one.
        """
        require_written(messages)
        require_same(messages, batchId, self._sink.prefix)
        written = [one for one in task_messages(messages) if one.records]
        deciding = written[0].deciding if written else None
        if deciding is None:
            return  # nothing is written, or not in transactions
        deadline = self._sink.deadline()
        with self._sink.connect(deadline, waits=True) as cluster:
            if self._sink.options.transactions == OF_TASKS:
                self._commit_tasks(cluster, deciding, written, deadline)
            else:
                require_unshared(written)
                self._keep(cluster, deciding, _progress(written), deadline)
        log.info("written", batch=batchId, records=sum(sum(one.records.values()) for one in written))

    def abort(self, messages: Sequence[WriterCommitMessage | None], batchId: int) -> None:  # noqa: ARG002, N803  Spark's name
        """Undo what the tasks wrote, unless its commit is already decided."""
        sink, deadline = self._sink, self._sink.deadline()
        if sink.options.transactions == NO_TRANSACTIONS:
            return
        with sink.connect(deadline, waits=True) as cluster:
            driver = self._init(cluster, deadline)
            is_decided = any(one.open_transactions for one in read_progress(cluster, sink.prefix, deadline))
            if sink.options.transactions == OF_TASKS and not is_decided:
                abort_attempts(cluster, sink, driver, task_messages(messages), deadline)

    def _begin(self) -> list[BatchProgress]:
        """Check what brokers know, begin the driver's transaction, and complete the work of a driver that died."""
        sink, deadline = self._sink, self._sink.deadline()
        with sink.connect(deadline) as cluster:
            sink.check(cluster, deadline)
            if sink.options.transactions == NO_TRANSACTIONS:
                return []
            self._transaction = self._init(cluster, deadline)
            known = read_progress(cluster, sink.prefix, deadline)
            for progress in known:
                if progress.open_transactions:
                    self._transaction = self._finish(cluster, self._transaction, progress, deadline)
            return known

    def _init(self, cluster: Cluster, deadline: Deadline, last: Transaction | None = None) -> Transaction:
        """The driver's next transaction; aborts an open transaction of the driver before."""
        timeout_ms = self._sink.options.transaction_timeout_ms
        return init_transactions(cluster, self._sink.prefix, timeout_ms, deadline, last, is_series=True)

    def _keep(
        self, cluster: Cluster, transaction: Transaction, progress: BatchProgress, deadline: Deadline
    ) -> Transaction | None:
        """Commit the transaction together with the query's position; returns the next one, as `commit` does."""
        keep_progress(cluster, transaction, self._sink.prefix, progress, deadline)
        return commit(cluster, transaction, deadline)

    def _finish(
        self, cluster: Cluster, transaction: Transaction, progress: BatchProgress, deadline: Deadline
    ) -> Transaction:
        """Commit the tasks' transactions in the stored list, and clear the list; returns the driver's next transaction.

        Transactions of other attempts, which the driver that died would have aborted, are aborted.
        TransactionFailed has a cure: another one for transactions that are gone than for those without an answer.
        """
        failures = end_all(cluster, progress.open_transactions, deadline, committed=True).values()
        for some, cure in (
            ([failure for failure in failures if failure.code in _GONE], _CURE.format(group=self._sink.prefix)),
            (failures, "the next start of the query tries again"),
        ):
            for failure in some:
                raise _uncommitted(progress, failure, len(some), cure)
        done = replace(progress, open_transactions=())
        following = self._keep(cluster, transaction, done, deadline) or self._init(cluster, deadline, transaction)
        abort_left_open(cluster, self._sink, following, (), deadline)
        return following

    def _commit_tasks(
        self, cluster: Cluster, deciding: Transaction, written: Sequence[TaskWritten], deadline: Deadline
    ) -> None:
        progress, transactions = _progress(written), transactions_with_records(written)
        refuse_ended(cluster, transactions, deadline)  # what is decided cannot be undone
        decided = replace(progress, open_transactions=tuple(transactions))
        following = self._keep(cluster, deciding, decided, deadline) or self._init(cluster, deadline, deciding)
        commit_tasks(cluster, self._sink, following, written, deadline)
        self._keep(cluster, following, progress, deadline)


def _including(known: Sequence[BatchProgress], batch: MicroBatch | None) -> BatchProgress | None:
    return next((one for one in known if batch and one.includes(batch.query_id, batch.number)), None)


def _uncommitted(progress: BatchProgress, failure: TransactionFailed, count: int, cure: str) -> TransactionFailed:
    what = f"micro-batch {progress.number} is committed but for {count} of its tasks' transactions; {cure}"
    message = f"{failure.message}; {what}" if failure.message else what
    return TransactionFailed(
        failure.transactional_id, failure.api, failure.name, failure.code, message, failure.may_be_done
    )


def _progress(written: Sequence[TaskWritten]) -> BatchProgress:
    """The offset that stores this micro-batch as written; the group has it for any topic that was written to."""
    batch = written[0].task.batch
    if batch is None:
        raise RuntimeError("a task of a stream has no micro-batch")
    topic = min(partition.topic for one in written for partition in one.records)
    records = sum(sum(one.records.values()) for one in written)
    return BatchProgress(series=batch.query_id, number=batch.number, topic=topic, records=records)
