"""Actions about stored offsets of groups."""

from dataclasses import replace
from typing import Any

import pytest

from kafka_lagoon.admin.group_offsets import Commit, GroupPartition
from kafka_lagoon.admin.groups import list_groups
from kafka_lagoon.admin.share_groups import GroupTopic
from kafka_lagoon.apply.kinds.groups import (
    ALTER_SHARE_OFFSETS,
    GroupCommits,
    alter_offsets_action,
    alter_share_offsets_action,
    delete_group_action,
    delete_offsets_action,
    delete_share_offsets_action,
    group_partition_resource,
    group_state,
    parse_group_partition,
    parse_group_topic,
    read_commits,
    read_share_offsets,
    share_topic_resource,
    share_topic_states,
)
from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.client.failures import Failure, Scope, own_failure
from kafka_lagoon.errors import PlanOutdated
from kafka_lagoon.protocol.messages.list_groups import LIST_GROUPS
from kafka_lagoon.protocol.messages.offset_commit import OFFSET_COMMIT
from kafka_lagoon.protocol.messages.offset_fetch import OFFSET_FETCH
from tests.admin.conftest import soon
from tests.admin.test_share_groups import topic
from tests.apply.kinds.conftest import CarryOut
from tests.comparisons import Comparisons
from tests.fake.cluster import FakeCluster, FakeCommit, FakeGroup
from tests.fake.faults import Altered, Close, Fault

pytestmark = pytest.mark.usefixtures("altering_apis")
ITEM = GroupPartition("my billing", "orders", 0)


def test_names_are_read_back() -> None:
    """A group's id may have blanks, a topic's name dashes."""
    for item in (ITEM, GroupPartition("a b-1", "x-2.y", 7)):
        assert parse_group_partition(group_partition_resource(item).name) == item
    assert parse_group_topic(share_topic_resource(GroupTopic("a b", "x-2")).name) == GroupTopic("a b", "x-2")


@pytest.fixture
def group(state: FakeCluster) -> FakeGroup:
    """A group with one commit."""
    state.groups = {ITEM.group_id: FakeGroup(coordinator_id=2, commits={("orders", 0): FakeCommit(5)})}
    return state.groups[ITEM.group_id]


def test_commits_are_set_and_forgotten(group: FakeGroup, carry_out: CarryOut) -> None:
    """Offsets are set and deleted for partitions with and without a commit; 0 is an offset, and an epoch."""
    other = ITEM._replace(partition=1)
    by_hand = {"committed_offset": 0, "leader_epoch": 0, "metadata": "by hand"}
    actions = [
        alter_offsets_action(ITEM, {"committed_offset": 5}, Commit(9)),
        alter_offsets_action(other, None, Commit(0, 0, "by hand")),
    ]
    assert actions[1].after == by_hand
    assert [result.outcome for result in carry_out(actions).results] == ["done", "done"]
    assert {one: commit.offset for one, commit in group.commits.items()} == {("orders", 0): 9, ("orders", 1): 0}
    carry_out([delete_offsets_action(ITEM, {"committed_offset": 9})])
    assert set(group.commits) == {("orders", 1)}
    carry_out([delete_offsets_action(other, by_hand)])  # would be refused if it were not what the group has
    assert group.commits == {}


def test_a_commit_of_meanwhile_is_not_overwritten(group: FakeGroup, carry_out: CarryOut) -> None:
    """After a newer commit the plan is refused, and nothing is sent."""
    group.commits["orders", 0] = FakeCommit(7)
    with pytest.raises(PlanOutdated, match="7"):
        carry_out([alter_offsets_action(ITEM, {"committed_offset": 5}, Commit(9))])
    assert group.commits["orders", 0].offset == 7


@pytest.mark.parametrize(("is_applied", "outcome"), [(True, "done"), (False, "unknown")])
def test_a_timeout_is_decided_by_the_commit(
    state: FakeCluster,
    group: FakeGroup,
    carry_out: CarryOut,
    is_applied: bool,
    outcome: str,
) -> None:
    """A request that was carried out is done, although the broker answers REQUEST_TIMED_OUT; it is not sent again."""

    def time_out(answer: Any) -> Any:
        if not is_applied:
            group.commits["orders", 0] = FakeCommit(5)
        (some,) = answer.topics
        partitions = tuple(replace(one, error_code=7) for one in some.partitions)
        return replace(answer, topics=(replace(some, partitions=partitions),))

    state.faults = [Fault(OFFSET_COMMIT.key, Altered(time_out))]
    (result,) = carry_out([alter_offsets_action(ITEM, {"committed_offset": 5}, Commit(9))]).results
    assert (result.outcome, state.count(OFFSET_COMMIT.key)) == (outcome, 1)


def test_a_lost_connection_is_decided_by_the_commit(state: FakeCluster, group: FakeGroup, carry_out: CarryOut) -> None:
    """The broker had carried the request out before the connection ended."""
    state.faults = [Fault(OFFSET_COMMIT.key, Close())]
    (result,) = carry_out([alter_offsets_action(ITEM, {"committed_offset": 5}, Commit(9))]).results
    assert (result.outcome, state.count(OFFSET_COMMIT.key)) == ("done", 1)
    assert group.commits["orders", 0].offset == 9


def test_groups_of_brokers_that_do_not_answer(state: FakeCluster, group: FakeGroup, cluster: Cluster) -> None:
    """An unlisted group may belong to these brokers, so neither its existence nor its commits are known."""
    assert group.commits
    listings = list_groups(cluster, soon())
    assert read_commits(cluster, listings, ["my billing", "gone"], soon()).of(ITEM) == {"committed_offset": 5}
    assert read_commits(cluster, listings, ["gone"], soon()).of(ITEM._replace(group_id="gone")) is None
    assert group_state(listings, "my billing") == {"state": "Empty", "type": "classic"}
    assert group_state(listings, "gone") is None
    state.faults = [Fault(LIST_GROUPS.key, Altered(_refused), node_id=3, times=2)]
    partly = list_groups(cluster, soon())
    assert isinstance(group_state(partly, "gone"), Failure)
    assert isinstance(read_commits(cluster, partly, ["gone"], soon()).of(ITEM._replace(group_id="gone")), Failure)


def _refused(answer: Any) -> Any:
    return replace(answer, error_code=31)


def test_a_commit_that_a_transaction_is_about_to_replace(
    state: FakeCluster, group: FakeGroup, cluster: Cluster
) -> None:
    """It is the commit of now. If that is not returned it is not known, which does not mean that nothing is stored."""
    group.commits["orders", 0] = FakeCommit(5, pending=True)
    listings, other = list_groups(cluster, soon()), ITEM._replace(partition=1)
    assert read_commits(cluster, listings, [ITEM.group_id], soon()).of(ITEM) == {"committed_offset": 5}
    state.faults = [Fault(OFFSET_FETCH.key, Altered(_stable_only), times=2)]
    unknown = read_commits(cluster, listings, [ITEM.group_id], soon())
    failure = unknown.of(ITEM)
    assert isinstance(failure, Failure)
    assert failure.name == "UNSTABLE_OFFSET_COMMIT"
    assert unknown.of(other) is None


def _stable_only(answer: Any) -> Any:
    """Refuse the request for what is committed now; that for stable commits comes before it."""
    codes = {
        partition.error_code for group in answer.groups for topic in group.topics for partition in topic.partitions
    }
    return answer if any(codes) else replace(answer, groups=tuple(replace(one, error_code=30) for one in answer.groups))


def test_groups_are_deleted(state: FakeCluster, group: FakeGroup, carry_out: CarryOut) -> None:
    """Groups are deleted unless their state has changed since the plan."""
    assert group.state == "Empty"
    carry_out([delete_group_action("my billing", {"state": "Empty", "type": "classic"})])
    assert state.groups == {}


def test_share_groups(state: FakeCluster, cluster: Cluster, carry_out: CarryOut) -> None:
    """States of share groups are start offsets by partition; deletions are by topic."""
    state.groups = {"queue": FakeGroup(coordinator_id=1, group_type="share", share_topics=(topic(0, 29),))}
    offsets = read_share_offsets(cluster, list_groups(cluster, soon()), ["queue"], soon())
    first, second = (GroupPartition("queue", "orders", partition) for partition in (0, 1))
    assert offsets.of(first) == {"start_offset": 5}
    assert isinstance(offsets.of(second), Failure)
    item = GroupTopic("queue", "orders")
    assert isinstance(share_topic_states(offsets, [item])[item], Failure)
    state.groups["queue"].share_topics = (topic(0, 0),)
    (result,) = carry_out([alter_share_offsets_action(first, {"start_offset": 5}, 3)]).results
    assert result.outcome == "done"
    both = {"start_offsets": {"0": 5, "1": 5}}
    (result,) = carry_out([delete_share_offsets_action(GroupTopic("queue", "orders"), both)]).results
    assert result.outcome == "done"


def test_a_topic_that_a_share_group_has_not_read_can_be_deleted(
    state: FakeCluster, cluster: Cluster, carry_out: CarryOut
) -> None:
    """The group knows its partitions, one of which has no start offset yet."""
    first, second = topic(0, 0).partitions
    unread = replace(topic(0), partitions=(replace(first, start_offset=-1), replace(second, start_offset=0)))
    state.groups = {"queue": FakeGroup(coordinator_id=1, group_type="share", share_topics=(unread,))}
    item = GroupTopic("queue", "orders")
    offsets = read_share_offsets(cluster, list_groups(cluster, soon()), ["queue"], soon())
    assert offsets.of(GroupPartition("queue", "orders", 0)) is None
    before = share_topic_states(offsets, [item])[item]
    assert before == {"start_offsets": {"0": None, "1": 0}}
    (result,) = carry_out([delete_share_offsets_action(item, before)]).results
    assert result.outcome == "done"


def test_an_unanswered_reset_to_the_same_start_offset_is_not_known() -> None:
    """The state is the same whether or not records after the start offset are delivered again."""
    item, five, seven = GroupPartition("queue", "orders", 0), {"start_offset": 5}, {"start_offset": 7}
    same, other = (alter_share_offsets_action(item, five, offset) for offset in (5, 7))
    assert not ALTER_SHARE_OFFSETS.is_done(same, five)
    assert not ALTER_SHARE_OFFSETS.is_done(other, five)
    assert ALTER_SHARE_OFFSETS.is_done(other, seven)


def state_of(commits: GroupCommits, item: GroupTopic) -> object:
    return share_topic_states(commits, [item])[item]


def test_the_time_for_topics_of_share_groups_is_linear() -> None:
    """Each topic of each group was compared with each partition of all of them."""
    compared = Comparisons()
    groups = [compared.counting(f"g{number}") for number in range(40)]
    stored = {GroupPartition(group, "orders", 0): {"start_offset": 1} for group in groups}
    items = [GroupTopic(str(group), "orders") for group in groups]
    results = list[Any]()
    assert compared.during(lambda: results.append(share_topic_states(GroupCommits(stored, {}), items))) < 25 * len(
        groups
    )
    assert list(results[0].values()) == [{"start_offsets": {"0": 1}}] * len(items)


def test_failures_of_share_groups_are_those_of_their_topics() -> None:
    """A group that cannot be read fails for all of its topics, a partition for its own topic."""
    item, refused = GroupTopic("g", "orders"), own_failure("X", Scope.group("g"), "X")
    partition = GroupPartition("g", "orders", 0)
    assert state_of(GroupCommits({}, {"g": refused}), item) is refused
    assert state_of(GroupCommits({}, {partition: refused}), item) is refused
    others = {"h": refused, partition._replace(topic="other"): refused, partition._replace(group_id="h"): refused}
    assert state_of(GroupCommits({}, others), item) is None
    stored = {partition._replace(partition=number): {"start_offset": number} for number in (10, 9)}
    theirs = {partition._replace(topic="other"): {"start_offset": 1}}
    assert state_of(GroupCommits({**stored, **theirs}, {}), item) == {"start_offsets": {"9": 9, "10": 10}}
