"""The commit of a group becomes the offset of the next restored record, or a named problem."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, cast

from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.protocol.messages.list_groups import LIST_GROUPS
from kafka_lagoon.restore.group_offsets import (
    RestoredPartition,
    SavedCommit,
    TranslatedCommit,
    offset_actions,
    saved_commits,
    translated,
)
from kafka_lagoon.restore.offset_map import OffsetRange, PartitionMap, Position
from kafka_lagoon.restore.request import RestoreRequest
from kafka_lagoon.restore.saved_state import commits
from kafka_lagoon.topic_partition import TopicPartition
from tests.admin.conftest import soon
from tests.fake.cluster import FakeCluster, FakeCommit, FakeGroup, FakeMember
from tests.fake.faults import Altered, Fault
from tests.restore.saved import saved


def _commit(group: str, partition: int, offset: int | None, **more: Any) -> dict[str, Any]:
    return {
        "snapshot_id": "s1",
        "group_id": group,
        "topic": "orders",
        "topic_id": "id",
        "partition": partition,
        "committed_offset": offset,
        **more,
    }


def test_commits_are_translated() -> None:
    """The map of its partition translates a commit, and its metadata is kept; other snapshots and topics are left out."""
    rows = [
        _commit("a", 0, 105, metadata="x"),
        _commit("a", 1, 105),
        _commit("b", 0, 110),
        _commit("b", 0, 7, snapshot_id="s2"),
        _commit("c", 0, 99, topic_id="another"),
        _commit("d", 0, None, problem="GROUP_AUTHORIZATION_FAILED"),
        _commit("e", 0, None),
        _commit("e", 1, None, problem="NO_COMMIT"),  # the stored offset is -1
        _commit("e", 2, None, problem="COMMIT_NEGATIVE"),
        _commit("f", 0, 1, topic="payments"),
        _commit("g", 0, 105, topic_id=None),  # brokers before 2.8 give no ids
    ]
    offsets = PartitionMap(ranges=(OffsetRange(100, 0, 10),), source_end=110, target_start=0)
    target = TopicPartition("copy", 0)
    restored = {TopicPartition("orders", 0): RestoredPartition(topic_id="id", target=target, offset_map=offsets)}
    with saved(committed_offsets_published=rows[::-1], consumer_lag_published=[]) as ask:  # tables have no order
        done, failed = translated(saved_commits(ask, "s1", {"orders"}), restored)
    assert [(one.group_id, one.target, one.committed_offset, one.metadata, one.position) for one in done] == [
        ("a", target, 5, "x", Position.RECORD),
        ("b", target, 10, None, Position.END),
        ("g", target, 5, None, Position.RECORD),
    ]
    assert [(one.saved.group_id, one.saved.partition, one.problem) for one in failed] == [
        ("a", 1, "NOT_RESTORED"),
        ("c", 0, "TOPIC_RECREATED"),
        ("d", 0, "GROUP_AUTHORIZATION_FAILED"),
        ("e", 2, "COMMIT_NEGATIVE"),
    ]


def test_commits_of_partitions_that_are_left_out() -> None:
    """A restore of some partitions is complete without the commits of the others; a commit that is lacking is named."""
    offsets = PartitionMap(ranges=(OffsetRange(100, 0, 10),), source_end=110, target_start=0)
    restored = {
        TopicPartition("orders", 0): RestoredPartition(
            topic_id="id", target=TopicPartition("copy", 0), offset_map=offsets
        )
    }
    nothing = cast("Any", None)  # without a commit to make, the target is not asked
    rows = [_commit("a", 1, 5), _commit("a", 2, 5)]
    with saved(committed_offsets_published=rows, consumer_lag_published=[]) as ask:
        for numbers, left in (((0,), []), ((0, 2), [2])):
            request = RestoreRequest(from_cluster="a", to_cluster="b", partitions={"orders": numbers})
            made = commits(ask, "s1", request, {"orders"}, restored, nothing, nothing)
            assert made.notes == [f"group a: no offset for orders-{number}: NOT_RESTORED" for number in left]
        request = RestoreRequest(from_cluster="a", to_cluster="b")
        assert len(commits(ask, "s1", request, {"orders"}, restored, nothing, nothing).notes) == 2


def test_commits_of_a_topic_without_a_restored_partition() -> None:
    """They are named like those of a topic of which some partitions are restored."""
    nothing = cast("Any", None)
    request = RestoreRequest(from_cluster="a", to_cluster="b")
    rows = [_commit("a", 1, 5), _commit("a", 0, 5, topic="payments")]
    with saved(committed_offsets_published=rows, consumer_lag_published=[]) as ask:
        made = commits(ask, "s1", request, {"orders"}, {}, nothing, nothing)
    assert (made.actions, made.notes) == ([], ["group a: no offset for orders-1: NOT_RESTORED"])


def test_start_offsets_of_share_groups_are_named() -> None:
    """A restore sets none of them, so it is not complete; a partition that a share group has not read from has none."""
    nothing = cast("Any", None)
    request = RestoreRequest(from_cluster="a", to_cluster="b")
    lags = [
        _commit("s", 0, None, group_type="share", share_start_offset=5),
        _commit("s", 1, None, group_type="share", problem="SHARE_NOT_STARTED"),
        _commit("s", 2, None, group_type="share", problem="GROUP_AUTHORIZATION_FAILED"),
        _commit("s", 0, None, group_type="share", topic="payments"),
        _commit("s", 3, None, group_type="share", snapshot_id="s2"),
        _commit("a", 0, None, group_type="classic", problem="NO_COMMIT"),
    ]
    with saved(committed_offsets_published=[], consumer_lag_published=lags) as ask:
        made = commits(ask, "s1", request, {"orders"}, {}, nothing, nothing)
    assert (made.actions, made.notes) == (
        [],
        [
            "group s: no offset for orders-0: SHARE_GROUP",
            "group s: no offset for orders-2: GROUP_AUTHORIZATION_FAILED",
        ],
    )


def test_only_groups_that_stand_elsewhere_are_set(state: FakeCluster, connect: Callable[[], Cluster]) -> None:
    """A group with members, and one that is not known, are failures; one with this commit, text included, needs nothing."""
    state.groups = {
        "moved": FakeGroup(1, {("orders", 0): FakeCommit(7)}),
        "there": FakeGroup(1, {("orders", 0): FakeCommit(5)}),
        "runs": FakeGroup(1, {("orders", 0): FakeCommit(7)}, members=[FakeMember("m")], state="Stable"),
    }
    target = TopicPartition("orders", 0)
    origin = SavedCommit(
        group_id="g", topic="orders", topic_id=None, partition=0, committed_offset=5, metadata=None, problem=None
    )
    wanted = [
        TranslatedCommit(
            group_id=name,
            target=target,
            committed_offset=5,
            metadata=metadata,
            saved=origin,
            position=Position.RECORD,
        )
        for name, metadata in (("moved", None), ("there", None), ("there", "x"), ("runs", None), ("new", "x"))
    ]
    actions, failures = offset_actions(connect(), wanted, soon())
    assert [(one.resource.name, one.before, one.after) for one in actions] == [
        ("moved orders-0", {"committed_offset": 7}, {"committed_offset": 5}),
        ("there orders-0", {"committed_offset": 5}, {"committed_offset": 5, "metadata": "x"}),
        ("new orders-0", None, {"committed_offset": 5, "metadata": "x"}),
    ]
    assert [(str(one.scope), one.name) for one in failures] == [("group runs", "NON_EMPTY_GROUP")]
    state.faults = [Fault(LIST_GROUPS.key, Altered(lambda answer: replace(answer, error_code=29)), node_id=2, times=9)]
    actions, failures = offset_actions(connect(), wanted[-1:], soon())
    assert (actions, [one.name for one in failures]) == ([], ["TOPIC_AUTHORIZATION_FAILED"])
