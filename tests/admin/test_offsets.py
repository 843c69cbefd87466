"""Offsets and leader epochs of fake leaders."""

from kafka_lagoon.admin.offsets import epoch_ends, offsets_at
from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.protocol.messages.offset_for_leader_epoch import OFFSET_FOR_LEADER_EPOCH
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


def test_ends_of_epochs(state: FakeCluster, cluster: Cluster) -> None:
    """The result is the end offset of each epoch in the leader's log, or -1 for an unknown epoch, which is no failure."""
    for partition in state.topics["orders"].partitions:
        partition.epoch_ends = {3: 33}
    offsets = epoch_ends(cluster, {ORDERS[0]: 3, ORDERS[1]: 4}, soon())
    ends = {item: (one.leader_epoch, one.end_offset) for item, one in offsets.answers.items()}
    assert ends == {ORDERS[0]: (3, 33), ORDERS[1]: (-1, -1)}


def test_ends_of_epochs_follow_the_leader(state: FakeCluster, cluster: Cluster) -> None:
    """A leader that moved is looked up again."""
    moved = state.topics["orders"].partitions[0]
    moved.leader_id, moved.leader_epoch, moved.epoch_ends = 3, 1, {0: 5}
    offsets = epoch_ends(cluster, {ORDERS[0]: 0}, soon())
    assert offsets.answers[ORDERS[0]].end_offset == 5
    assert offsets.sources[ORDERS[0]].node_id == 3
    assert state.count(OFFSET_FOR_LEADER_EPOCH.key) == 2


def test_epochs_of_a_topic_that_is_re_created_meanwhile(state: FakeCluster, cluster: Cluster) -> None:
    """Epochs belong to the deleted topic, so the leader of the new topic gets no request for them."""
    again = state.topics["orders"].partitions[0]
    state.topics["orders"].topic_id, again.leader_id, again.epoch_ends = b"another topic id", 2, {0: 5}
    offsets = epoch_ends(cluster, {ORDERS[0]: 0}, soon())
    assert (offsets.answers, offsets.failures[ORDERS[0]].name) == ({}, "UNKNOWN_TOPIC_ID")
