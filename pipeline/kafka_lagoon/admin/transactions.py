"""Brokers in, transactions and the producers that write them out.

Guards one rule: asking creates nothing. A transaction's coordinator is the broker that listed it, and only what was listed
is described. Needs no cluster right, but brokers leave out transactional ids that we may not describe.
"""

from collections.abc import Iterator, Mapping, Sequence

from kafka_lagoon.client.cluster import Cluster, TopicPartition
from kafka_lagoon.client.routes import ByBroker, ByCoordinator, ByLeader
from kafka_lagoon.client.routing import Gathered, ShardedRequest, gather
from kafka_lagoon.clock import Deadline
from kafka_lagoon.protocol.messages.describe_producers import (
    DESCRIBE_PRODUCERS,
    DescribeProducersPartitionResponse,
    DescribeProducersRequest,
    DescribeProducersResponse,
    DescribeProducersTopic,
)
from kafka_lagoon.protocol.messages.describe_transactions import (
    DESCRIBE_TRANSACTIONS,
    DescribedTransaction,
    DescribeTransactionsRequest,
    DescribeTransactionsResponse,
)
from kafka_lagoon.protocol.messages.find_coordinator import TRANSACTION
from kafka_lagoon.protocol.messages.list_transactions import (
    EVERY_DURATION,
    LIST_TRANSACTIONS,
    ListTransactionsRequest,
    ListTransactionsResponse,
)
from kafka_lagoon.row_classes import ALWAYS, Int32, Int64, Timestamp, column, row
from kafka_lagoon.snapshot.state_rows import TopicPartitions
from kafka_lagoon.wire.schema import LATEST, Versions

_CHUNK = 500  # transactional ids in one request
_WITH_DURATION = Versions(1, LATEST)  # KIP-994

Listings = Gathered[int, ListTransactionsResponse]
Producers = Gathered[TopicPartition, DescribeProducersPartitionResponse]


@row
class ListedTransactionRow:
    """Transactional ids that coordinators know, one row each."""

    transactional_id: str = column("transactional.id of the producer.")
    state: str = column("State as Kafka spells it, e.g. Ongoing.")
    producer_id: Int64 = column("Id of the producer.")
    coordinator_id: Int32 = column("Broker that coordinates the transaction.")


@row
class TransactionRow:
    """Transactional ids and their transactions, one row each."""

    transactional_id: str = column("transactional.id of the producer.")
    state: str = column("State as Kafka spells it, e.g. Ongoing.")
    producer_id: Int64 = column("Id of the producer.")
    producer_epoch: Int32 = column("Its epoch.")
    coordinator_id: Int32 = column("Broker that coordinates the transaction.")
    timeout_ms: Int32 = column("transaction.timeout.ms of the producer.")
    started_at_ms: Timestamp | None = column("When the transaction began; null if none is under way.", null_if=ALWAYS)
    duration_ms: Int64 | None = column(
        "How long it has been under way, by our clock; null if none is.", null_if="started_at IS NULL"
    )
    partitions: tuple[TopicPartitions, ...] = column("Partitions that the transaction has written to.")


@row
class ProducerRow:
    """Producers that a partition's leader remembers, one row per partition and producer."""

    topic: str = column("Name of the topic.")
    partition: Int32 = column("Partition number.")
    producer_id: Int64 = column("Id of the producer.")
    producer_epoch: Int32 = column("Its epoch.")
    last_sequence: Int32 | None = column(
        "Sequence number of its last record; null if it has none that the broker knows.", null_if=ALWAYS
    )
    last_written_at_ms: Timestamp | None = column(
        "Timestamp of its last record; null if it has none that the broker knows.", null_if=ALWAYS
    )
    coordinator_epoch: Int32 | None = column(
        "Term of the coordinator that ended its last transaction; null if none did.", null_if=ALWAYS
    )
    open_since_offset: Int64 | None = column("Where its open transaction begins; null if it has none.", null_if=ALWAYS)


def list_transactions(cluster: Cluster, deadline: Deadline, longer_than_ms: int | None = None) -> Listings:
    """What every broker coordinates; the coordinators are remembered.

    Brokers before Kafka 3.8 cannot tell those that are open for `longer_than_ms`: UNSUPPORTED_VERSION.
    """
    shortest_ms = EVERY_DURATION if longer_than_ms is None else longer_than_ms
    request = ListTransactionsRequest(state_filters=(), producer_id_filters=(), duration_filter=shortest_ms)
    sharded = ShardedRequest(
        api=LIST_TRANSACTIONS,
        items=sorted(cluster.brokers),
        build=lambda _: request,
        read=lambda response, items: [(items[0], response.error_code, response)],
        chunk=1,
        within=None if longer_than_ms is None else _WITH_DURATION,
    )
    found: Listings = gather(cluster, ByBroker(cluster), [sharded], deadline)[0]
    for node_id, answer in found.answers.items():
        listed = {one.transactional_id: node_id for one in answer.transaction_states}
        cluster.learn_coordinators(listed, TRANSACTION)
    return found


def listed_transaction_rows(found: Listings) -> Iterator[ListedTransactionRow]:
    """One row per transactional id, by id; one that moved while we asked is told by the later broker."""
    states = {
        one.transactional_id: (one, node_id)
        for node_id, answer in sorted(found.answers.items())
        for one in answer.transaction_states
    }
    for transactional_id, (one, node_id) in sorted(states.items()):
        yield ListedTransactionRow(
            transactional_id=transactional_id,
            state=one.transaction_state,
            producer_id=one.producer_id,
            coordinator_id=node_id,
        )


def describe_listed(
    cluster: Cluster, transactional_ids: Sequence[str], deadline: Deadline
) -> Gathered[str, DescribedTransaction]:
    """What the coordinators say of these ids, which must have been listed before."""
    sharded = ShardedRequest(
        api=DESCRIBE_TRANSACTIONS,
        items=transactional_ids,
        build=lambda items: DescribeTransactionsRequest(transactional_ids=tuple(items)),
        read=_read_transactions,
        chunk=_CHUNK,
    )
    return gather(cluster, ByCoordinator(cluster, TRANSACTION), [sharded], deadline)[0]


def _read_transactions(
    response: DescribeTransactionsResponse, _: Sequence[str]
) -> Iterator[tuple[str, int, DescribedTransaction]]:
    for one in response.transaction_states:
        yield one.transactional_id, one.error_code, one


def transaction_rows(found: Gathered[str, DescribedTransaction], now_ms: int) -> Iterator[TransactionRow]:
    """One row per transactional id, by id."""
    for transactional_id, one in sorted(found.answers.items()):
        started_ms = one.transaction_start_time_ms if one.transaction_start_time_ms >= 0 else None
        yield TransactionRow(
            transactional_id=transactional_id,
            state=one.transaction_state,
            producer_id=one.producer_id,
            producer_epoch=one.producer_epoch,
            coordinator_id=found.sources[transactional_id].node_id,
            timeout_ms=one.transaction_timeout_ms,
            started_at_ms=started_ms,
            duration_ms=None if started_ms is None else now_ms - started_ms,
            partitions=tuple(
                TopicPartitions(topic=topic.topic, topic_id=None, partitions=tuple(sorted(topic.partitions)))
                for topic in sorted(one.topics, key=lambda some: some.topic)
            ),
        )


def read_producers(cluster: Cluster, partitions: Sequence[TopicPartition], deadline: Deadline) -> Producers:
    """Producers that the partitions' leaders remember. Needs the right to read the topics."""

    def build(items: Sequence[TopicPartition]) -> DescribeProducersRequest:
        topics: dict[str, list[int]] = {}
        for at in items:
            topics.setdefault(at.topic, []).append(at.partition)
        return DescribeProducersRequest(
            topics=tuple(
                DescribeProducersTopic(name=name, partition_indexes=tuple(some)) for name, some in topics.items()
            )
        )

    sharded = ShardedRequest(api=DESCRIBE_PRODUCERS, items=partitions, build=build, read=_read_producers)
    return gather(cluster, ByLeader(cluster), [sharded], deadline)[0]


def _read_producers(
    response: DescribeProducersResponse, _: Sequence[TopicPartition]
) -> Iterator[tuple[TopicPartition, int, DescribeProducersPartitionResponse]]:
    for topic in response.topics:
        for one in topic.partitions:
            yield TopicPartition(topic.name, one.partition_index), one.error_code, one


def producer_rows(found: Mapping[TopicPartition, DescribeProducersPartitionResponse]) -> Iterator[ProducerRow]:
    """One row per partition and producer."""
    for at, answer in sorted(found.items()):
        for one in sorted(answer.active_producers, key=lambda producer: producer.producer_id):
            yield ProducerRow(
                topic=at.topic,
                partition=at.partition,
                producer_id=one.producer_id,
                producer_epoch=one.producer_epoch,
                last_sequence=_known(one.last_sequence),
                last_written_at_ms=_known(one.last_timestamp),
                coordinator_epoch=_known(one.coordinator_epoch),
                open_since_offset=_known(one.current_txn_start_offset),
            )


def _known(value: int) -> int | None:
    return value if value >= 0 else None
