"""Sends the requests of a transaction to its coordinator and to those of groups, and explains their errors."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from kafka_lagoon.client.cluster import Cluster
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
    PRODUCER_FENCED,
    TRANSACTION_ABORTABLE,
    TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
    error_code,
)
from kafka_lagoon.protocol.messages.add_partitions_to_txn import AddPartitionsToTxnResponse
from kafka_lagoon.protocol.messages.find_coordinator import GROUP, TRANSACTION
from kafka_lagoon.protocol.messages.txn_offset_commit import (
    TXN_OFFSET_COMMIT,
    TxnOffsetCommitRequest,
    TxnOffsetCommitResponse,
)
from kafka_lagoon.topic_partition import TopicPartition
from kafka_lagoon.wire.schema import Api, Versions

FENCED = frozenset({INVALID_PRODUCER_EPOCH, PRODUCER_FENCED})  # another producer has it, or the coordinator aborted it


def ask_coordinator(
    cluster: Cluster,
    api: Api[Any, Any],
    transactional_id: str,
    request: object,
    deadline: Deadline,
    within: Versions | None = None,
    timeout_ms: int | None = None,
) -> Any:
    """The coordinator's response. All of these requests have the same effect when they are sent again."""
    know_coordinator(cluster, transactional_id, TRANSACTION, transactional_id, deadline)
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
        raise failed(transactional_id, failure, timeout_ms)
    return gathered.answers[transactional_id]


def ask_group(
    cluster: Cluster, request: TxnOffsetCommitRequest, within: Versions, timeout_ms: int, deadline: Deadline
) -> TxnOffsetCommitResponse:
    """The response of the group's coordinator."""
    group_id, transactional_id = request.group_id, request.transactional_id
    know_coordinator(cluster, group_id, GROUP, transactional_id, deadline)
    sharded = ShardedRequest(
        api=TXN_OFFSET_COMMIT,
        items=[group_id],
        build=lambda _: request,
        read=lambda response, items: [(items[0], _retriable(code for _, code in commit_codes(response, {})), response)],
        within=within,
        once=False,
    )
    (gathered,) = gather(cluster, ByCoordinator(cluster, GROUP), [sharded], deadline)
    for failure in gathered.failures.values():
        raise failed(transactional_id, failure, timeout_ms)
    response: TxnOffsetCommitResponse = gathered.answers[group_id]
    return response


def know_coordinator(cluster: Cluster, key: str, key_type: int, transactional_id: str, deadline: Deadline) -> None:
    """Look the coordinator up if it is not known; TransactionFailed if the brokers will not say."""
    for failure in ByCoordinator(cluster, key_type).find_unknown([key], deadline).values():
        raise failed(transactional_id, failure)


def _code(response: Any) -> int:
    if isinstance(response, AddPartitionsToTxnResponse):
        return _retriable(code for _, code in added_codes(response))
    code: int = response.error_code
    return code


def _retriable(codes: Iterable[int]) -> int:
    """The first retriable code, else 0; the caller reads the other codes."""
    return next((code for code in codes if error_code(code).retriable), 0)


def added_codes(response: AddPartitionsToTxnResponse) -> Iterator[tuple[TopicPartition, int]]:
    """The error code of each partition that was to be added."""
    for topic in response.results_by_topic_v3_and_below:
        for partition in topic.results_by_partition:
            yield TopicPartition(topic.name, partition.partition_index), partition.partition_error_code


def commit_codes(response: TxnOffsetCommitResponse, names: Mapping[bytes, str]) -> Iterator[tuple[TopicPartition, int]]:
    """The error code of each partition whose offset was to be committed; `names` are those of topic ids."""
    for topic in response.topics:
        name = topic.name or names.get(topic.topic_id, "")
        for partition in topic.partitions:
            yield TopicPartition(name, partition.partition_index), partition.error_code


def raise_if_ended(api: Api[Any, Any], transactional_id: str, timeout_ms: int, codes: Iterable[int]) -> None:
    """Raise an error that concerns the transaction and not only a partition of it."""
    for code in codes:
        if code in _EXPLAINED:
            raise failed(transactional_id, failure_of(api, Scope.transaction(transactional_id), code), timeout_ms)


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
    """The meaning of an error code in a transaction, where its name does not say it; None for others."""
    reason = _EXPLAINED.get(code) if code is not None else None
    is_about_time = code in FENCED or code == INVALID_TRANSACTION_TIMEOUT
    return f"{reason} (its timeout is {timeout_ms} ms)" if reason and is_about_time and timeout_ms else reason


def failed(transactional_id: str, failure: Failure, timeout_ms: int | None = None) -> TransactionFailed:
    """The failure as an error."""
    return TransactionFailed(
        transactional_id,
        failure.api,
        failure.name,
        failure.code,
        explain(failure.code, timeout_ms) or failure.message,
        failure.may_be_done,
    )
