"""Splits of a divided partition have the leader epoch of the record before them."""

from kafka_lagoon.protocol.messages.offset_for_leader_epoch import OFFSET_FOR_LEADER_EPOCH
from tests.fake.cluster import FakeCluster
from tests.fetch.reading import Connect
from tests.fetch.splits import in_epochs, splits, whole


def test_splits_know_the_epoch_before_them(state: FakeCluster, connect: Connect) -> None:
    """Epochs are the leader's, with one request per epoch; the first split has the epoch of the archive."""
    in_epochs(state, 0, 0, 3, 5, 5)
    parts = splits(connect(), whole(state, last_epoch=9), into=5)
    assert [(one.from_offset, one.last_epoch) for one in parts] == [(0, 9), (4, 0), (8, 0), (12, 3), (16, 5)]
    assert state.count(OFFSET_FOR_LEADER_EPOCH.key) == 2


def test_undivided_ranges_cost_no_request(state: FakeCluster, connect: Connect) -> None:
    """No request is sent for partitions with one split."""
    in_epochs(state, 0, 3)
    assert [one.last_epoch for one in splits(connect(), whole(state, last_epoch=9), into=1)] == [9]
    assert not state.count(OFFSET_FOR_LEADER_EPOCH.key)
