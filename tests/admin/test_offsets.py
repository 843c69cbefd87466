"""Offsets of fake leaders."""

from kafka_lagoon.admin.offsets import offsets_at
from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.topic_partition import TopicPartition
from tests.admin.conftest import soon
from tests.fake.cluster import FakeCluster

ORDERS = [TopicPartition("orders", partition) for partition in range(6)]


def test_a_time_of_each_partition(state: FakeCluster, cluster: Cluster) -> None:
    """Every partition has its own time; if it has no record at or after this time, the offset is -1."""
    for partition in state.topics["orders"].partitions:
        partition.times = ((1_000, 10), (2_000, 20))
    times_ms = {ORDERS[0]: 1_000, ORDERS[1]: 1_001, ORDERS[2]: 2_001}
    offsets = offsets_at(cluster, times_ms, soon())
    assert {item: one.offset for item, one in offsets.answers.items()} == {ORDERS[0]: 10, ORDERS[1]: 20, ORDERS[2]: -1}
    assert not offsets.failures
