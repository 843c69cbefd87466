"""Splits of a divided partition have the leader epoch of the record before them."""

from typing import Any

from kafka_lagoon.protocol.messages.offset_for_leader_epoch import OFFSET_FOR_LEADER_EPOCH
from tests.fake.cluster import FakeCluster
from tests.fake.faults import Altered, Fault
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


def test_epochs_that_the_leader_does_not_return(state: FakeCluster, connect: Connect) -> None:
    """The epoch before a split is unknown then: another one would look as if the log had been truncated, or hide that."""

    def refuse(answer: Any) -> Any:
        answer.topics[0].partitions[0].error_code = 29
        return answer

    in_epochs(state, 0, 0, 3, 5, 5)
    state.faults.append(Fault(OFFSET_FOR_LEADER_EPOCH.key, Altered(refuse), times=1000))
    parts = splits(connect(), whole(state, last_epoch=9), into=5)
    assert [(one.from_offset, one.last_epoch) for one in parts] == [(0, 9), (4, -1), (8, -1), (12, -1), (16, -1)]


def test_a_log_that_begins_in_its_only_epoch(state: FakeCluster, connect: Connect) -> None:
    """Epoch 0 begins with the log, which is known without a request."""
    in_epochs(state, 0, 0, 0)
    parts = splits(connect(), whole(state, last_epoch=9), into=3)
    assert [(one.from_offset, one.last_epoch) for one in parts] == [(0, 9), (4, 0), (8, 0)]
    assert not state.count(OFFSET_FOR_LEADER_EPOCH.key)


def test_epochs_are_requested_down_to_the_first_split(state: FakeCluster, connect: Connect) -> None:
    """No split needs the epochs of the log before the range."""
    in_epochs(state, 0, 1, 2, 3, 4)
    parts = splits(connect(), whole(state, start=12, last_epoch=2), into=2)
    assert [(one.from_offset, one.last_epoch) for one in parts] == [(12, 2), (16, 3)]
    assert state.count(OFFSET_FOR_LEADER_EPOCH.key) == 2
