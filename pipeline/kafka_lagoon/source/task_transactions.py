"""Commits the transactions of the successful task attempts, and aborts those of the others.

The commits are sent at the same time but are separate: if the driver dies in between, some tasks are committed and others
aborted by their timeout.

An attempt that Spark has given up may go on for seconds, and begin a transaction that nobody would end. So an attempt looks at
the driver's transaction after it has announced its own, and the driver first fences its own transaction, and then lists those
of attempts.
"""

from collections.abc import Collection, Sequence

from kafka_lagoon import log
from kafka_lagoon.admin.transactions import list_transactions
from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.clock import Deadline
from kafka_lagoon.errors import TransactionFailed
from kafka_lagoon.produce.transaction_state import refuse_if_fenced
from kafka_lagoon.produce.transactions import Transaction, end_all, fence_all
from kafka_lagoon.protocol.messages.describe_transactions import ONGOING
from kafka_lagoon.source.sink import Sink, TaskWritten, generation, generation_of

_MAY_GO_ON = ("Empty", ONGOING)  # Kafka's states of transactions whose producer has not ended them


def transactions_with_records(written: Sequence[TaskWritten]) -> list[Transaction]:
    """The transactions of tasks that wrote records; the others cannot be committed, and need not be."""
    return [one.transaction for one in written if one.transaction and one.records]


def commit_tasks(
    cluster: Cluster, sink: Sink, driver: Transaction, written: Sequence[TaskWritten], deadline: Deadline
) -> None:
    """Commit the records of every task, then abort open transactions of other attempts; `driver` is the driver's transaction.

    TransactionFailed names those not committed.
    """
    transactions = transactions_with_records(written)
    failures = end_all(cluster, transactions, deadline, committed=True)
    kept = {one.transactional_id for one in transactions}
    abort_left_open(cluster, sink, driver, kept, deadline, _deciding(written))
    if failures:
        raise partly_committed(failures.values(), len(transactions))


def partly_committed(failures: Collection[TransactionFailed], transactions: int) -> TransactionFailed:
    """The first failure, and how much was committed."""
    first = next(iter(failures))
    known = transactions - len(failures)
    message = f"{first.message or 'no answer'}; {known} of {transactions} tasks are committed, {len(failures)} are not"
    return TransactionFailed(
        first.transactional_id, first.api, first.name, first.code, message, any(one.may_be_done for one in failures)
    )


def abort_attempts(
    cluster: Cluster, sink: Sink, driver: Transaction, written: Sequence[TaskWritten], deadline: Deadline
) -> None:
    """Abort the records of all attempts of all tasks; `driver` is the driver's transaction."""
    end_all(cluster, transactions_with_records(written), deadline, committed=False)
    abort_left_open(cluster, sink, driver, (), deadline, _deciding(written))


def _deciding(written: Sequence[TaskWritten]) -> Transaction | None:
    return next((one.deciding for one in written if one.deciding), None)


def abort_left_open(
    cluster: Cluster,
    sink: Sink,
    driver: Transaction,
    kept: Collection[str],
    deadline: Deadline,
    deciding: Transaction | None = None,
) -> None:
    """Abort transactions of attempts that died or lost, and fence those attempts if they still run.

    Of attempts without records only those for the driver's transaction `deciding` are fenced, if it is known: their ids stay
    empty from one micro-batch to the next, and others have been refused since.
    None is aborted if another driver has taken over by now: they may be those of its tasks, and it aborts what is left itself.
    Brokers before Kafka 3.0 do not list transactions: there their timeout aborts them.
    """
    listings = list_transactions(cluster, deadline, states=_MAY_GO_ON)
    left = {
        one.transactional_id
        for listing in listings.answers.values()
        for one in listing.transaction_states
        if one.transactional_id.startswith(sink.task_prefix)
        and (
            deciding is None
            or one.transaction_state == ONGOING
            or generation_of(sink, one.transactional_id) == generation(deciding)
        )
    }
    failures: list[TransactionFailed] = []
    try:
        refuse_if_fenced(cluster, driver, deadline)
        failures += fence_all(cluster, sorted(left - set(kept)), sink.options.transaction_timeout_ms, deadline)
    except TransactionFailed as fenced:
        failures.append(fenced)
    for failure in (*listings.failures.values(), *failures):
        log.error("transaction_left_open", detail=str(failure), timeout_ms=sink.options.transaction_timeout_ms)
