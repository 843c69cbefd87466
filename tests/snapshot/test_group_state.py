"""Events while the inputs of lag are read make no row that was never true."""

from collections.abc import Callable
from typing import Any

import pytest

from kafka_lagoon.protocol.messages.list_offsets import LIST_OFFSETS
from kafka_lagoon.protocol.messages.offset_fetch import OFFSET_FETCH
from kafka_lagoon.snapshot.collect import collect
from kafka_lagoon.snapshot.time_lag import local_starts
from kafka_lagoon.tables.cluster_rows import PartitionOffsetsRow
from kafka_lagoon.tables.group_rows import ConsumerLagRow
from kafka_lagoon.tables.snapshot_rows import CollectionFailureRow, Snapshot
from tests.fake.answers import SPOKEN
from tests.fake.cluster import FakeCluster, FakeCommit, FakeGroup
from tests.fake.direct import answered_directly


def one_group() -> FakeCluster:
    """Return a cluster with a group that has committed 90 of 100 offsets, of which 5 are deleted."""
    state = FakeCluster()
    state.add_topic("orders", 1).partitions[0].log_start_offset = 5
    state.groups["reader"] = FakeGroup(coordinator_id=2, commits={("orders", 0): FakeCommit(90)})
    return state


def captured(state: FakeCluster, meanwhile: Callable[[str], None] = lambda _: None) -> Snapshot:
    """Take a snapshot; `meanwhile` is called when a step begins."""
    with answered_directly(state) as (cluster, deadline):
        return collect(cluster, "test", 1_000, deadline, lambda step, _: meanwhile(step))


def test_what_is_deleted_after_the_commit_is_not_lost() -> None:
    """A group may read on meanwhile, and Kafka Streams deletes what it has read: nothing that a group has read is lost."""
    state = one_group()
    log = state.topics["orders"].partitions[0]

    def read_on(step: str) -> None:
        if step == "end offsets again":
            state.groups["reader"].commits["orders", 0] = FakeCommit(150)
            log.high_watermark = log.log_start_offset = 150

    snapshot = captured(state, read_on)
    (row,) = snapshot.of(ConsumerLagRow)
    assert (row.committed_offset, row.log_start_offset, row.high_watermark) == (90, 5, 150)
    assert (row.records_lost, row.retention_margin, row.problem) == (0, 85, None)
    (offsets,) = snapshot.of(PartitionOffsetsRow)
    assert (offsets.log_start_offset, offsets.high_watermark) == (5, 150)


def test_a_start_that_moves_is_not_tiered_storage(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without tiered storage the log and its part on the leader's disk begin together, also while records are deleted."""
    state = one_group()
    api, answer = SPOKEN[LIST_OFFSETS.key]

    def delete_afterwards(state: FakeCluster, node: int, version: int, request: Any) -> Any:
        response = answer(state, node, version, request)
        state.topics["orders"].partitions[0].log_start_offset += 1
        return response

    monkeypatch.setitem(SPOKEN, LIST_OFFSETS.key, (api, delete_afterwards))
    offsets = captured(state).of(PartitionOffsetsRow)
    assert None not in (offsets[0].log_start_offset, offsets[0].local_log_start_offset)
    assert local_starts(offsets) == {}


def test_a_commit_whose_transaction_has_ended_is_stable(monkeypatch: pytest.MonkeyPatch) -> None:
    """The transaction is open when stable offsets are requested, and has ended when the present ones are."""
    state = one_group()
    commits = state.groups["reader"].commits
    commits["orders", 0] = FakeCommit(90, pending=True)
    api, answer = SPOKEN[OFFSET_FETCH.key]

    def end_afterwards(state: FakeCluster, node: int, version: int, request: Any) -> Any:
        response = answer(state, node, version, request)
        commits["orders", 0] = FakeCommit(95)
        return response

    monkeypatch.setitem(SPOKEN, OFFSET_FETCH.key, (api, end_afterwards))
    (row,) = captured(state).of(ConsumerLagRow)
    assert (row.committed_offset, row.lag, row.problem) == (95, 5, None)


def test_a_commit_whose_transaction_is_open_is_not_stable() -> None:
    """It is the present commit, which is about to be replaced."""
    state = one_group()
    state.groups["reader"].commits["orders", 0] = FakeCommit(90, pending=True)
    (row,) = captured(state).of(ConsumerLagRow)
    assert (row.committed_offset, row.lag, row.problem) == (90, 10, "UNSTABLE_OFFSET_COMMIT")


def test_a_partition_without_a_high_watermark_does_not_take_the_time_of_all_others() -> None:
    """Its leader answers OFFSET_NOT_AVAILABLE as long as too few replicas are in sync; the command has a minute."""
    state, left = one_group(), dict[str, float]()
    state.add_topic("waiting", 1).partitions[0].error_code = 78
    with answered_directly(state) as (cluster, longer):
        deadline = longer.within(60_000)
        snapshot = collect(cluster, "test", 1_000, deadline, lambda step, _: left.update({step: deadline.remaining()}))
    assert left["groups"] > 25
    assert left["topics again"] > 10
    (row,) = snapshot.of(ConsumerLagRow)
    assert (row.topic, row.lag, row.problem) == ("orders", 10, None)
    failures = {(one.topic, one.error_name) for one in snapshot.of(CollectionFailureRow)}
    assert failures == {("waiting", "OFFSET_NOT_AVAILABLE")}
