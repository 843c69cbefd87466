"""Decides whether an open transaction hangs.

The rules are those of `kafka-transactions.sh find-hanging` with its default of 15 minutes: a transaction that has been open
in a partition for longer hangs, unless its coordinator still lists the partition. The age is that of the timestamp of the
producer's last record. Producers may write old timestamps, so a transaction that looks old may end normally in a moment: see
`confirmed`.
"""

from kafka_lagoon.admin.transactions import Producers, ProducersTransactions
from kafka_lagoon.frozen import frozen
from kafka_lagoon.protocol.messages.describe_producers import ProducerState
from kafka_lagoon.topic_partition import TopicPartition

MAX_TRANSACTION_TIMEOUT_MS = 15 * 60 * 1000  # also the default of the brokers' transaction.max.timeout.ms
RECENT, IN_TRANSACTION, ENDED = "recent", "in_transaction", "ended"
NO_TRANSACTION, ID_GONE, NOT_IN_TRANSACTION = "no_transaction", "transactional_id_gone", "partition_not_in_transaction"


@frozen(kw_only=False)
class Verdict:
    """The verdict about a producer's transaction: whether it hangs, and the reason; or why that is unknown."""

    is_hanging: bool | None
    evidence: str | None
    problem: str | None = None


def candidates(producers: Producers, now_ms: int) -> set[int]:
    """Ids of producers whose transactions have been open long enough to be hanging."""
    return {
        producer.producer_id
        for answer in producers.answers.values()
        for producer in answer.active_producers
        if _may_hang(producer, now_ms)
    }


def _may_hang(producer: ProducerState, now_ms: int) -> bool:
    """True if the last timestamp is old. An unknown timestamp, -1, counts as old, as in Kafka's tool."""
    is_open = producer.current_txn_start_offset >= 0
    return is_open and now_ms - producer.last_timestamp > MAX_TRANSACTION_TIMEOUT_MS


def verdict(
    partition: TopicPartition, producer: ProducerState, transactions: ProducersTransactions, now_ms: int
) -> Verdict:
    """Decide whether a producer's transaction hangs, from what coordinators answered about the candidates."""
    if producer.current_txn_start_offset < 0:
        return Verdict(is_hanging=False, evidence=None)
    if not _may_hang(producer, now_ms):
        return Verdict(is_hanging=False, evidence=RECENT)
    transactional_id = transactions.transactional_ids.get(producer.producer_id)
    if transactional_id is None:
        problem = next((failure.name for failure in transactions.list_failures), None)
        return Verdict(None, None, problem) if problem else Verdict(is_hanging=True, evidence=NO_TRANSACTION)
    if failure := transactions.description_failures.get(transactional_id):
        return Verdict(None, None, failure.name)
    description = transactions.descriptions.get(transactional_id)
    if description is None:
        return Verdict(is_hanging=True, evidence=ID_GONE)
    if any(one.topic == partition.topic and partition.partition in one.partitions for one in description.topics):
        return Verdict(is_hanging=False, evidence=IN_TRANSACTION)
    return Verdict(is_hanging=True, evidence=NOT_IN_TRANSACTION)


def confirmed(judged: Verdict, partition: TopicPartition, producer: ProducerState, again: Producers) -> Verdict:
    """The verdict, if a transaction that seems to hang is still there in a later answer of the leader.

    A coordinator forgets a partition only after the leader has written the marker. So a transaction that ended while the
    coordinator was asked is no longer open in the later answer.
    """
    if not judged.is_hanging:
        return judged
    if partition in again.failures:
        return Verdict(None, None, again.failures[partition].name)
    now = {(one.producer_id, one.current_txn_start_offset) for one in again.answers[partition].active_producers}
    is_there = (producer.producer_id, producer.current_txn_start_offset) in now
    return judged if is_there else Verdict(is_hanging=False, evidence=ENDED)
