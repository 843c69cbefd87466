"""Writes a batch of the data source: plans it, passes it to tasks, and commits or aborts their records.

Spark runs each step in a separate process and moves this object from one to the next.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSourceArrowWriter, WriterCommitMessage

from kafka_lagoon import log
from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.clock import Deadline
from kafka_lagoon.errors import TransactionFailed
from kafka_lagoon.produce.transaction_requests import FENCED
from kafka_lagoon.produce.transaction_state import refuse_ended
from kafka_lagoon.produce.transactions import Transaction, abort, commit, end_all, init_transactions
from kafka_lagoon.source.sink import Sink, TaskWritten, require_unshared, require_written, task_messages
from kafka_lagoon.source.task_transactions import abort_attempts, commit_tasks, transactions_with_records
from kafka_lagoon.source.write_options import NO_TRANSACTIONS, OF_TASKS

if TYPE_CHECKING:
    import pyarrow as pa


class LagoonWriter(DataSourceArrowWriter):
    """Appends the rows of a DataFrame to topics."""

    def __init__(self, sink: Sink) -> None:
        """Check what brokers know, and begin the driver's transaction. Nothing is written yet.

        All tasks share it, or each has one of its own, which it may begin for as long as the driver has this one.
        """
        self._sink = sink
        self._transaction: Transaction | None = None
        deadline = sink.deadline()
        with sink.connect(deadline) as cluster:
            sink.check(cluster, deadline)
            if sink.options.transactions != NO_TRANSACTIONS:
                self._transaction = self._begin(cluster, deadline)

    def write(self, iterator: "Iterator[pa.RecordBatch]") -> WriterCommitMessage:
        """Write the rows of one task, on an executor."""
        from kafka_lagoon.source.write_task import this_task, write_task  # noqa: PLC0415  encoding is not for the driver to load

        # In foreachBatch Spark gives tasks the micro-batch of the stream, which this write does not belong to.
        return write_task(self._sink, self._transaction, replace(this_task(), batch=None), iterator)

    def commit(self, messages: Sequence[WriterCommitMessage | None]) -> None:
        """Make the tasks' records visible; WriteFailed if one of them has not written all of its records.

        TransactionFailed if another write has taken over the transactional id: its driver aborts what this one has not
        committed, so that only some of the tasks might be.
        """
        require_written(messages)
        written = task_messages(messages)
        log.configure()
        # Without a transaction all is done, and brokers that do not answer now must not fail the job.
        if self._transaction:
            self._commit(self._transaction, written)
        log.info("written", records=sum(sum(one.records.values()) for one in written), tasks=len(written))

    def abort(self, messages: Sequence[WriterCommitMessage | None]) -> None:
        """Undo what the tasks wrote in transactions."""
        if self._transaction is None:
            return
        deadline = self._sink.deadline()
        has_own = self._sink.options.transactions == OF_TASKS
        attempts = task_messages(messages) if has_own else []
        with self._sink.connect(deadline, waits=True) as cluster:
            try:
                driver = self._stop_attempts(cluster, self._transaction, deadline)
            except TransactionFailed as failure:
                if failure.code not in FENCED:
                    raise
                # Fenced by `commit`, which aborted all other attempts, or by another write with the same prefix.
                end_all(cluster, transactions_with_records(attempts), deadline, committed=False)
                return
            if has_own:
                abort_attempts(cluster, self._sink, driver, attempts, deadline)

    def _commit(self, transaction: Transaction, written: Sequence[TaskWritten]) -> None:
        deadline = self._sink.deadline()
        with self._sink.connect(deadline, waits=True) as cluster:
            if self._sink.options.transactions == OF_TASKS:
                refuse_ended(cluster, transactions_with_records(written), deadline)
                driver = self._stop_attempts(cluster, transaction, deadline)
                commit_tasks(cluster, self._sink, driver, written, deadline)
            else:
                self._commit_run(cluster, transaction, written, deadline)

    def _begin(self, cluster: Cluster, deadline: Deadline) -> Transaction:
        return init_transactions(cluster, self._sink.prefix, self._sink.options.transaction_timeout_ms, deadline)

    def _stop_attempts(self, cluster: Cluster, transaction: Transaction, deadline: Deadline) -> Transaction:
        """Abort the driver's transaction and fence it, so that attempts which Spark has given up cannot begin another one.

        Returns the driver's next transaction. TransactionFailed if it is fenced already.
        """
        abort(cluster, transaction, deadline)
        return self._begin(cluster, deadline)

    def _commit_run(
        self, cluster: Cluster, transaction: Transaction, written: Sequence[TaskWritten], deadline: Deadline
    ) -> None:
        require_unshared(written)
        if any(one.records for one in written):
            commit(cluster, transaction, deadline)
