"""Offsets of groups that are set and deleted at fake coordinators."""

from dataclasses import replace
from typing import Any

import pytest

from kafka_lagoon.admin.group_offsets import Commit, GroupPartition, alter_offsets, delete_offsets
from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.clock import Deadline
from kafka_lagoon.protocol.messages.find_coordinator import FIND_COORDINATOR
from kafka_lagoon.protocol.messages.offset_commit import OFFSET_COMMIT
from kafka_lagoon.protocol.messages.offset_delete import OFFSET_DELETE
from tests.admin.conftest import soon
from tests.clock import CLOCK
from tests.fake.cluster import FakeCluster, FakeCommit, FakeGroup, FakeMember
from tests.fake.faults import Altered, Close, Fault, Hang

pytestmark = pytest.mark.usefixtures("altering_apis")
ORDERS = [GroupPartition("billing", "orders", partition) for partition in range(3)]


def commits(state: FakeCluster, group_id: str) -> dict[tuple[str, int], int]:
    return {partition: commit.offset for partition, commit in state.groups[group_id].commits.items()}


@pytest.mark.parametrize("version", [9, 10])
def test_alter_offsets_of_several_groups(state: FakeCluster, cluster: Cluster, version: int) -> None:
    """Each coordinator gets the commits of its groups, with topic ids if its version has them; coordinators are looked up."""
    state.highest[OFFSET_COMMIT.key] = version
    for broker in cluster.brokers.values():
        broker.close()
    state.groups = {"billing": FakeGroup(coordinator_id=1), "other": FakeGroup(coordinator_id=3)}
    wanted = {ORDERS[0]: Commit(5), ORDERS[1]: Commit(6, 2, "by hand"), GroupPartition("other", "orders", 0): Commit(7)}
    gathered = alter_offsets(cluster, wanted, soon())
    assert set(gathered.answers) == set(wanted)
    assert commits(state, "billing") == {("orders", 0): 5, ("orders", 1): 6}
    assert commits(state, "other") == {("orders", 0): 7}
    assert {asked for _, key, asked in state.requests if key == OFFSET_COMMIT.key} == {version}


def test_a_group_with_members_is_refused(state: FakeCluster, cluster: Cluster) -> None:
    """The message explains that the group has members; the other group is altered."""
    state.groups = {
        "billing": FakeGroup(coordinator_id=1, members=[FakeMember("m")]),
        "other": FakeGroup(coordinator_id=1),
    }
    other = GroupPartition("other", "orders", 0)
    gathered = alter_offsets(cluster, {ORDERS[0]: Commit(5), other: Commit(7)}, soon())
    assert set(gathered.answers) == {other}
    failure = gathered.failures[ORDERS[0]]
    assert (str(failure.scope), failure.name) == ("group billing, orders-0", "UNKNOWN_MEMBER_ID")
    assert failure.message == "the group has members, which would commit their own offsets again: stop them first"


def test_a_partition_fails_alone(state: FakeCluster, cluster: Cluster) -> None:
    """A topic that does not exist fails alone; the request for it names topics instead of ids."""
    state.groups = {"billing": FakeGroup(coordinator_id=2)}
    gone = GroupPartition("billing", "gone", 0)
    gathered = alter_offsets(cluster, {ORDERS[0]: Commit(5), gone: Commit(5)}, soon())
    assert set(gathered.answers) == {ORDERS[0]}
    assert gathered.failures[gone].name == "UNKNOWN_TOPIC_OR_PARTITION"


def test_commits_are_not_sent_twice(state: FakeCluster, cluster: Cluster) -> None:
    """A repeated commit would set back a consumer that has started since; if the coordinator moved, it is looked up."""
    state.groups = {"billing": FakeGroup(coordinator_id=2)}
    cluster.learn_coordinators({"billing": 1})
    assert not alter_offsets(cluster, {ORDERS[0]: Commit(5)}, soon()).failures
    state.faults = [Fault(OFFSET_COMMIT.key, Close())]
    before = state.count(OFFSET_COMMIT.key)
    (failure,) = alter_offsets(cluster, {ORDERS[0]: Commit(9)}, soon()).failures.values()
    assert failure.may_be_done
    assert state.count(OFFSET_COMMIT.key) == before + 1


def test_deletions_are_not_sent_twice(state: FakeCluster, cluster: Cluster) -> None:
    """A repeated one would delete what a consumer that has started since has committed."""
    state.groups = {"billing": FakeGroup(coordinator_id=1, commits={("orders", 0): FakeCommit(5)})}
    state.faults = [Fault(OFFSET_DELETE.key, Close())]
    (failure,) = delete_offsets(cluster, ORDERS[:1], soon()).failures.values()
    assert (failure.may_be_done, state.count(OFFSET_DELETE.key)) == (True, 1)


def refused_with(code: int) -> Altered:
    """Make a coordinator respond to commits with an error code."""

    def refuse(answer: Any) -> Any:
        topics = (replace(one, partitions=tuple(map(refused, one.partitions))) for one in answer.topics)
        return replace(answer, topics=tuple(topics))

    def refused(partition: Any) -> Any:
        return replace(partition, error_code=code)

    return Altered(refuse)


def test_a_coordinator_that_does_not_replicate_in_time_has_the_commit(state: FakeCluster, cluster: Cluster) -> None:
    """COORDINATOR_NOT_AVAILABLE follows a commit that is in its log, and takes effect when a follower answers again."""
    state.groups = {"billing": FakeGroup(coordinator_id=2)}
    state.faults = [Fault(OFFSET_COMMIT.key, refused_with(15))]
    (failure,) = alter_offsets(cluster, {ORDERS[0]: Commit(9)}, soon()).failures.values()
    assert (failure.name, failure.may_be_done) == ("COORDINATOR_NOT_AVAILABLE", True)
    assert state.count(OFFSET_COMMIT.key) == 1


def test_a_lost_answer_after_a_refusal(state: FakeCluster, cluster: Cluster) -> None:
    """The failure has the refusal, which says more than that no time is left; the second request may be carried out."""
    state.groups = {"billing": FakeGroup(coordinator_id=2)}
    state.faults = [Fault(OFFSET_COMMIT.key, refused_with(14)), Fault(OFFSET_COMMIT.key, Hang())]
    (failure,) = alter_offsets(cluster, {ORDERS[0]: Commit(9)}, Deadline.after(CLOCK, 1_000)).failures.values()
    assert (failure.name, failure.may_be_done) == ("COORDINATOR_LOAD_IN_PROGRESS", True)
    assert state.count(OFFSET_COMMIT.key) == 2


def test_delete_offsets_of_some_partitions(state: FakeCluster, cluster: Cluster) -> None:
    """Other commits stay; deleting a missing commit is a success, and a group that does not exist is a failure."""
    state.groups = {"billing": FakeGroup(coordinator_id=1, commits={("orders", one): FakeCommit(5) for one in (0, 1)})}
    gathered = delete_offsets(cluster, [ORDERS[0], ORDERS[2]], soon())
    assert set(gathered.answers) == {ORDERS[0], ORDERS[2]}
    assert commits(state, "billing") == {("orders", 1): 5}
    state.groups["billing"].members = [FakeMember("m")]
    refused = delete_offsets(cluster, ORDERS[:2], soon()).failures
    assert {(one.name, one.message) for one in refused.values()} == {
        ("NON_EMPTY_GROUP", "the group has members: stop them first")
    }


def test_a_group_whose_coordinator_we_may_not_know_fails_at_once(state: FakeCluster, cluster: Cluster) -> None:
    """It fails at once, not after a minute of lookups, with old and new versions of FindCoordinator."""
    state.groups = {"billing": FakeGroup(coordinator_id=1)}

    def refuse(answer: Any) -> Any:
        refused = tuple(replace(one, error_code=30, node_id=-1) for one in answer.coordinators)
        return replace(answer, coordinators=refused, error_code=0 if refused else 30)

    for version in (4, 3):
        state.highest[FIND_COORDINATOR.key] = version
        for broker in cluster.brokers.values():
            broker.close()
        state.faults = [Fault(FIND_COORDINATOR.key, Altered(refuse))]
        (failure,) = alter_offsets(cluster, {ORDERS[0]: Commit(5)}, soon()).failures.values()
        assert (str(failure.scope), failure.name) == ("group billing, orders-0", "GROUP_AUTHORIZATION_FAILED")
    assert state.count(OFFSET_COMMIT.key) == 0
