"""Answers about transactions, from their coordinators, and about producers, from the leaders of partitions."""

from typing import Any

from kafka_lagoon.protocol.messages import describe_producers, describe_transactions, list_transactions
from tests.fake.cluster import FakeCluster

NOT_LEADER, NOT_COORDINATOR, NOT_THERE, UNKNOWN_TOPIC = 6, 16, 105, 3


def _list(state: FakeCluster, node: int, _version: int, request: Any) -> Any:
    listed = (
        list_transactions.ListedTransaction(
            transactional_id=name,
            producer_id=transaction.described.producer_id,
            transaction_state=transaction.described.transaction_state,
        )
        for name, transaction in state.transactions.items()
        if transaction.coordinator_id == node and transaction.open_for_ms > request.duration_filter
        if transaction.described.producer_id in request.producer_id_filters or not request.producer_id_filters
    )
    return list_transactions.ListTransactionsResponse(
        error_code=0, unknown_state_filters=(), transaction_states=tuple(listed)
    )


def _describe(state: FakeCluster, node: int, _version: int, request: Any) -> Any:
    described = (_transaction(state, node, name) for name in request.transactional_ids)
    return describe_transactions.DescribeTransactionsResponse(transaction_states=tuple(described))


def _transaction(state: FakeCluster, node: int, name: str) -> Any:
    transaction = state.transactions.get(name)
    if transaction and transaction.coordinator_id == node:
        return transaction.described
    return describe_transactions.DescribedTransaction(
        error_code=NOT_COORDINATOR if transaction else NOT_THERE,
        transactional_id=name,
        transaction_state="",
        transaction_timeout_ms=0,
        transaction_start_time_ms=0,
        producer_id=0,
        producer_epoch=0,
        topics=(),
    )


def _code(state: FakeCluster, node: int, topic: str, index: int) -> int:
    partitions = state.topics[topic].partitions if topic in state.topics else []
    if not 0 <= index < len(partitions):
        return UNKNOWN_TOPIC
    return 0 if partitions[index].leader_id == node else NOT_LEADER


def _producers(state: FakeCluster, node: int, _version: int, request: Any) -> Any:
    topics = (
        describe_producers.DescribeProducersTopicResponse(
            name=topic.name,
            partitions=tuple(
                describe_producers.DescribeProducersPartitionResponse(
                    partition_index=index,
                    error_code=_code(state, node, topic.name, index),
                    active_producers=state.producers.get((topic.name, index), ()),
                )
                for index in topic.partition_indexes
            ),
        )
        for topic in request.topics
    )
    return describe_producers.DescribeProducersResponse(topics=tuple(topics))


ANSWERS = (
    (list_transactions.LIST_TRANSACTIONS, _list),
    (describe_transactions.DESCRIBE_TRANSACTIONS, _describe),
    (describe_producers.DESCRIBE_PRODUCERS, _producers),
)
