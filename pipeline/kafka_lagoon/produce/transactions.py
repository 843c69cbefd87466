"""Begins transactions, adds partitions and committed offsets to them, and ends them (KIP-98, KIP-890).

There are two protocols. Where the cluster's feature transaction.version is 2, Produce and TxnOffsetCommit add partitions and
groups to the transaction, and EndTxn gives each transaction an epoch of its own, so that a late request cannot affect the
next transaction. Elsewhere separate requests add partitions and groups, and each transaction here gets its epoch from
InitProducerId, for the same reason. So with both, sequence numbers begin at 0 in every transaction.

A transaction is plain values: another process than the one that began it can write to it and end it.
"""

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.client.failures import Failure, Scope, failure_of
from kafka_lagoon.client.routes import ByCoordinator
from kafka_lagoon.client.routing import ShardedRequest, gather, merged
from kafka_lagoon.clock import Deadline
from kafka_lagoon.errors import TransactionFailed
from kafka_lagoon.frozen import frozen
from kafka_lagoon.produce.transaction_requests import (
    added_codes,
    ask_coordinator,
    ask_group,
    commit_codes,
    failed,
    raise_if_ended,
)
from kafka_lagoon.protocol.error_codes import INVALID_TXN_STATE, OPERATION_NOT_ATTEMPTED
from kafka_lagoon.protocol.messages.add_offsets_to_txn import ADD_OFFSETS_TO_TXN, AddOffsetsToTxnRequest
from kafka_lagoon.protocol.messages.add_partitions_to_txn import (
    ADD_PARTITIONS_TO_TXN,
    BY_CLIENTS,
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
)
from kafka_lagoon.protocol.messages.end_txn import ABORT, COMMIT, END_TXN, EndTxnRequest, EndTxnResponse
from kafka_lagoon.protocol.messages.find_coordinator import TRANSACTION
from kafka_lagoon.protocol.messages.init_producer_id import (
    INIT_PRODUCER_ID,
    NO_PRODUCER_EPOCH,
    NO_PRODUCER_ID,
    InitProducerIdRequest,
)
from kafka_lagoon.protocol.messages.produce import PRODUCE
from kafka_lagoon.protocol.messages.txn_offset_commit import (
    BY_NAME,
    TXN_OFFSET_COMMIT,
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from kafka_lagoon.records.encoding import Producer
from kafka_lagoon.topic_partition import TopicPartition
from kafka_lagoon.wire.primitives import NO_ID, uuid_bytes
from kafka_lagoon.wire.schema import LATEST, Api, Versions

DEFAULT_TIMEOUT_MS = 60_000  # Kafka's own default
_FEATURE = "transaction.version"
_IMPLICIT = 2  # the level from which on Produce and TxnOffsetCommit add partitions and groups
# KIP-360: InitProducerId continues with an id and an epoch, and fails if these are fenced.
_TAKES_EPOCH = Versions(3, LATEST)
_FIRST_IMPLICIT = {PRODUCE.key: 12, END_TXN.key: 5, TXN_OFFSET_COMMIT.key: 5}
_LOWEST = {PRODUCE.key: 3, END_TXN.key: 0, TXN_OFFSET_COMMIT.key: 0}


@frozen
class Transaction:
    """A producer's transaction. `is_implicit`: Produce and TxnOffsetCommit add partitions and groups to it."""

    transactional_id: str
    producer_id: int
    epoch: int
    timeout_ms: int
    is_implicit: bool

    @property
    def producer(self) -> Producer:
        """The fields of its first batch in each partition; batches also need the attribute TRANSACTIONAL."""
        return Producer(self.producer_id, self.epoch, 0)

    def versions(self, api: Api[Any, Any]) -> Versions:
        """The versions of Produce, EndTxn and TxnOffsetCommit that may be used in it."""
        first = _FIRST_IMPLICIT[api.key]
        return Versions(first, LATEST) if self.is_implicit else Versions(_LOWEST[api.key], first - 1)


@frozen
class OffsetToCommit:
    """The offset that a group reads next; the epoch is that of the last record that was read, -1 if it is not known."""

    committed_offset: int
    leader_epoch: int = -1
    metadata: str | None = None


def transaction_version(cluster: Cluster) -> int:
    """The level of feature transaction.version, 0 where the cluster has none; brokers that we are connected to know it."""
    newest = max(cluster.api_versions(), key=lambda answer: answer.finalized_features_epoch, default=None)
    features = newest.finalized_features if newest else ()
    return next((feature.max_version_level for feature in features if feature.name == _FEATURE), 0)


def init_transactions(
    cluster: Cluster,
    transactional_id: str,
    timeout_ms: int,
    deadline: Deadline,
    last: Transaction | None = None,
    *,
    is_series: bool = False,
) -> Transaction:
    """Begin a transaction. Fences any other producer with the id, and waits until its open transaction is aborted.

    With `last`, the producer's transaction before, which has ended, it fails if another producer has taken over the id since;
    that producer's open transaction is aborted all the same, because coordinators check the epoch only afterwards. Brokers can
    do that since Kafka 2.5 (KIP-360): with older ones it fails, with `is_series` already for the first transaction.
    """
    request = InitProducerIdRequest(
        transactional_id=transactional_id,
        transaction_timeout_ms=timeout_ms,
        producer_id=last.producer_id if last else NO_PRODUCER_ID,
        producer_epoch=last.epoch if last else NO_PRODUCER_EPOCH,
    )
    within = _TAKES_EPOCH if last or is_series else None
    response = ask_coordinator(cluster, INIT_PRODUCER_ID, transactional_id, request, deadline, within, timeout_ms)
    return Transaction(
        transactional_id=transactional_id,
        producer_id=response.producer_id,
        epoch=response.producer_epoch,
        timeout_ms=timeout_ms,
        is_implicit=transaction_version(cluster) >= _IMPLICIT,
    )


def add_partitions(
    cluster: Cluster, transaction: Transaction, partitions: Collection[TopicPartition], deadline: Deadline
) -> Mapping[TopicPartition, Failure]:
    """Add partitions before they are written to; returns the refused partitions, in which case none is added.

    Nothing is sent where Produce adds them. TransactionFailed if the transaction cannot continue.
    """
    if transaction.is_implicit or not partitions:
        return {}
    topics: dict[str, list[int]] = {}
    for topic, partition in partitions:
        topics.setdefault(topic, []).append(partition)
    request = AddPartitionsToTxnRequest(
        transactions=(),
        v3_and_below_transactional_id=transaction.transactional_id,
        v3_and_below_producer_id=transaction.producer_id,
        v3_and_below_producer_epoch=transaction.epoch,
        v3_and_below_topics=tuple(
            AddPartitionsToTxnTopic(name=name, partitions=tuple(some)) for name, some in topics.items()
        ),
    )
    response = ask_coordinator(
        cluster, ADD_PARTITIONS_TO_TXN, transaction.transactional_id, request, deadline, BY_CLIENTS
    )
    codes = {partition: code for partition, code in added_codes(response) if code not in (0, OPERATION_NOT_ATTEMPTED)}
    raise_if_ended(ADD_PARTITIONS_TO_TXN, transaction.transactional_id, transaction.timeout_ms, codes.values())
    return {
        partition: failure_of(ADD_PARTITIONS_TO_TXN, Scope.of_partition(*partition), code)
        for partition, code in codes.items()
    }


def commit_offsets(
    cluster: Cluster,
    transaction: Transaction,
    group_id: str,
    offsets: Mapping[TopicPartition, OffsetToCommit],
    deadline: Deadline,
) -> Mapping[TopicPartition, Failure]:
    """Commit offsets of a group, without being its member, when the transaction is committed; returns the refused partitions.

    TransactionFailed if the transaction cannot go on.
    """
    if not transaction.is_implicit:
        group = AddOffsetsToTxnRequest(
            transactional_id=transaction.transactional_id,
            producer_id=transaction.producer_id,
            producer_epoch=transaction.epoch,
            group_id=group_id,
        )
        ask_coordinator(cluster, ADD_OFFSETS_TO_TXN, transaction.transactional_id, group, deadline)
    topic_ids = {topic: uuid_bytes(cluster.topics.id_of(topic)) for topic, _ in offsets}
    topics: dict[str, list[TxnOffsetCommitRequestPartition]] = {}
    for (topic, partition), offset in offsets.items():
        requested = TxnOffsetCommitRequestPartition(
            partition_index=partition,
            committed_offset=offset.committed_offset,
            committed_leader_epoch=offset.leader_epoch,
            committed_metadata=offset.metadata,
        )
        topics.setdefault(topic, []).append(requested)
    request = TxnOffsetCommitRequest(
        transactional_id=transaction.transactional_id,
        group_id=group_id,
        producer_id=transaction.producer_id,
        producer_epoch=transaction.epoch,
        member_id="",
        topics=tuple(
            TxnOffsetCommitRequestTopic(name=name, topic_id=topic_ids[name], partitions=tuple(some))
            for name, some in topics.items()
        ),
    )
    within = transaction.versions(TXN_OFFSET_COMMIT)
    if NO_ID in topic_ids.values():
        within = Versions(within.lowest, min(within.highest, BY_NAME.highest))
    response = ask_group(cluster, request, within, transaction.timeout_ms, deadline)
    names = {topic_id: name for name, topic_id in topic_ids.items()}
    codes = {partition: code for partition, code in commit_codes(response, names) if code}
    raise_if_ended(TXN_OFFSET_COMMIT, transaction.transactional_id, transaction.timeout_ms, codes.values())
    return {
        partition: failure_of(TXN_OFFSET_COMMIT, Scope.group_partition(group_id, *partition), code)
        for partition, code in codes.items()
    }


def commit(cluster: Cluster, transaction: Transaction, deadline: Deadline) -> Transaction | None:
    """Commit a transaction that is not empty; returns the next one, None where it begins by init_transactions.

    TransactionFailed with `may_be_done` if the end is not known: init_transactions waits for it, and then committed data,
    such as offsets of a group, show it.
    """
    return _end(cluster, transaction, deadline, committed=COMMIT)


def abort(cluster: Cluster, transaction: Transaction, deadline: Deadline) -> Transaction | None:
    """Abort a transaction that was not committed; an empty one is left as it is. Returns as `commit`."""
    try:
        return _end(cluster, transaction, deadline, committed=ABORT)
    except TransactionFailed as failure:
        if failure.code == INVALID_TXN_STATE:
            return None
        raise


def end_all(
    cluster: Cluster, transactions: Collection[Transaction], deadline: Deadline, *, committed: bool
) -> Mapping[str, TransactionFailed]:
    """Commit or abort several transactions at the same time; returns the failures by transactional id.

    An empty transaction cannot be committed: its failure is INVALID_TXN_STATE.
    """
    by_id = {transaction.transactional_id: transaction for transaction in transactions}
    route = ByCoordinator(cluster, TRANSACTION)
    refused = route.find_unknown(by_id, deadline)
    several: list[ShardedRequest[str, EndTxnResponse]] = []
    for is_implicit in (False, True):
        names = [
            name
            for name, transaction in by_id.items()
            if transaction.is_implicit == is_implicit and name not in refused
        ]
        if names:
            sharded = ShardedRequest(
                api=END_TXN,
                items=names,
                build=lambda items: _end_request(by_id[items[0]], committed=committed),
                read=lambda response, items: [(items[0], response.error_code, response)],
                chunk=1,
                within=by_id[names[0]].versions(END_TXN),
                once=False,
            )
            several.append(sharded)
    failures = {**refused, **merged(gather(cluster, route, several, deadline)).failures}
    return {name: failed(name, failure, by_id[name].timeout_ms) for name, failure in failures.items()}


def fence_all(
    cluster: Cluster, transactional_ids: Collection[str], timeout_ms: int, deadline: Deadline
) -> list[TransactionFailed]:
    """Abort the open transactions of these ids, and fence their producers; returns an error for each id that may still be open.

    The requests for all ids are sent together, and repeated for the transactions that are not aborted yet. `timeout_ms` is
    the timeout of the transactions: brokers refuse the request if it exceeds their transaction.max.timeout.ms.
    """
    route = ByCoordinator(cluster, TRANSACTION)
    refused = route.find_unknown(transactional_ids, deadline)
    sharded = ShardedRequest(
        api=INIT_PRODUCER_ID,
        items=[name for name in transactional_ids if name not in refused],
        build=lambda items: InitProducerIdRequest(transactional_id=items[0], transaction_timeout_ms=timeout_ms),
        read=lambda response, items: [(items[0], response.error_code, response)],
        chunk=1,
        once=False,
    )
    (gathered,) = gather(cluster, route, [sharded], deadline)
    return [failed(name, failure, timeout_ms) for name, failure in {**refused, **gathered.failures}.items()]


class TransactionalProducer:
    """One transaction after the other under a transactional id. Not for several threads."""

    def __init__(self, cluster: Cluster, transactional_id: str, timeout_ms: int = DEFAULT_TIMEOUT_MS) -> None:
        self._cluster, self._transactional_id, self._timeout_ms = cluster, transactional_id, timeout_ms
        self._next: Transaction | None = None  # returned by the last `commit` or `abort`
        self._last: Transaction | None = None
        self._current: Transaction | None = None

    def begin(self, deadline: Deadline) -> Transaction:
        """The next transaction. The first one fences other producers with the id; see `init_transactions`."""
        if self._current:
            raise RuntimeError("the transaction before was neither committed nor aborted")
        self._current = self._next or init_transactions(
            self._cluster, self._transactional_id, self._timeout_ms, deadline, self._last, is_series=True
        )
        return self._current

    def commit_offsets(
        self, group_id: str, offsets: Mapping[TopicPartition, OffsetToCommit], deadline: Deadline
    ) -> Mapping[TopicPartition, Failure]:
        """Commit offsets of a group in the transaction; see the function."""
        return commit_offsets(self._cluster, self._open(), group_id, offsets, deadline)

    def commit(self, deadline: Deadline) -> None:
        """Commit; after a failure the producer must not be used any more."""
        self._end(commit(self._cluster, self._open(), deadline))

    def abort(self, deadline: Deadline) -> None:
        """Abort; after a failure the producer must not be used any more."""
        self._end(abort(self._cluster, self._open(), deadline))

    def _open(self) -> Transaction:
        if self._current is None:
            raise RuntimeError("no transaction was begun")
        return self._current

    def _end(self, following: Transaction | None) -> None:
        self._last, self._next, self._current = self._current, following, None


def _end_request(transaction: Transaction, *, committed: bool) -> EndTxnRequest:
    return EndTxnRequest(
        transactional_id=transaction.transactional_id,
        producer_id=transaction.producer_id,
        producer_epoch=transaction.epoch,
        committed=committed,
    )


def _end(cluster: Cluster, transaction: Transaction, deadline: Deadline, *, committed: bool) -> Transaction | None:
    request = _end_request(transaction, committed=committed)
    within = transaction.versions(END_TXN)
    name, timeout_ms = transaction.transactional_id, transaction.timeout_ms
    response: EndTxnResponse = ask_coordinator(cluster, END_TXN, name, request, deadline, within, timeout_ms)
    if response.producer_id == NO_PRODUCER_ID:
        return None
    return replace(transaction, producer_id=response.producer_id, epoch=response.producer_epoch)
