"""Collects tables transactions and producers.

For transactions that may hang, coordinators are asked again after the leaders. For those that then seem to hang, leaders are
asked again: a transaction that its coordinator does not know, and that is open before and after that, was not ended in between.
"""

from kafka_lagoon.admin.hanging_transactions import candidates
from kafka_lagoon.admin.permissions import Permission
from kafka_lagoon.admin.transactions import (
    GONE,
    describe_producers,
    describe_transactions,
    list_transactions,
    transactions_of_producers,
)
from kafka_lagoon.protocol.acls import DESCRIBE, READ, TOPIC, TRANSACTIONAL_ID
from kafka_lagoon.protocol.messages.describe_producers import DESCRIBE_PRODUCERS
from kafka_lagoon.protocol.messages.describe_transactions import DESCRIBE_TRANSACTIONS
from kafka_lagoon.protocol.messages.list_transactions import LIST_TRANSACTIONS
from kafka_lagoon.snapshot.collection import Collected, Collection, Collector, Phase
from kafka_lagoon.snapshot.producers import hanging_partitions, open_partitions, partition_producer_rows
from kafka_lagoon.snapshot.transactions import listed_transaction_rows, transaction_rows, undescribed_rows
from kafka_lagoon.tables import state_tables
from kafka_lagoon.tables.cluster_rows import PartitionOffsetsRow
from kafka_lagoon.tables.transaction_rows import TransactionRow

_TOPICS = Permission(DESCRIBE, TOPIC, "partitions are left out of transactions")


def _collect_transactions(collection: Collection) -> Collected:
    cluster, deadline = collection.cluster, collection.deadline
    listings = list_transactions(cluster, deadline)
    listed = list(listed_transaction_rows(listings))
    described = describe_transactions(cluster, [one.transactional_id for one in listed], deadline)
    rows: list[TransactionRow] = [
        *transaction_rows(described, cluster.clock.now_ms()),
        *undescribed_rows(listed, described.failures),
    ]
    refused = [failure for failure in described.failures.values() if failure.name != GONE]
    rows.sort(key=lambda row: row.transactional_id)
    return Collected(rows, [*listings.failures.values(), *refused])


def _collect_producers(collection: Collection) -> Collected:
    cluster, deadline = collection.cluster, collection.deadline
    listed = collection.of(TransactionRow)
    partitions = open_partitions(collection.of(PartitionOffsetsRow), listed)
    chosen = [partition for partition in partitions if partition.topic in collection.chosen.topics]
    producers = describe_producers(cluster, chosen, deadline)
    now_ms = cluster.clock.now_ms()
    transactions = transactions_of_producers(cluster, candidates(producers, now_ms), deadline)
    transactional_ids = {one.producer_id: one.transactional_id for one in listed}
    again = describe_producers(cluster, hanging_partitions(producers, transactions, now_ms), deadline)
    rows = partition_producer_rows(
        producers,
        again,
        transactions,
        {**transactional_ids, **transactions.transactional_ids},
        collection.topology.lasting_ids(),
        now_ms,
    )
    failures = [
        *producers.failures.values(),
        *again.failures.values(),
        *transactions.list_failures,
        *transactions.description_failures.values(),
    ]
    # The partitions of a transaction that was not described are unknown; FindCoordinator may be what refused it.
    is_whole = all(row.problem in (None, GONE) for row in listed)
    return Collected(list(rows), failures, is_whole)


TRANSACTIONS = Collector(
    table=state_tables.TRANSACTIONS,
    phase=Phase.DETAILS,
    collect=_collect_transactions,
    apis=(LIST_TRANSACTIONS, DESCRIBE_TRANSACTIONS),
    permissions=(Permission(DESCRIBE, TRANSACTIONAL_ID, "transactions are left out"), _TOPICS),
    required=False,
    may_be_skipped=True,
)

# Runs after transactions, because it also describes their partitions.
PRODUCERS = Collector(
    table=state_tables.PRODUCERS,
    phase=Phase.DETAILS,
    collect=_collect_producers,
    apis=(DESCRIBE_PRODUCERS, LIST_TRANSACTIONS, DESCRIBE_TRANSACTIONS),
    permissions=(
        Permission(READ, TOPIC, "the producers of open transactions are refused"),
        Permission(DESCRIBE, TRANSACTIONAL_ID, "transactions look as if they hung"),
        _TOPICS,
    ),
    required=False,
    may_be_skipped=True,
)
