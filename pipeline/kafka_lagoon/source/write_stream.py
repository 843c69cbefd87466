"""Writes the micro-batches of a stream, each once, whatever Spark repeats and whoever dies.

A group that is called as the transactional ids begin keeps which micro-batch is written. With one transaction for all tasks
(transactions=run) it is committed in that transaction. With one for each task (transactions=task) it is committed when all
tasks have written, together with the list of their transactions, and then these are committed: whoever comes next commits
those that a driver which died has not.

For each micro-batch Spark makes this object, pickles it for the tasks, and makes another one for the commit, which knows only
the options and what the tasks have returned.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import DataSourceStreamArrowWriter, WriterCommitMessage

from kafka_lagoon import log
from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.clock import Deadline
from kafka_lagoon.errors import BrokerError, TransactionFailed
from kafka_lagoon.produce.batch_progress import BatchProgress, read_progress, write_progress
from kafka_lagoon.produce.transactions import Transaction, commit, commit_offsets, end_all, init_transactions
from kafka_lagoon.source.sink import MicroBatch, Sink, TaskWritten, require_unshared, task_messages
from kafka_lagoon.source.task_transactions import abort_attempts, commit_tasks, transactions_with_records
from kafka_lagoon.source.write_options import NO_TRANSACTIONS, OF_THE_RUN

if TYPE_CHECKING:
    import pyarrow as pa

_CURE = "the rest of its records is missing; to write all of it again, delete the offsets of group {group}"


class LagoonStreamWriter(DataSourceStreamArrowWriter):
    """Appends the rows of a micro-batch to topics."""

    def __init__(self, sink: Sink) -> None:
        self._sink = sink
        self._transaction: Transaction | None = None
        self._progress: list[BatchProgress] | None = None  # None until Spark sends this to its tasks

    def __getstate__(self) -> dict[str, Any]:
        """Begin the micro-batch: Spark pickles this object for the tasks, and never for a commit, so that it is begun once."""
        if self._progress is None:
            self._progress = self._begin()
        return self.__dict__

    def write(self, iterator: "Iterator[pa.RecordBatch]") -> WriterCommitMessage:
        """Write the rows of one task, on an executor, unless the micro-batch is written already."""
        from kafka_lagoon.source.write_task import this_task, write_task  # noqa: PLC0415  encoding is not for the driver to load

        task = this_task()
        if _includes(self._progress or (), task.batch):
            for _ in iterator:
                pass  # Spark waits until its rows are taken
            return TaskWritten(task=task, transaction=None, is_repeated=True)
        return write_task(self._sink, self._transaction, task, iterator)

    def commit(self, messages: Sequence[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803  Spark's name
        """Make visible what the tasks wrote, and keep that the micro-batch is written."""
        written = [one for one in task_messages(messages) if one.records]
        if not written or self._sink.options.transactions == NO_TRANSACTIONS:
            return
        batch = written[0].task.batch or MicroBatch("", batchId)
        deadline = self._sink.deadline()
        with self._sink.connect(deadline) as cluster:
            if self._sink.options.transactions == OF_THE_RUN:
                self._commit_run(cluster, batch, written, deadline)
            else:
                self._commit_tasks(cluster, batch, written, deadline)
        log.info("written", batch=batchId, records=sum(sum(one.records.values()) for one in written))

    def abort(self, messages: Sequence[WriterCommitMessage | None], batchId: int) -> None:  # noqa: ARG002, N803  Spark's name
        """Undo what the tasks wrote, unless it is decided that it is to be committed."""
        sink, deadline = self._sink, self._sink.deadline()
        if sink.options.transactions == NO_TRANSACTIONS:
            return
        with sink.connect(deadline) as cluster:
            if sink.options.transactions == OF_THE_RUN:
                init_transactions(cluster, sink.prefix, sink.options.transaction_timeout_ms, deadline)
                return
            decided = [
                one for progress in read_progress(cluster, sink.prefix, deadline) for one in progress.open_transactions
            ]
            if not decided:
                abort_attempts(cluster, sink, task_messages(messages), deadline)

    def _begin(self) -> list[BatchProgress]:
        """Check what brokers know, finish what a driver that died left, and begin the transaction if all tasks have one."""
        sink, deadline = self._sink, self._sink.deadline()
        with sink.connect(deadline) as cluster:
            sink.check(cluster, deadline)
            if sink.options.transactions == NO_TRANSACTIONS:
                return []
            if sink.options.transactions == OF_THE_RUN:
                timeout_ms = sink.options.transaction_timeout_ms
                self._transaction = init_transactions(cluster, sink.prefix, timeout_ms, deadline)
            known = read_progress(cluster, sink.prefix, deadline)
            for progress in known:
                self._finish(cluster, progress, deadline)
            return known

    def _finish(self, cluster: Cluster, progress: BatchProgress, deadline: Deadline) -> None:
        """Commit what was decided to be committed, and keep that it is."""
        if not progress.open_transactions:
            return
        failures = end_all(cluster, progress.open_transactions, deadline, committed=True)
        for failure in failures.values():
            cure = _CURE.format(group=self._sink.prefix)
            what = (
                f"micro-batch {progress.number} is committed but for {len(failures)} of its tasks' transactions; {cure}"
            )
            raise TransactionFailed(
                failure.transactional_id, failure.api, failure.name, failure.code, what, failure.may_be_done
            )
        write_progress(cluster, self._sink.prefix, replace(progress, open_transactions=()), deadline)

    def _commit_run(
        self, cluster: Cluster, batch: MicroBatch, written: Sequence[TaskWritten], deadline: Deadline
    ) -> None:
        require_unshared(written)
        transaction = written[0].transaction
        if transaction is None:
            raise RuntimeError("a task wrote outside of the transaction")
        offsets = _progress(batch, written).offsets()
        for failure in commit_offsets(cluster, transaction, self._sink.prefix, offsets, deadline).values():
            code = -1 if failure.code is None else failure.code
            raise BrokerError(code, failure.name, failure.api, str(failure.scope), failure.message)
        commit(cluster, transaction, deadline)

    def _commit_tasks(
        self, cluster: Cluster, batch: MicroBatch, written: Sequence[TaskWritten], deadline: Deadline
    ) -> None:
        progress, group_id = _progress(batch, written), self._sink.prefix
        decided = replace(progress, open_transactions=tuple(transactions_with_records(written)))
        write_progress(cluster, group_id, decided, deadline)
        commit_tasks(cluster, self._sink, written, deadline)
        write_progress(cluster, group_id, progress, deadline)


def _includes(known: Sequence[BatchProgress], batch: MicroBatch | None) -> bool:
    return batch is not None and any(one.includes(batch.query_id, batch.number) for one in known)


def _progress(batch: MicroBatch, written: Sequence[TaskWritten]) -> BatchProgress:
    """The group keeps it beside any topic that was written to."""
    topic = min(partition.topic for one in written for partition in one.records)
    return BatchProgress(series=batch.query_id, number=batch.number, topic=topic)
