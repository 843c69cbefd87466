"""The coordinator of transactions of a fake cluster: it begins, fences and ends them, at level 0 of transaction.version.

All transactional ids have the first broker as their coordinator. An open transaction that is to be fenced is aborted when it is
asked about again, as in Kafka.
"""

from dataclasses import replace
from itertools import count
from typing import Any

import pytest

from kafka_lagoon.protocol.messages import (
    add_partitions_to_txn,
    describe_transactions,
    end_txn,
    find_coordinator,
    init_producer_id,
)
from kafka_lagoon.protocol.messages.find_coordinator import TRANSACTION
from tests.fake.answers import SPOKEN
from tests.fake.cluster import FakeCluster, FakeTransaction

NODE, WAS_FENCED, NOT_OPEN, NOT_ABORTED_YET = 1, 90, 48, 51
_ids = count(9_000)


def coordinate(patch: pytest.MonkeyPatch) -> None:
    """Let the fake brokers speak these APIs, too."""
    _, find = SPOKEN[find_coordinator.FIND_COORDINATOR.key]
    _, init = SPOKEN[init_producer_id.INIT_PRODUCER_ID.key]

    def of_transactions(state: FakeCluster, node: int, version: int, request: Any) -> Any:
        if request.key_type != TRANSACTION:
            return find(state, node, version, request)
        host, port = state.addresses[NODE]
        some = (find_coordinator.Coordinator(key=key, node_id=NODE, host=host, port=port) for key in _keys(request))
        return find_coordinator.FindCoordinatorResponse(coordinators=tuple(some))

    def begun(state: FakeCluster, node: int, version: int, request: Any) -> Any:
        return init(state, node, version, request) if request.transactional_id is None else _begun(state, request)

    for api, answer in (
        (find_coordinator.FIND_COORDINATOR, of_transactions),
        (init_producer_id.INIT_PRODUCER_ID, begun),
        (add_partitions_to_txn.ADD_PARTITIONS_TO_TXN, _added),
        (end_txn.END_TXN, _ended),
    ):
        patch.setitem(SPOKEN, api.key, (api, answer))


def states_of(state: FakeCluster) -> dict[str, str]:
    """Return the state of each transaction, in Kafka's words."""
    return {name: one.described.transaction_state for name, one in state.transactions.items()}


def _keys(request: Any) -> tuple[str, ...]:
    keys: tuple[str, ...] = request.coordinator_keys or (request.key,)
    return keys


def _begun(state: FakeCluster, request: Any) -> Any:
    known = state.transactions.get(request.transactional_id)
    if known and known.described.transaction_state == "Ongoing":
        known.described = replace(
            known.described, transaction_state="CompleteAbort", producer_epoch=known.described.producer_epoch + 1
        )
        return init_producer_id.InitProducerIdResponse(
            throttle_time_ms=0, error_code=NOT_ABORTED_YET, producer_epoch=-1
        )
    described = describe_transactions.DescribedTransaction(
        error_code=0,
        transactional_id=request.transactional_id,
        transaction_state="Empty",
        transaction_timeout_ms=request.transaction_timeout_ms,
        transaction_start_time_ms=describe_transactions.NOT_STARTED,
        producer_id=known.described.producer_id if known else next(_ids),
        producer_epoch=known.described.producer_epoch + 1 if known else 0,
        topics=(),
    )
    state.transactions[request.transactional_id] = FakeTransaction(NODE, described)
    return init_producer_id.InitProducerIdResponse(
        throttle_time_ms=0,
        error_code=0,
        producer_id=described.producer_id,
        producer_epoch=described.producer_epoch,
    )


def _added(state: FakeCluster, _node: int, _version: int, request: Any) -> Any:
    code = _move(state, request.v3_and_below_transactional_id, request.v3_and_below_producer_epoch, "Ongoing")
    results = tuple(
        add_partitions_to_txn.AddPartitionsToTxnTopicResult(
            name=topic.name,
            results_by_partition=tuple(
                add_partitions_to_txn.AddPartitionsToTxnPartitionResult(
                    partition_index=partition, partition_error_code=code
                )
                for partition in topic.partitions
            ),
        )
        for topic in request.v3_and_below_topics
    )
    return add_partitions_to_txn.AddPartitionsToTxnResponse(
        throttle_time_ms=0, error_code=0, results_by_transaction=(), results_by_topic_v3_and_below=results
    )


def _ended(state: FakeCluster, _node: int, _version: int, request: Any) -> Any:
    name, end = request.transactional_id, "CompleteCommit" if request.committed else "CompleteAbort"
    now = states_of(state)[name]
    code = _move(state, name, request.producer_epoch, end if now in ("Ongoing", end) else now)
    return end_txn.EndTxnResponse(throttle_time_ms=0, error_code=code or (0 if now in ("Ongoing", end) else NOT_OPEN))


def _move(state: FakeCluster, name: str, epoch: int, to: str) -> int:
    known = state.transactions[name]
    if epoch != known.described.producer_epoch:
        return WAS_FENCED
    known.described = replace(known.described, transaction_state=to)
    return 0
