"""Ends of leader epochs of fake leaders."""

from kafka_lagoon.admin.epoch_ends import end_columns, epoch_ends
from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.protocol.messages.offset_for_leader_epoch import OFFSET_FOR_LEADER_EPOCH
from kafka_lagoon.topic_partition import TopicPartition
from tests.admin.conftest import soon
from tests.fake.cluster import FakeCluster

ORDERS = [TopicPartition("orders", partition) for partition in range(6)]


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


def test_ends_by_column(state: FakeCluster, cluster: Cluster) -> None:
    """They are in the order that is wanted, with -1 for partitions without an answer, whatever keeps the answers."""
    for partition in state.topics["orders"].partitions:
        partition.epoch_ends = {3: 33}
    answers = epoch_ends(cluster, {ORDERS[2]: 3, ORDERS[0]: 3}, soon()).answers
    same, other = [ORDERS[2], ORDERS[0]], [ORDERS[0], ORDERS[1], ORDERS[2]]
    assert [list(column) for column in end_columns(answers, same)] == [[3, 3], [33, 33]]
    for kept in (answers, dict(answers)):
        assert [list(column) for column in end_columns(kept, other)] == [[3, -1, 3], [33, -1, 33]]
