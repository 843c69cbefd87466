"""Makes actions that abort hanging transactions, and says why an open transaction is not aborted.

The marker of a live transaction would take its records from readers while its producer goes on and believes that they are
committed, so a transaction that is not known to hang is a failure.
"""

from collections.abc import Iterable

from kafka_lagoon.admin.hanging_transactions import (
    IN_TRANSACTION,
    NO_TRANSACTION,
    RECENT,
    Verdict,
    candidates,
    verdict,
)
from kafka_lagoon.admin.transactions import Producers, transactions_of_producers
from kafka_lagoon.apply.action import Action
from kafka_lagoon.apply.kinds.transactions import abort_transaction
from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.client.failures import Failure, Scope, own_failure
from kafka_lagoon.clock import Deadline
from kafka_lagoon.frozen import frozen
from kafka_lagoon.protocol.messages.describe_producers import ProducerState
from kafka_lagoon.topic_partition import TopicPartition

_API = "abort-transaction"
_REASONS = {
    RECENT: "its last record is at most 15 minutes old, so its coordinator may still end it",
    IN_TRANSACTION: "its coordinator knows it and ends it at its timeout; `lagoon admin fence-producer` ends it now",
}
_UNLISTED = (
    "no coordinator lists this producer; coordinators leave out transactional ids without permission to describe them, "
    "so make sure that this user may describe all"
)


@frozen
class Aborts:
    """Actions for the transactions that hang, failures for the others, and notes for the user who confirms the actions."""

    actions: list[Action]
    failures: list[Failure]
    notes: list[str]


def abort_actions(
    cluster: Cluster,
    producers: Producers,
    start_offset: int | None,
    deadline: Deadline,
    *,
    producer_id: int | None = None,
    source: str | None = None,
) -> Aborts:
    """Make actions that abort hanging transactions: all, or those of one producer or with one start offset.

    The rules are those of `kafka-transactions.sh find-hanging`.
    """
    now_ms = cluster.clock.now_ms()
    transactions = transactions_of_producers(cluster, candidates(producers, now_ms), deadline)
    verdicts = [
        (partition, producer, verdict(partition, producer, transactions, now_ms))
        for partition, answer in sorted(producers.answers.items())
        for producer in _chosen(answer.active_producers, start_offset, producer_id)
    ]
    return Aborts(
        actions=[
            abort_transaction(partition, producer, source)
            for partition, producer, decided in verdicts
            if decided.is_hanging
        ],
        failures=[_refusal(*one) for one in verdicts if not one[2].is_hanging],
        notes=[_UNLISTED] if any(decided.evidence == NO_TRANSACTION for _, _, decided in verdicts) else [],
    )


def _chosen(
    producers: Iterable[ProducerState], start_offset: int | None, producer_id: int | None
) -> list[ProducerState]:
    return [
        producer
        for producer in producers
        if producer.current_txn_start_offset >= 0
        and producer_id in (None, producer.producer_id)
        and start_offset in (None, producer.current_txn_start_offset)
    ]


def _refusal(partition: TopicPartition, producer: ProducerState, decided: Verdict) -> Failure:
    scope = Scope.of_partition(*partition, f"producer {producer.producer_id}")
    if decided.evidence is None:
        return own_failure(_API, scope, decided.problem or "UNKNOWN", "it is not known to hang")
    return own_failure(_API, scope, "NOT_HANGING", _REASONS[decided.evidence])
