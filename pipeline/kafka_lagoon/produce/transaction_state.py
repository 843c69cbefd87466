"""Asks the coordinator of a transactional id about its transaction: open, known, or of another producer by now (KIP-664)."""

from collections.abc import Collection

from kafka_lagoon.admin.transactions import describe_transactions
from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.client.routes import ByCoordinator
from kafka_lagoon.client.routing import Gathered
from kafka_lagoon.clock import Deadline
from kafka_lagoon.errors import TransactionFailed
from kafka_lagoon.produce.transaction_requests import failed, know_coordinator
from kafka_lagoon.produce.transactions import Transaction
from kafka_lagoon.protocol.error_codes import INVALID_TXN_STATE, PRODUCER_FENCED, TRANSACTIONAL_ID_NOT_FOUND, error_code
from kafka_lagoon.protocol.messages.describe_transactions import DESCRIBE_TRANSACTIONS, ONGOING, DescribedTransaction
from kafka_lagoon.protocol.messages.find_coordinator import TRANSACTION


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


def _described(cluster: Cluster, transactional_id: str, deadline: Deadline) -> Gathered[str, DescribedTransaction]:
    """The description of a transactional id; TransactionFailed for failures, unless it is not known or brokers are too old."""
    described = _answer_about(cluster, transactional_id, deadline)
    for failure in described.failures.values():
        if not failure.is_too_old and failure.code != TRANSACTIONAL_ID_NOT_FOUND:
            raise failed(transactional_id, failure)
    return described


def _answer_about(cluster: Cluster, transactional_id: str, deadline: Deadline) -> Gathered[str, DescribedTransaction]:
    """The answer of the coordinator, which is looked up first."""
    know_coordinator(cluster, transactional_id, TRANSACTION, transactional_id, deadline)
    return describe_transactions(cluster, [transactional_id], deadline)


def refuse_if_fenced(cluster: Cluster, transaction: Transaction, deadline: Deadline) -> None:
    """Raise TransactionFailed if another producer has the transactional id by now, or if its coordinator does not answer.

    Brokers before Kafka 3.0 describe no transactions, so there it does nothing.
    """
    name = transaction.transactional_id
    described = _answer_about(cluster, name, deadline)
    for failure in described.failures.values():
        if not failure.is_too_old:
            raise failed(name, failure, transaction.timeout_ms)
    for now in described.answers.values():
        if (now.producer_id, now.producer_epoch) != (transaction.producer_id, transaction.epoch):
            fenced = error_code(PRODUCER_FENCED)
            raise TransactionFailed(
                name, DESCRIBE_TRANSACTIONS.name, fenced.name, fenced.code, "another producer has it"
            )


def refuse_ended(cluster: Cluster, transactions: Collection[Transaction], deadline: Deadline) -> None:
    """Raise TransactionFailed unless all of these transactions are open and have partitions, so that they can be committed.

    Coordinators abort those that are open for longer than their timeout. Brokers before Kafka 3.0 describe no transactions, so
    there it does nothing.
    """
    by_id = {transaction.transactional_id: transaction for transaction in transactions}
    refused = ByCoordinator(cluster, TRANSACTION).find_unknown(by_id, deadline)
    described = describe_transactions(cluster, [name for name in by_id if name not in refused], deadline)
    for name, failure in {**refused, **described.failures}.items():
        if not failure.is_too_old:
            raise failed(name, failure, by_id[name].timeout_ms)
    for name, now in described.answers.items():
        known = by_id[name]
        current = (now.transaction_state, now.producer_id, now.producer_epoch)
        if current != (ONGOING, known.producer_id, known.epoch):
            code = error_code(INVALID_TXN_STATE)
            reason = f"it is not open any more, but {now.transaction_state}: its timeout is {known.timeout_ms} ms"
            raise TransactionFailed(name, DESCRIBE_TRANSACTIONS.name, code.name, code.code, reason)
