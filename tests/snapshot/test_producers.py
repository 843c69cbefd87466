"""Rows of producers, from messages made by hand."""

from dataclasses import replace

from kafka_lagoon.client.routing import Gathered
from kafka_lagoon.protocol.messages.describe_producers import DescribeProducersPartitionResponse
from kafka_lagoon.snapshot.producers import open_partitions, partition_producer_rows
from kafka_lagoon.tables.cluster_rows import PartitionOffsetsRow, TopicPartitions
from kafka_lagoon.tables.transaction_rows import TransactionRow
from kafka_lagoon.topic_partition import TopicPartition
from tests.admin.test_hanging_transactions import NOW_MS, OLD, ORDERS, UNKNOWN, UNREACHABLE, producer
from tests.delta.samples import row


def test_partitions_with_an_open_transaction() -> None:
    """The last stable offset is below the high watermark, or a coordinator names the partition; unknown offsets select none."""
    offsets = [
        row(PartitionOffsetsRow, topic="a", partition=index, last_stable_offset=stable, high_watermark=high)
        for index, (stable, high) in enumerate([(4, 5), (5, 5), (None, 5), (4, None)])
    ]
    partitions = (TopicPartitions(topic="b", topic_id=None, partitions=(1, 0)),)
    listed = [
        row(TransactionRow, transactional_id="payer", partitions=partitions),
        row(TransactionRow, transactional_id="refused", problem="NOT_COORDINATOR"),
    ]
    assert open_partitions(offsets, listed) == [("a", 0), ("b", 0), ("b", 1)]


def test_every_producer_is_a_row_and_every_partition_without_answer() -> None:
    """Rows are ordered; values that a leader did not return are null, with a reason."""
    states = (producer(OLD, producer_id=8), producer(None, -1))
    answer = DescribeProducersPartitionResponse(partition_index=0, error_code=0, active_producers=states)
    producers = Gathered({ORDERS: answer}, {}, {TopicPartition("hidden", 3): UNREACHABLE})
    hidden, first, second = partition_producer_rows(
        producers, producers, UNKNOWN, {7: "payer"}, {"orders": "id"}, NOW_MS
    )
    assert (hidden.topic, hidden.partition, hidden.problem) == ("hidden", 3, "COORDINATOR_NOT_AVAILABLE")
    assert (hidden.producer_id, hidden.is_hanging, hidden.evidence, hidden.idle_ms) == (None, None, None, None)
    assert (first.producer_id, first.topic_id, first.transactional_id, first.idle_ms) == (7, "id", "payer", None)
    assert (first.open_since_offset, first.is_hanging, first.problem) == (None, False, None)
    assert (second.producer_id, second.transactional_id, second.idle_ms) == (8, None, OLD)
    assert (second.open_since_offset, second.is_hanging, second.evidence) == (5, True, "no_transaction")


def test_timestamps_before_1970_are_known() -> None:
    """Only -1 means that there is no timestamp; an age with more than 64 bits is null, as its time is in the table."""
    times = {1: -2, 2: -1, 3: -(2**63)}
    states = tuple(
        replace(producer(None, -1), producer_id=number, last_timestamp=time) for number, time in times.items()
    )
    answer = DescribeProducersPartitionResponse(partition_index=0, error_code=0, active_producers=states)
    producers = Gathered({ORDERS: answer}, {}, {})
    rows = partition_producer_rows(producers, producers, UNKNOWN, {}, {}, NOW_MS)
    assert [(row.last_written_at_ms, row.idle_ms) for row in rows] == [
        (-2, NOW_MS + 2),
        (None, None),
        (-(2**63), None),
    ]
