"""Asks the coordinator of a transactional id about its transaction: open, known, or of another producer by now (KIP-664)."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

from kafka_lagoon.admin.transactions import describe_transactions
from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.client.routes import ByCoordinator
from kafka_lagoon.client.routing import Gathered
from kafka_lagoon.clock import Deadline
from kafka_lagoon.errors import TransactionFailed
from kafka_lagoon.produce.transaction_requests import failed
from kafka_lagoon.produce.transactions import Transaction, init_transactions
from kafka_lagoon.protocol.error_codes import INVALID_TXN_STATE, PRODUCER_FENCED, TRANSACTIONAL_ID_NOT_FOUND, error_code
from kafka_lagoon.protocol.messages.describe_transactions import DESCRIBE_TRANSACTIONS, ONGOING, DescribedTransaction
from kafka_lagoon.protocol.messages.find_coordinator import TRANSACTION

# Coordinators wait as long for their replicas. With any epoch added it is less than Kafka's default, a minute.
_TAKEN_MS = 20_000


def is_open(cluster: Cluster, transactional_id: str, deadline: Deadline) -> bool:
    """True if a transaction is open and has partitions. False with brokers before Kafka 3.0, which cannot be asked."""
    described = _described(cluster, transactional_id, deadline)
    return any(now.transaction_state == ONGOING for now in described.answers.values())


def is_known(cluster: Cluster, transactional_id: str, deadline: Deadline) -> bool | None:
    """True if the coordinator knows a transactional id; None with brokers before Kafka 3.0, which cannot be asked.

    InitProducerId makes it known. It is forgotten when it was not used for transactional.id.expiration.ms.
    """
    described = _described(cluster, transactional_id, deadline)
    return None if any(failure.is_too_old for failure in described.failures.values()) else bool(described.answers)


def take_once(cluster: Cluster, transactional_id: str, number: int, deadline: Deadline) -> bool:
    """Take an id, under which no transaction is begun, for a step with this number, as an epoch; False if it was taken before.

    The coordinator keeps the number as the timeout of the id's transactions. If several take the id at the same time, each gets
    another epoch, and at most one of them the epoch after the one that all have seen. True with brokers before Kafka 3.0,
    which cannot be asked.
    """
    described = _described(cluster, transactional_id, deadline)
    if any(failure.is_too_old for failure in described.failures.values()):
        return True
    timeout_ms = _TAKEN_MS + number
    before = described.answers.get(transactional_id)
    if before and before.transaction_timeout_ms == timeout_ms:
        return False
    taken = init_transactions(cluster, transactional_id, timeout_ms, deadline)
    if before and before.producer_id == taken.producer_id:
        return taken.epoch == before.producer_epoch + 1
    return taken.epoch == 0  # of a new id, or of the producer id that follows one whose epochs are used up


def _described(cluster: Cluster, transactional_id: str, deadline: Deadline) -> Gathered[str, DescribedTransaction]:
    """The description of a transactional id; TransactionFailed for failures, unless it is not known or brokers are too old."""
    described = _descriptions(cluster, [transactional_id], deadline)
    for failure in described.failures.values():
        if not failure.is_too_old and failure.code != TRANSACTIONAL_ID_NOT_FOUND:
            raise failed(transactional_id, failure)
    return described


def _descriptions(
    cluster: Cluster, transactional_ids: Sequence[str], deadline: Deadline
) -> Gathered[str, DescribedTransaction]:
    """The answers of the coordinators, which are looked up first."""
    refused = ByCoordinator(cluster, TRANSACTION).find_unknown(transactional_ids, deadline)
    described = describe_transactions(cluster, [name for name in transactional_ids if name not in refused], deadline)
    return replace(described, failures={**refused, **described.failures})


def refuse_if_fenced(cluster: Cluster, transaction: Transaction, deadline: Deadline) -> None:
    """Raise TransactionFailed if another producer has the transactional id by now, or if its coordinator does not answer.

    Brokers before Kafka 3.0 describe no transactions, so there it does nothing.
    """
    for _, now in _states(cluster, [transaction], deadline):
        if (now.producer_id, now.producer_epoch) != (transaction.producer_id, transaction.epoch):
            raise _refused(now, PRODUCER_FENCED, "another producer has it")


def refuse_ended(cluster: Cluster, transactions: Collection[Transaction], deadline: Deadline) -> None:
    """Raise TransactionFailed unless all of these transactions are open and have partitions, so that they can be committed.

    Coordinators abort those that are open for longer than their timeout. Brokers before Kafka 3.0 describe no transactions, so
    there it does nothing.
    """
    for known, now in _states(cluster, transactions, deadline):
        current = (now.transaction_state, now.producer_id, now.producer_epoch)
        if current != (ONGOING, known.producer_id, known.epoch):
            reason = f"it is not open any more, but {now.transaction_state}: its timeout is {known.timeout_ms} ms"
            raise _refused(now, INVALID_TXN_STATE, reason)


def _states(
    cluster: Cluster, transactions: Collection[Transaction], deadline: Deadline
) -> Iterator[tuple[Transaction, DescribedTransaction]]:
    """Each transaction with its coordinator's description; TransactionFailed for failures, unless brokers are too old."""
    by_id = {transaction.transactional_id: transaction for transaction in transactions}
    described = _descriptions(cluster, [*by_id], deadline)
    for name, failure in described.failures.items():
        if not failure.is_too_old:
            raise failed(name, failure, by_id[name].timeout_ms)
    return ((by_id[name], now) for name, now in described.answers.items())


def _refused(now: DescribedTransaction, code: int, reason: str) -> TransactionFailed:
    error = error_code(code)
    return TransactionFailed(now.transactional_id, DESCRIBE_TRANSACTIONS.name, error.name, error.code, reason)
