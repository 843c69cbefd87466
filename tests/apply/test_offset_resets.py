"""Offsets of groups are set by position specs, and never to an offset outside the log."""

from collections.abc import Mapping
from dataclasses import replace

import pytest

from kafka_lagoon.apply.offset_resets import NO_COMMIT, OUTSIDE, ResetSpec, ShiftBy, reset_actions
from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.fetch.offset_specs import EARLIEST, LATEST, AtOffset, AtTime, BeforeEnd
from kafka_lagoon.topic_partition import TopicPartition
from tests.admin.conftest import altering_apis, cluster, soon
from tests.admin.test_share_groups import topic
from tests.fake.cluster import FakeCluster, FakeCommit, FakeGroup, FakeMember

__all__ = ["altering_apis", "cluster"]  # fixtures of tests/admin
pytestmark = pytest.mark.usefixtures("altering_apis")
ORDERS = [TopicPartition("orders", partition) for partition in range(6)]


@pytest.fixture(autouse=True)
def group(state: FakeCluster) -> None:
    """A group with commit 20 in each partition, whose logs have offsets 10 to 100."""
    for log in state.topics["orders"].partitions:
        log.log_start_offset = 10
        log.times = ((1_000, 30), (2_000, 60))
    state.groups = {
        "billing": FakeGroup(coordinator_id=1, commits={("orders", index): FakeCommit(20) for index in range(5)})
    }


def planned(cluster: Cluster, specs: Mapping[TopicPartition, ResetSpec]) -> tuple[dict[str, int], dict[str, str]]:
    """Return offsets, or names of failures, by partition."""
    actions, failures = reset_actions(cluster, "billing", specs, soon(), "file:1")
    assert {action.kind for action in actions} <= {"alter_offsets"}
    assert {action.source for action in actions} <= {"file:1"}
    offsets = {action.resource.name: (action.after or {})["committed_offset"] for action in actions}
    return offsets, {str(failure.scope): failure.name for failure in failures}


def test_every_spec(cluster: Cluster) -> None:
    """Specs: start, end, an offset, a time, before the end, a shift by a number."""
    specs: dict[TopicPartition, ResetSpec] = dict(
        zip(ORDERS, (EARLIEST, LATEST, AtOffset(33), AtTime(1_500), BeforeEnd(5), AtTime(9_000)), strict=True)
    )
    offsets, failures = planned(cluster, specs)
    assert (list(offsets.values()), failures) == ([10, 100, 33, 60, 95, 100], {})
    offsets, failures = planned(cluster, {ORDERS[0]: ShiftBy(-10), ORDERS[1]: ShiftBy(80)})
    assert (list(offsets.values()), failures) == ([10, 100], {})


def test_what_is_outside_is_a_failure_and_not_moved(cluster: Cluster) -> None:
    """An offset before the start or after the end, and a shift without a commit, are failures; other partitions are set."""
    specs: dict[TopicPartition, ResetSpec] = {
        ORDERS[0]: AtOffset(9),
        ORDERS[1]: AtOffset(101),
        ORDERS[2]: ShiftBy(-11),
        ORDERS[3]: AtOffset(100),
        ORDERS[5]: ShiftBy(1),
    }
    offsets, failures = planned(cluster, specs)
    assert offsets == {"billing orders-3": 100}
    assert failures == {
        **{f"group billing, {ORDERS[index]}": OUTSIDE for index in (0, 1, 2)},
        f"group billing, {ORDERS[5]}": NO_COMMIT,
    }


def test_what_is_there_already_needs_no_action(cluster: Cluster) -> None:
    """An offset that is already committed needs no action and is no failure."""
    assert planned(cluster, {ORDERS[0]: AtOffset(20), ORDERS[1]: ShiftBy(0)}) == ({}, {})


def test_what_is_there_already_stays_done(state: FakeCluster, cluster: Cluster) -> None:
    """Retention deletes the records of an idle group: as a failure it would hold up the whole file of a desired state."""
    state.topics["orders"].partitions[0].log_start_offset = 50
    assert planned(cluster, {ORDERS[0]: AtOffset(20)}) == ({}, {})
    assert planned(cluster, {ORDERS[0]: AtOffset(21)}) == ({}, {f"group billing, {ORDERS[0]}": OUTSIDE})


def test_a_group_with_members_is_left_alone(state: FakeCluster, cluster: Cluster) -> None:
    """Brokers would refuse it; offsets of a group that does not exist can be set."""
    state.groups["billing"].members = [FakeMember("m")]
    state.groups["billing"].state = "Stable"
    assert planned(cluster, {ORDERS[0]: EARLIEST}) == ({}, {"group billing": "NON_EMPTY_GROUP"})
    actions, failures = reset_actions(cluster, "new", {ORDERS[0]: EARLIEST}, soon())
    assert ([action.before for action in actions], failures) == ([None], [])


def test_share_groups_have_start_offsets(state: FakeCluster, cluster: Cluster) -> None:
    """The type of the group decides."""
    state.groups = {"queue": FakeGroup(coordinator_id=1, group_type="share", share_topics=(topic(0),))}
    actions, failures = reset_actions(cluster, "queue", {ORDERS[0]: ShiftBy(7)}, soon())
    (action,) = actions
    assert (action.kind, action.before, action.after) == (
        "alter_share_offsets",
        {"start_offset": 5},
        {"start_offset": 12},
    )
    assert failures == []


@pytest.mark.parametrize(("lag", "is_planned"), [(1, True), (94, True), (95, False), (-1, True)])
def test_what_a_share_group_has_processed_is_delivered_again(
    state: FakeCluster, cluster: Cluster, lag: int, is_planned: bool
) -> None:
    """Offset 5 is its start offset already: records after it may have been processed, unless all 95 count as lag."""
    (partition,) = topic(0).partitions
    stored = replace(topic(0), partitions=(replace(partition, lag=lag),))
    state.groups = {"queue": FakeGroup(coordinator_id=1, group_type="share", share_topics=(stored,))}
    log = state.topics["orders"].partitions[0]
    log.log_start_offset = 5
    for spec in (EARLIEST, AtOffset(5), ShiftBy(0)):
        actions, failures = reset_actions(cluster, "queue", {ORDERS[0]: spec}, soon())
        same = {"start_offset": 5}
        assert [(action.before, action.after) for action in actions] == [(same, same)] * is_planned
        assert failures == []
    log.log_start_offset = 6  # the offset that is set already stays done, also if retention has deleted its record
    assert reset_actions(cluster, "queue", {ORDERS[0]: AtOffset(5)}, soon()) == ([], [])


def test_a_partition_without_a_leader_fails_alone(state: FakeCluster, cluster: Cluster) -> None:
    """The bounds of its log are not known."""
    state.topics["orders"].partitions[0].leader_id = -1
    for spec in (EARLIEST, ShiftBy(-10)):
        offsets, failures = planned(cluster, {ORDERS[0]: spec, ORDERS[1]: spec})
        assert offsets == {"billing orders-1": 10}
        assert failures == {"orders-0": "LEADER_NOT_AVAILABLE"}


@pytest.mark.parametrize("spec", [EARLIEST, ShiftBy(-5)])
def test_a_commit_that_cannot_be_read(state: FakeCluster, cluster: Cluster, spec: ResetSpec) -> None:
    """A commit that cannot be read is left alone; other partitions are set."""
    state.groups["billing"].commits["orders", 0] = FakeCommit(20, error_code=29)
    offsets, failures = planned(cluster, {ORDERS[0]: spec, ORDERS[1]: spec})
    assert offsets == {"billing orders-1": 10 if spec is EARLIEST else 15}
    assert list(failures.values()) == ["TOPIC_AUTHORIZATION_FAILED"]
