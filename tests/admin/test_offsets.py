"""Questions about logs, put to fake leaders."""

from kafka_lagoon.admin.offsets import epoch_ends, offsets_at
from kafka_lagoon.client.cluster import Cluster, TopicPartition
from kafka_lagoon.protocol.messages.offset_for_leader_epoch import OFFSET_FOR_LEADER_EPOCH
from tests.admin.conftest import soon
from tests.fake.cluster import FakeCluster

ORDERS = [TopicPartition("orders", partition) for partition in range(6)]


def test_a_time_of_each_partition(state: FakeCluster, cluster: Cluster) -> None:
    """Every partition has a time of its own; one that nothing was written at or behind yet has offset -1."""
    for partition in state.topics["orders"].partitions:
        partition.times = ((1_000, 10), (2_000, 20))
    asked = {ORDERS[0]: 1_000, ORDERS[1]: 1_001, ORDERS[2]: 2_001}
    found = offsets_at(cluster, asked, soon())
    assert {at: one.offset for at, one in found.answers.items()} == {ORDERS[0]: 10, ORDERS[1]: 20, ORDERS[2]: -1}
    assert not found.failures


def test_ends_of_terms(state: FakeCluster, cluster: Cluster) -> None:
    """Where the leader's log ends for a term; a term that it does not know is -1 and no failure."""
    for partition in state.topics["orders"].partitions:
        partition.epoch_ends = {3: 33}
    found = epoch_ends(cluster, {ORDERS[0]: 3, ORDERS[1]: 4}, soon())
    ends = {at: (one.leader_epoch, one.end_offset) for at, one in found.answers.items()}
    assert ends == {ORDERS[0]: (3, 33), ORDERS[1]: (-1, -1)}


def test_ends_of_terms_follow_the_leader(state: FakeCluster, cluster: Cluster) -> None:
    """A leader that moved is looked up again."""
    moved = state.topics["orders"].partitions[0]
    moved.leader_id, moved.leader_epoch, moved.epoch_ends = 3, 1, {0: 5}
    found = epoch_ends(cluster, {ORDERS[0]: 0}, soon())
    assert found.answers[ORDERS[0]].end_offset == 5
    assert found.sources[ORDERS[0]].node_id == 3
    assert state.count(OFFSET_FOR_LEADER_EPOCH.key) == 2


def test_epochs_of_a_topic_that_is_re_created_meanwhile(state: FakeCluster, cluster: Cluster) -> None:
    """They belong to the topic as it was: the new one's leader, at another epoch, is not asked where they end in its log."""
    again = state.topics["orders"].partitions[0]
    state.topics["orders"].topic_id, again.leader_id, again.epoch_ends = b"another topic id", 2, {0: 5}
    found = epoch_ends(cluster, {ORDERS[0]: 0}, soon())
    assert (found.answers, found.failures[ORDERS[0]].name) == ({}, "UNKNOWN_TOPIC_ID")
