"""Lists and describes transactions and the producers of partitions, aborts transactions, and fences producers.

The APIs are those of KIP-664. Describing creates nothing: a transaction's coordinator is the broker that listed it, and only
listed ids are described. That needs no permission on the cluster, but brokers leave out transactional ids that we may not
describe.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import reduce
from typing import Any, NamedTuple

from kafka_lagoon.admin.coordinator_lists import TRANSACTIONS, list_of_coordinators
from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.client.failures import Failure, Scope
from kafka_lagoon.client.routes import ByBroker, ByCoordinator, ByLeader
from kafka_lagoon.client.routing import Gathered, ShardedRequest, gather, merged
from kafka_lagoon.clock import Deadline
from kafka_lagoon.errors import Contradiction
from kafka_lagoon.frozen import frozen
from kafka_lagoon.protocol.error_codes import CONCURRENT_TRANSACTIONS, TRANSACTIONAL_ID_NOT_FOUND, error_code
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
from kafka_lagoon.protocol.messages.init_producer_id import (
    INIT_PRODUCER_ID,
    InitProducerIdRequest,
    InitProducerIdResponse,
)
from kafka_lagoon.protocol.messages.list_transactions import (
    EVERY_DURATION,
    LIST_TRANSACTIONS,
    ListTransactionsRequest,
    ListTransactionsResponse,
)
from kafka_lagoon.protocol.messages.metadata import NO_LEADER
from kafka_lagoon.protocol.messages.write_txn_markers import (
    ABORT,
    WRITE_TXN_MARKERS,
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)
from kafka_lagoon.topic_partition import TopicPartition
from kafka_lagoon.wire.schema import LATEST, Versions

_CHUNK = 500  # transactional ids, or partitions with all of their producers, in one request
_WITH_DURATION = Versions(1, LATEST)  # KIP-994

Listings = Gathered[int, ListTransactionsResponse]
Descriptions = Gathered[str, DescribedTransaction]
Producers = Gathered[TopicPartition, DescribeProducersPartitionResponse]


_BY_HAND = 0  # transaction_version: the epoch need not be larger than the producer's last epoch

GONE = error_code(TRANSACTIONAL_ID_NOT_FOUND).name


class OpenTransaction(NamedTuple):
    """A producer's open transaction in a partition, with the epochs that DescribeProducers gave."""

    partition: TopicPartition
    producer_id: int
    producer_epoch: int
    coordinator_epoch: int  # -1 if no coordinator has ended a transaction of the producer here


@frozen
class ProducersTransactions:
    """Transactions of some producers as coordinators know them: transactional ids by producer id, and their descriptions.

    An id that was listed and then not found is in neither the descriptions nor the failures.
    """

    transactional_ids: Mapping[int, str]
    descriptions: Mapping[str, DescribedTransaction]
    list_failures: Sequence[Failure]
    description_failures: Mapping[str, Failure]


def list_transactions(
    cluster: Cluster,
    deadline: Deadline,
    longer_than_ms: int | None = None,
    producer_ids: Collection[int] = (),
    states: Collection[str] = (),
) -> Listings:
    """List the transactions of all brokers, and remember their coordinators. Empty `producer_ids` or `states` do not filter.

    Brokers before Kafka 3.8 cannot filter by `longer_than_ms`: UNSUPPORTED_VERSION. A failure under NO_LEADER is about
    partitions of __transaction_state without a leader, or whose leader changed: perhaps no broker listed their transactions.
    """
    duration_filter = EVERY_DURATION if longer_than_ms is None else longer_than_ms
    request = ListTransactionsRequest(
        state_filters=tuple(states), producer_id_filters=tuple(producer_ids), duration_filter=duration_filter
    )

    def list_once() -> Listings:
        sharded = ShardedRequest(
            api=LIST_TRANSACTIONS,
            items=cluster.coordinators(),
            build=lambda _: request,
            read=lambda response, items: [(items[0], response.error_code, response)],
            chunk=1,
            within=None if longer_than_ms is None else _WITH_DURATION,
        )
        return gather(cluster, ByBroker(cluster), [sharded], deadline)[0]

    lists, short = list_of_coordinators(cluster, LIST_TRANSACTIONS, TRANSACTIONS, deadline, list_once)
    listings = reduce(_joined, lists)
    for node_id, response in listings.answers.items():
        node_ids = {transaction.transactional_id: node_id for transaction in response.transaction_states}
        cluster.learn_coordinators(node_ids, TRANSACTION)
    return listings if short is None else replace(listings, failures={**listings.failures, NO_LEADER: short})


def _joined(first: Listings, second: Listings) -> Listings:
    """Merge two lists. For an id in both, the second list counts: its coordinator may have moved."""
    listed = {one.transactional_id for response in second.answers.values() for one in response.transaction_states}
    answers = dict(second.answers)
    for node_id, response in first.answers.items():
        known = answers.get(node_id)
        left = tuple(one for one in response.transaction_states if one.transactional_id not in listed)
        answers[node_id] = replace(response, transaction_states=(*(known.transaction_states if known else ()), *left))
    return Gathered(answers, {**first.sources, **second.sources}, {**first.failures, **second.failures})


def describe_transactions(cluster: Cluster, transactional_ids: Sequence[str], deadline: Deadline) -> Descriptions:
    """Descriptions from the coordinators; the ids must have been listed before."""
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
) -> Iterator[tuple[str, int | Contradiction, DescribedTransaction]]:
    for transaction in response.transaction_states:
        places = [(topic.topic, partition) for topic in transaction.topics for partition in topic.partitions]
        code = transaction.error_code if len(set(places)) == len(places) else Contradiction()
        yield transaction.transactional_id, code, transaction


def transactions_of_producers(
    cluster: Cluster, producer_ids: Collection[int], deadline: Deadline
) -> ProducersTransactions:
    """The transactions of producers that a partition names, asked in the order of `kafka-transactions.sh find-hanging`."""
    if not producer_ids:
        return ProducersTransactions(transactional_ids={}, descriptions={}, list_failures=(), description_failures={})
    listings = list_transactions(cluster, deadline, producer_ids=producer_ids)
    transactional_ids = {
        transaction.producer_id: transaction.transactional_id
        for _, response in sorted(listings.answers.items())
        for transaction in response.transaction_states
        if transaction.producer_id in producer_ids
    }
    described = describe_transactions(cluster, sorted(transactional_ids.values()), deadline)
    return ProducersTransactions(
        transactional_ids=transactional_ids,
        descriptions=described.answers,
        list_failures=list(listings.failures.values()),
        description_failures={one: failure for one, failure in described.failures.items() if failure.name != GONE},
    )


def describe_producers(cluster: Cluster, partitions: Sequence[TopicPartition], deadline: Deadline) -> Producers:
    """Producers that the partitions' leaders remember. Needs READ on the topics."""
    sharded = ShardedRequest(
        api=DESCRIBE_PRODUCERS, items=partitions, build=_producers_request, read=_read_producers, chunk=_CHUNK
    )
    return gather(cluster, ByLeader(cluster), [sharded], deadline)[0]


def _producers_request(items: Sequence[TopicPartition]) -> DescribeProducersRequest:
    topics: dict[str, list[int]] = {}
    for item in items:
        topics.setdefault(item.topic, []).append(item.partition)
    wanted = (DescribeProducersTopic(name=name, partition_indexes=tuple(some)) for name, some in topics.items())
    return DescribeProducersRequest(topics=tuple(wanted))


def _read_producers(
    response: DescribeProducersResponse, _: Sequence[TopicPartition]
) -> Iterator[tuple[TopicPartition, int | Contradiction, DescribeProducersPartitionResponse]]:
    for topic in response.topics:
        for partition in topic.partitions:
            producer_ids = [producer.producer_id for producer in partition.active_producers]
            code = partition.error_code if len(set(producer_ids)) == len(producer_ids) else Contradiction()
            yield TopicPartition(topic.name, partition.partition_index), code, partition


class _ByLeaderOf(ByLeader):
    """Routes to the leaders of the partitions of open transactions."""

    def __init__(self, cluster: Cluster) -> None:
        super().__init__(cluster)
        self.node_of: Any = lambda item: cluster.leader_of(item.partition)

    def scope_of(self, item: Any) -> Scope:
        """The partition."""
        return super().scope_of(item.partition)

    def refresh(self, items: Sequence[Any], deadline: Deadline) -> Mapping[Any, Failure]:
        """Ask for the metadata of the partitions' topics."""
        return super().refresh([item.partition for item in items], deadline)


def abort_transactions(
    cluster: Cluster, transactions: Sequence[OpenTransaction], deadline: Deadline
) -> Gathered[OpenTransaction, None]:
    """Write the markers that end hanging transactions, as `kafka-transactions.sh abort` does.

    Never sent twice: a second marker would abort a transaction that the same producer has begun meanwhile. Needs ALTER on
    the cluster. It is not for transactions that a coordinator still has: fence their producers instead.
    """
    several: list[ShardedRequest[OpenTransaction, None]] = [
        ShardedRequest(api=WRITE_TXN_MARKERS, items=[one], build=_abort_marker, read=_read_markers, once=True)
        for one in transactions
    ]
    return merged(gather(cluster, _ByLeaderOf(cluster), several, deadline))


def _abort_marker(items: Sequence[OpenTransaction]) -> WriteTxnMarkersRequest:
    """Make the marker. Epoch 0, no larger than any coordinator's, stands for an unknown coordinator."""
    (transaction,) = items
    topic = WritableTxnMarkerTopic(
        name=transaction.partition.topic, partition_indexes=(transaction.partition.partition,)
    )
    marker = WritableTxnMarker(
        producer_id=transaction.producer_id,
        producer_epoch=transaction.producer_epoch,
        transaction_result=ABORT,
        topics=(topic,),
        coordinator_epoch=max(transaction.coordinator_epoch, 0),
        transaction_version=_BY_HAND,
    )
    return WriteTxnMarkersRequest(markers=(marker,))


def _read_markers(
    response: WriteTxnMarkersResponse, items: Sequence[OpenTransaction]
) -> Iterator[tuple[OpenTransaction, int, None]]:
    for marker in response.markers:
        for topic in marker.topics:
            for partition in topic.partitions:
                yield items[0], partition.error_code, None


def fence_producers(
    cluster: Cluster, timeouts_ms: Mapping[str, int], deadline: Deadline
) -> Gathered[str, InitProducerIdResponse]:
    """Take over transactional ids, with their transaction timeouts: their producers are fenced, open transactions aborted.

    Sends InitProducerId without id and epoch, as Kafka's fenceProducers and forceTerminateTransaction do, which creates an id
    that does not exist. The timeout is at most that of the request, also as there: brokers refuse a timeout beyond their
    transaction.max.timeout.ms, and transactions with two-phase commit (KIP-939) have the largest int32.
    """
    longest_ms = cluster.settings.request_timeout_ms
    sharded: ShardedRequest[str, InitProducerIdResponse] = ShardedRequest(
        api=INIT_PRODUCER_ID,
        items=list(timeouts_ms),
        build=lambda items: InitProducerIdRequest(
            transactional_id=items[0], transaction_timeout_ms=min(timeouts_ms[items[0]], longest_ms)
        ),
        read=lambda response, items: [(items[0], response.error_code, response)],
        chunk=1,
        once=True,
        # The coordinator has fenced the producer, and aborts its transaction; or it ends another one and has done nothing yet.
        begun=frozenset({CONCURRENT_TRANSACTIONS}),
    )
    return gather(cluster, ByCoordinator(cluster, TRANSACTION), [sharded], deadline)[0]
