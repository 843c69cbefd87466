"""Begins transactions, adds partitions and committed offsets to them, and ends them (KIP-98, KIP-890).

Two dialects. Where the cluster's feature transaction.version is 2, Produce and TxnOffsetCommit add what they write to, and
EndTxn gives each transaction an epoch of its own, so that a request which is late cannot hit the next one. Elsewhere
partitions and groups are added by requests of their own, and each transaction here gets its epoch from InitProducerId, for
the same reason. So in both, sequence numbers begin at 0 in every transaction.

A transaction is plain values: who holds it may write and end it in another process than the one that began it.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from kafka_lagoon.client.cluster import Cluster, TopicPartition
from kafka_lagoon.client.failures import Failure, Scope, failure_of
from kafka_lagoon.client.routes import ByCoordinator
from kafka_lagoon.client.routing import ShardedRequest, gather
from kafka_lagoon.clock import Deadline
from kafka_lagoon.errors import TransactionFailed
from kafka_lagoon.protocol.error_codes import (
    INVALID_PRODUCER_EPOCH,
    INVALID_PRODUCER_ID_MAPPING,
    INVALID_TRANSACTION_TIMEOUT,
    INVALID_TXN_STATE,
    OPERATION_NOT_ATTEMPTED,
    PRODUCER_FENCED,
    TRANSACTION_ABORTABLE,
    TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
    error_code,
)
from kafka_lagoon.protocol.messages.add_offsets_to_txn import ADD_OFFSETS_TO_TXN, AddOffsetsToTxnRequest
from kafka_lagoon.protocol.messages.add_partitions_to_txn import (
    ADD_PARTITIONS_TO_TXN,
    BY_CLIENTS,
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnTopic,
)
from kafka_lagoon.protocol.messages.end_txn import ABORT, COMMIT, END_TXN, EndTxnRequest, EndTxnResponse
from kafka_lagoon.protocol.messages.find_coordinator import FIND_COORDINATOR, GROUP, TRANSACTION
from kafka_lagoon.protocol.messages.init_producer_id import (
    INIT_PRODUCER_ID,
    NO_PRODUCER_EPOCH,
    NO_PRODUCER_ID,
    InitProducerIdRequest,
)
from kafka_lagoon.protocol.messages.produce import PRODUCE
from kafka_lagoon.protocol.messages.txn_offset_commit import (
    TXN_OFFSET_COMMIT,
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
    TxnOffsetCommitResponse,
)
from kafka_lagoon.records.encoding import Producer
from kafka_lagoon.wire.schema import LATEST, Api, Versions

DEFAULT_TIMEOUT_MS = 60_000  # Kafka's own default
FENCED = frozenset({INVALID_PRODUCER_EPOCH, PRODUCER_FENCED})  # another producer has it, or the coordinator aborted it
_FEATURE = "transaction.version"
_IMPLICIT = 2  # the level from which on Produce and TxnOffsetCommit add what they write to
_TAKES_EPOCH = Versions(
    3, LATEST
)  # KIP-360: InitProducerId goes on with an id and an epoch, and fails if these are fenced
_FIRST_IMPLICIT = {PRODUCE.key: 12, END_TXN.key: 5, TXN_OFFSET_COMMIT.key: 5}
_LOWEST = {PRODUCE.key: 3, END_TXN.key: 0, TXN_OFFSET_COMMIT.key: 0}


@dataclass(frozen=True, slots=True, kw_only=True)
class Transaction:
    """A producer's transaction: what its batches carry, and what ends it. `is_implicit`: requests add what they write to."""

    transactional_id: str
    producer_id: int
    epoch: int
    timeout_ms: int
    is_implicit: bool

    @property
    def producer(self) -> Producer:
        """What its first batch in each partition carries; batches also need the attribute TRANSACTIONAL."""
        return Producer(self.producer_id, self.epoch, 0)

    def versions(self, api: Api[Any, Any]) -> Versions:
        """The versions of Produce, EndTxn and TxnOffsetCommit that may be used in it."""
        first = _FIRST_IMPLICIT[api.key]
        return Versions(first, LATEST) if self.is_implicit else Versions(_LOWEST[api.key], first - 1)


@dataclass(frozen=True, slots=True, kw_only=True)
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
    cluster: Cluster, transactional_id: str, timeout_ms: int, deadline: Deadline, last: Transaction | None = None
) -> Transaction:
    """A new transaction. Fences whoever has the id, and waits until what that one had not ended is aborted.

    With the `last` one of the same producer, which has ended, it fails if another has taken the id over since; what that
    one has open is aborted all the same, because coordinators check the epoch only afterwards.
    """
    request = InitProducerIdRequest(
        transactional_id=transactional_id,
        transaction_timeout_ms=timeout_ms,
        producer_id=last.producer_id if last else NO_PRODUCER_ID,
        producer_epoch=last.epoch if last else NO_PRODUCER_EPOCH,
    )
    within = _TAKES_EPOCH if last else None
    response = _ask_coordinator(cluster, INIT_PRODUCER_ID, transactional_id, request, deadline, within, timeout_ms)
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
    """Make partitions known to the coordinator before they are written to; returns those that it refused, then none is added.

    Nothing is sent where Produce does it. TransactionFailed if the transaction cannot go on.
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
    response = _ask_coordinator(
        cluster, ADD_PARTITIONS_TO_TXN, transaction.transactional_id, request, deadline, BY_CLIENTS
    )
    codes = {partition: code for partition, code in _added(response) if code not in (0, OPERATION_NOT_ATTEMPTED)}
    _raise_if_ended(ADD_PARTITIONS_TO_TXN, transaction, codes.values())
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
    """Commit offsets of a group, without being its member, when the transaction is committed; returns those refused.

    TransactionFailed if the transaction cannot go on.
    """
    if not transaction.is_implicit:
        group = AddOffsetsToTxnRequest(
            transactional_id=transaction.transactional_id,
            producer_id=transaction.producer_id,
            producer_epoch=transaction.epoch,
            group_id=group_id,
        )
        _ask_coordinator(cluster, ADD_OFFSETS_TO_TXN, transaction.transactional_id, group, deadline)
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
        topics=tuple(TxnOffsetCommitRequestTopic(name=name, partitions=tuple(some)) for name, some in topics.items()),
    )
    response = _ask_group(cluster, transaction, group_id, request, deadline)
    codes = {partition: code for partition, code in _committed(response) if code}
    _raise_if_ended(TXN_OFFSET_COMMIT, transaction, codes.values())
    return {
        partition: failure_of(TXN_OFFSET_COMMIT, Scope.group_partition(group_id, *partition), code)
        for partition, code in codes.items()
    }


def commit(cluster: Cluster, transaction: Transaction, deadline: Deadline) -> Transaction | None:
    """Commit a transaction that something was added to; returns the next one, None where it begins by init_transactions.

    TransactionFailed with `may_be_done` if the end is not known: init_transactions waits until it is over, and what it
    committed (offsets of a group, for one) tells.
    """
    return _end(cluster, transaction, COMMIT, deadline)


def abort(cluster: Cluster, transaction: Transaction, deadline: Deadline) -> Transaction | None:
    """Abort a transaction that was not committed; one that nothing was added to is left as it is. Returns as `commit`."""
    try:
        return _end(cluster, transaction, ABORT, deadline)
    except TransactionFailed as failure:
        if failure.code == INVALID_TXN_STATE:
            return None
        raise


class TransactionalProducer:
    """One transaction after the other under a transactional id. Not for several threads."""

    def __init__(self, cluster: Cluster, transactional_id: str, timeout_ms: int = DEFAULT_TIMEOUT_MS) -> None:
        self._cluster, self._transactional_id, self._timeout_ms = cluster, transactional_id, timeout_ms
        self._next: Transaction | None = None  # what an end has given
        self._last: Transaction | None = None
        self._current: Transaction | None = None
        self._added: set[TopicPartition] = set()

    def begin(self, deadline: Deadline) -> Transaction:
        """The next transaction. The first one fences whoever has the id; see `init_transactions`."""
        if self._current:
            raise RuntimeError("the transaction before was neither committed nor aborted")
        self._current = self._next or init_transactions(
            self._cluster, self._transactional_id, self._timeout_ms, deadline, self._last
        )
        self._next = None
        self._added.clear()
        return self._current

    def add_partitions(
        self, partitions: Collection[TopicPartition], deadline: Deadline
    ) -> Mapping[TopicPartition, Failure]:
        """As the function, but each partition once."""
        new = [partition for partition in partitions if partition not in self._added]
        failures = add_partitions(self._cluster, self._open(), new, deadline)
        if not failures:
            self._added.update(new)
        return failures

    def commit_offsets(
        self, group_id: str, offsets: Mapping[TopicPartition, OffsetToCommit], deadline: Deadline
    ) -> Mapping[TopicPartition, Failure]:
        """As the function."""
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


def _end(cluster: Cluster, transaction: Transaction, committed: bool, deadline: Deadline) -> Transaction | None:
    request = EndTxnRequest(
        transactional_id=transaction.transactional_id,
        producer_id=transaction.producer_id,
        producer_epoch=transaction.epoch,
        committed=committed,
    )
    within = transaction.versions(END_TXN)
    name, timeout_ms = transaction.transactional_id, transaction.timeout_ms
    response: EndTxnResponse = _ask_coordinator(cluster, END_TXN, name, request, deadline, within, timeout_ms)
    if response.producer_id == NO_PRODUCER_ID:
        return None
    return replace(transaction, producer_id=response.producer_id, epoch=response.producer_epoch)


def _ask_coordinator(
    cluster: Cluster,
    api: Api[Any, Any],
    transactional_id: str,
    request: object,
    deadline: Deadline,
    within: Versions | None = None,
    timeout_ms: int | None = None,
) -> Any:
    """The coordinator's response. All of these requests have the same effect when they are sent again."""
    _know_coordinator(cluster, transactional_id, TRANSACTION, transactional_id, deadline)
    sharded = ShardedRequest(
        api=api,
        items=[transactional_id],
        build=lambda _: request,
        read=lambda response, items: [(items[0], _code(response), response)],
        within=within,
        once=False,
    )
    (gathered,) = gather(cluster, ByCoordinator(cluster, TRANSACTION), [sharded], deadline)
    for failure in gathered.failures.values():
        raise _failed(transactional_id, failure, timeout_ms)
    return gathered.answers[transactional_id]


def _ask_group(
    cluster: Cluster, transaction: Transaction, group_id: str, request: TxnOffsetCommitRequest, deadline: Deadline
) -> TxnOffsetCommitResponse:
    """The response of the group's coordinator."""
    _know_coordinator(cluster, group_id, GROUP, transaction.transactional_id, deadline)
    sharded = ShardedRequest(
        api=TXN_OFFSET_COMMIT,
        items=[group_id],
        build=lambda _: request,
        read=lambda response, items: [(items[0], _retriable(code for _, code in _committed(response)), response)],
        within=transaction.versions(TXN_OFFSET_COMMIT),
        once=False,
    )
    (gathered,) = gather(cluster, ByCoordinator(cluster, GROUP), [sharded], deadline)
    for failure in gathered.failures.values():
        raise _failed(transaction.transactional_id, failure, transaction.timeout_ms)
    response: TxnOffsetCommitResponse = gathered.answers[group_id]
    return response


def _know_coordinator(cluster: Cluster, key: str, key_type: int, transactional_id: str, deadline: Deadline) -> None:
    """Look the coordinator up if it is not known; TransactionFailed if the brokers will not say."""
    if cluster.coordinator_of(key, key_type) is not None:
        return
    for code in cluster.find_coordinators([key], deadline, key_type).values():
        if not error_code(code).retriable:
            scope = Scope.transaction(key) if key_type == TRANSACTION else Scope.group(key)
            raise _failed(transactional_id, failure_of(FIND_COORDINATOR, scope, code))


def _code(response: Any) -> int:
    if isinstance(response, AddPartitionsToTxnResponse):
        return _retriable(code for _, code in _added(response))
    code: int = response.error_code
    return code


def _retriable(codes: Iterable[int]) -> int:
    """The first code after which the same request may succeed, else 0: the caller reads the others."""
    return next((code for code in codes if error_code(code).retriable), 0)


def _added(response: AddPartitionsToTxnResponse) -> Iterator[tuple[TopicPartition, int]]:
    for topic in response.results_by_topic_v3_and_below:
        for partition in topic.results_by_partition:
            yield TopicPartition(topic.name, partition.partition_index), partition.partition_error_code


def _committed(response: TxnOffsetCommitResponse) -> Iterator[tuple[TopicPartition, int]]:
    for topic in response.topics:
        for partition in topic.partitions:
            yield TopicPartition(topic.name, partition.partition_index), partition.error_code


def _raise_if_ended(api: Api[Any, Any], transaction: Transaction, codes: Iterable[int]) -> None:
    """Raise what concerns the transaction and not one partition of it."""
    for code in codes:
        if code in _EXPLAINED:
            failure = failure_of(api, Scope.transaction(transaction.transactional_id), code)
            raise _failed(transaction.transactional_id, failure, transaction.timeout_ms)


_EXPLAINED = {
    **dict.fromkeys(
        FENCED, "another producer has taken the transactional id over, or the transaction was open for too long"
    ),
    INVALID_TXN_STATE: "the transaction is not open, or has ended otherwise",
    INVALID_PRODUCER_ID_MAPPING: "its coordinator does not know the producer: the id was unused for long, or taken over",
    INVALID_TRANSACTION_TIMEOUT: "brokers accept at most their transaction.max.timeout.ms",
    TRANSACTIONAL_ID_AUTHORIZATION_FAILED: "WRITE on the transactional id is missing",
    TRANSACTION_ABORTABLE: "it can only be aborted",
}


def explain(code: int | None, timeout_ms: int | None) -> str | None:
    """What an error code means in a transaction, which a name does not say; None for others."""
    reason = _EXPLAINED.get(code) if code is not None else None
    is_about_time = code in FENCED or code == INVALID_TRANSACTION_TIMEOUT
    return f"{reason} (its timeout is {timeout_ms} ms)" if reason and is_about_time and timeout_ms else reason


def _failed(transactional_id: str, failure: Failure, timeout_ms: int | None = None) -> TransactionFailed:
    return TransactionFailed(
        transactional_id,
        failure.api,
        failure.name,
        failure.code,
        explain(failure.code, timeout_ms) or failure.message,
        failure.may_be_done,
    )
