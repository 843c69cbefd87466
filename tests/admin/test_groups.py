"""Groups of fake coordinators, listed and described."""

from collections.abc import Callable
from typing import Any

import pytest

from kafka_lagoon.admin.authorized_operations import group_operations
from kafka_lagoon.admin.groups import delete_groups, describe_groups, list_groups
from kafka_lagoon.admin.transactions import list_transactions
from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.protocol.acls import NOT_ASKED
from kafka_lagoon.protocol.error_codes import GROUP_ID_NOT_FOUND
from kafka_lagoon.protocol.messages.consumer_group_describe import (
    CONSUMER_GROUP_DESCRIBE,
    ConsumerGroupAssignment,
    ConsumerGroupTopicPartitions,
    DescribedConsumerGroup,
)
from kafka_lagoon.protocol.messages.describe_groups import DESCRIBE_GROUPS, DescribedGroup
from kafka_lagoon.protocol.messages.find_coordinator import FIND_COORDINATOR
from kafka_lagoon.protocol.messages.list_groups import LIST_GROUPS
from kafka_lagoon.protocol.messages.streams_group_describe import (
    STREAMS_GROUP_DESCRIBE,
    DescribedStreamsGroup,
    DescribedStreamsMember,
    DescribedSubtopology,
    DescribedTaskAssignment,
    DescribedTaskIds,
    DescribedTopology,
    StreamsGroupDescribeResponse,
)
from tests.admin.conftest import soon
from tests.fake.answers import SPOKEN
from tests.fake.cluster import FakeCluster, FakeGroup, FakeMember
from tests.fake.faults import Altered, Fault


def test_each_type_is_described_by_its_api(state: FakeCluster, cluster: Cluster) -> None:
    """DescribeGroups would call a live KIP-848 group Dead, without an error."""
    state.groups = {
        "classic": FakeGroup(coordinator_id=1, state="Stable"),
        "consumer": FakeGroup(coordinator_id=2, group_type="consumer", state="Stable"),
    }
    listings = list_groups(cluster, soon())
    assert {group_id: one.group_type for group_id, one in listings.groups.items()} == {
        "classic": "classic",
        "consumer": "consumer",
    }
    described = describe_groups(cluster, listings.groups, soon())
    assert isinstance(described.descriptions["classic"], DescribedGroup)
    assert isinstance(described.descriptions["consumer"], DescribedConsumerGroup)
    assert described.coordinator_ids == {"classic": 1, "consumer": 2}
    assert not described.failures
    assert (state.count(DESCRIBE_GROUPS.key), state.count(CONSUMER_GROUP_DESCRIBE.key)) == (1, 1)


def test_the_broker_that_listed_a_group_is_its_coordinator(state: FakeCluster, cluster: Cluster) -> None:
    """FindCoordinator may create the offsets topic, so it is sent only if a group has moved."""
    state.groups = {"g": FakeGroup(coordinator_id=1)}
    groups = list_groups(cluster, soon()).groups
    describe_groups(cluster, groups, soon())
    assert state.count(FIND_COORDINATOR.key) == 0
    state.groups["g"].coordinator_id = 3
    described = describe_groups(cluster, groups, soon())
    assert described.coordinator_ids == {"g": 3}
    assert state.count(FIND_COORDINATOR.key) == 1


def test_groups_of_a_type_that_the_brokers_cannot_describe(state: FakeCluster, cluster: Cluster) -> None:
    """Descriptions that fail are failures of their groups, and hide no other group."""
    state.groups = {"s": FakeGroup(coordinator_id=2, group_type="share"), "g": FakeGroup(coordinator_id=1)}
    described = describe_groups(cluster, list_groups(cluster, soon()).groups, soon())
    assert set(described.descriptions) == {"g"}
    assert {group_id: failure.name for group_id, failure in described.failures.items()} == {"s": "UNSUPPORTED_VERSION"}
    assert described.coordinator_ids["s"] == 2


def test_groups_of_a_broker_that_fails_are_looked_for_again(state: FakeCluster, cluster: Cluster) -> None:
    """Another broker takes over its groups; the failure stays, because it is not known that all groups were taken over."""

    def refuse(response: Any) -> Any:
        response.error_code = 31
        return response

    state.groups = {"a": FakeGroup(coordinator_id=1), "b": FakeGroup(coordinator_id=2)}
    state.faults = [Fault(LIST_GROUPS.key, Altered(refuse), node_id=2, times=9)]
    listings = list_groups(cluster, soon())
    assert set(listings.groups) == {"a"}
    assert [str(failure.scope) for failure in listings.failures] == ["broker 2"]
    assert sum(1 for node, key, _ in state.requests if (node, key) == (1, LIST_GROUPS.key)) == 2


def test_groups_of_a_broker_that_has_just_left(
    state: FakeCluster, cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Metadata names it no more, and who takes over lists nothing of it at first: the list is not complete for a minute."""
    state.groups = {"a": FakeGroup(coordinator_id=1), "b": FakeGroup(coordinator_id=2)}
    del state.addresses[2]
    listings = list_groups(cluster, soon())
    assert set(listings.groups) == {"a"}
    assert [(str(failure.scope), failure.name) for failure in listings.failures] == [
        ("broker 2", "BROKER_NOT_AVAILABLE")
    ]
    assert list(list_transactions(cluster, soon()).failures) == [2]
    monkeypatch.setattr("kafka_lagoon.client.cluster._TAKING_OVER_S", -1)
    assert not list_groups(cluster, soon()).failures


@pytest.mark.parametrize(
    ("listed", "live"),
    [("classic", "consumer"), ("classic", "streams"), ("consumer", "classic"), ("streams", "classic")],
)
def test_a_group_that_is_migrated_after_it_was_listed(
    state: FakeCluster, connect: Callable[[], Cluster], monkeypatch: pytest.MonkeyPatch, listed: str, live: str
) -> None:
    """The group no longer exists under its listed type: it was migrated to another type, and is described by that."""
    monkeypatch.setitem(SPOKEN, STREAMS_GROUP_DESCRIBE.key, (STREAMS_GROUP_DESCRIBE, _streams_groups))
    cluster = connect()
    state.groups = {"g": FakeGroup(coordinator_id=1, group_type=listed, state="Stable")}
    groups = list_groups(cluster, soon()).groups
    state.groups["g"].group_type = live
    if live != "consumer":
        refuse_all(state, CONSUMER_GROUP_DESCRIBE)
    described = describe_groups(cluster, groups, soon())
    assert (described.descriptions["g"].group_state, described.migrated["g"].group_type) == ("Stable", live)
    assert not described.failures


def _streams_groups(state: FakeCluster, _node: int, _version: int, request: Any) -> StreamsGroupDescribeResponse:
    """Describe streams groups, and refuse groups of other types."""
    groups = (
        DescribedStreamsGroup(
            error_code=0 if state.groups[group_id].group_type == "streams" else GROUP_ID_NOT_FOUND,
            error_message=None,
            group_id=group_id,
            group_state="Stable",
            group_epoch=1,
            assignment_epoch=1,
            topology=None,
            members=(),
        )
        for group_id in request.group_ids
    )
    return StreamsGroupDescribeResponse(groups=tuple(groups))


def refuse_all(state: FakeCluster, api: Any) -> None:
    """Brokers that have no group of the type that an API describes."""

    def refuse(response: Any) -> Any:
        for group in response.groups:
            group.error_code = 69
        return response

    state.faults = [Fault(api.key, Altered(refuse), times=9)]


def test_a_group_that_is_gone_after_it_was_listed(state: FakeCluster, cluster: Cluster) -> None:
    """The group exists under no type; each type is requested once."""
    state.groups = {"g": FakeGroup(coordinator_id=1, state="Stable")}
    groups = list_groups(cluster, soon()).groups
    state.groups = {}
    described = describe_groups(cluster, groups, soon())
    assert {group_id: failure.name for group_id, failure in described.failures.items()} == {"g": "GROUP_ID_NOT_FOUND"}
    assert not described.migrated
    assert (state.count(DESCRIBE_GROUPS.key), state.count(CONSUMER_GROUP_DESCRIBE.key)) == (1, 1)


@pytest.mark.usefixtures("altering_apis")
def test_delete_groups_that_are_empty(state: FakeCluster, cluster: Cluster) -> None:
    """Non-empty and missing groups are failures of their own."""
    state.groups = {
        "empty": FakeGroup(coordinator_id=1),
        "busy": FakeGroup(coordinator_id=1, members=[FakeMember("m")]),
        "gone": FakeGroup(coordinator_id=2),
    }
    list_groups(cluster, soon())
    del state.groups["gone"]
    gathered = delete_groups(cluster, ["empty", "busy", "gone"], soon())
    assert set(gathered.answers) == {"empty"}
    assert set(state.groups) == {"busy"}
    assert {group_id: failure.name for group_id, failure in gathered.failures.items()} == {
        "busy": "NON_EMPTY_GROUP",
        "gone": "GROUP_ID_NOT_FOUND",
    }
    assert gathered.failures["busy"].message == "the group has members: stop them first"


def test_brokers_before_authorized_operations_of_groups(state: FakeCluster, connect: Callable[[], Cluster]) -> None:
    """DescribeGroups has authorized operations from v3 on; before they are unknown, which is not a refusal."""
    state.groups["old"] = FakeGroup(1)
    state.highest[DESCRIBE_GROUPS.key] = 2
    cluster = connect()
    listed = list_groups(cluster, soon()).groups
    operations, refused = group_operations(cluster, listed, soon())
    assert (operations["old"], refused) == (NOT_ASKED, {})


@pytest.mark.parametrize("partitions", [((0, 1, 1),), ((0,), (1,))])
def test_an_assignment_that_has_something_twice(
    state: FakeCluster, cluster: Cluster, partitions: tuple[tuple[int, ...], ...]
) -> None:
    """A topic or a partition that a member is assigned twice is a contradiction, and nothing of the group is believed."""

    def twice(response: Any) -> Any:
        (member,) = response.groups[0].members
        owned = [
            ConsumerGroupTopicPartitions(topic_id=b"1" * 16, topic_name="t", partitions=some) for some in partitions
        ]
        member.assignment = ConsumerGroupAssignment(topic_partitions=tuple(owned))
        return response

    state.groups = {"g": FakeGroup(1, {}, [FakeMember("m", ("orders",), {"orders": (0,)})], "consumer", state="Stable")}
    state.faults = [Fault(CONSUMER_GROUP_DESCRIBE.key, Altered(twice), times=1_000)]
    described = describe_groups(cluster, list_groups(cluster, soon()).groups, soon())
    assert not described.descriptions
    assert described.failures["g"].name == "PROTOCOL_ERROR"


@pytest.mark.parametrize("kind", ["active_tasks", "standby_tasks", "warmup_tasks"])
@pytest.mark.parametrize("partitions", [((0, 1, 1),), ((0,), (1,))])
def test_tasks_that_a_member_has_twice(
    state: FakeCluster,
    connect: Callable[[], Cluster],
    monkeypatch: pytest.MonkeyPatch,
    kind: str,
    partitions: tuple[tuple[int, ...], ...],
) -> None:
    """The same of tasks, which members of streams groups are assigned instead of partitions."""
    twice = tuple(DescribedTaskIds(subtopology_id="0", partitions=some) for some in partitions)
    member = _streams_member(target_assignment={kind: twice})

    def answer(*request: Any) -> StreamsGroupDescribeResponse:
        response = _streams_groups(*request)
        response.groups[0].members = (member,)
        return response

    monkeypatch.setitem(SPOKEN, STREAMS_GROUP_DESCRIBE.key, (STREAMS_GROUP_DESCRIBE, answer))
    cluster = connect()
    state.groups = {"g": FakeGroup(coordinator_id=1, group_type="streams", state="Stable")}
    described = describe_groups(cluster, list_groups(cluster, soon()).groups, soon())
    assert {group_id: failure.name for group_id, failure in described.failures.items()} == {"g": "PROTOCOL_ERROR"}


@pytest.mark.parametrize(
    ("subtopologies", "state_of_group", "reason"),
    [
        ((("0", ["a"]),), "Stable", None),
        ((("1", ["a"]),), "Stable", "tasks of subtopologies that the topology does not have"),
        (None, "Stable", "tasks of subtopologies that the topology does not have"),
        (None, "NotReady", None),
        ((("1", ["a"]),), "Assigning", None),
        ((("0", ["a", "a"]),), "Assigning", "the answer has it twice"),
        ((("0", ["a"]), ("0", ["b"])), "Assigning", "the answer has it twice"),
    ],
)
def test_a_topology_that_contradicts_its_group(
    state: FakeCluster,
    connect: Callable[[], Cluster],
    monkeypatch: pytest.MonkeyPatch,
    subtopologies: tuple[tuple[str, list[str]], ...] | None,
    state_of_group: str,
    reason: str | None,
) -> None:
    """Tasks of a stable group belong to subtopologies that it has. While a topology changes, tasks may be of an older one."""
    tasks = (DescribedTaskIds(subtopology_id="0", partitions=(0, 1)),)
    member = _streams_member(assignment={"active_tasks": tasks})
    parts = None if subtopologies is None else tuple(_subtopology(*one) for one in subtopologies)

    def answer(*request: Any) -> StreamsGroupDescribeResponse:
        response = _streams_groups(*request)
        (group,) = response.groups
        group.members, group.group_state = (member,), state_of_group
        group.topology = DescribedTopology(epoch=0, subtopologies=parts)
        return response

    monkeypatch.setitem(SPOKEN, STREAMS_GROUP_DESCRIBE.key, (STREAMS_GROUP_DESCRIBE, answer))
    cluster = connect()
    state.groups = {"g": FakeGroup(coordinator_id=1, group_type="streams", state=state_of_group)}
    described = describe_groups(cluster, list_groups(cluster, soon()).groups, soon())
    assert set(described.failures) == ({"g"} if reason else set())
    assert (reason or "") in "".join(str(failure.message) for failure in described.failures.values())


def _streams_member(**assignments: dict[str, Any]) -> DescribedStreamsMember:
    none: dict[str, Any] = dict.fromkeys(("active_tasks", "standby_tasks", "warmup_tasks"), ())
    return DescribedStreamsMember(
        member_id="m",
        member_epoch=1,
        client_id="c",
        client_host="/127.0.0.1",
        topology_epoch=0,
        process_id="p",
        client_tags=(),
        task_offsets=(),
        task_end_offsets=(),
        assignment=DescribedTaskAssignment(**none | assignments.get("assignment", {})),
        target_assignment=DescribedTaskAssignment(**none | assignments.get("target_assignment", {})),
        is_classic=False,
    )


def _subtopology(subtopology_id: str, topics: list[str]) -> DescribedSubtopology:
    return DescribedSubtopology(
        subtopology_id=subtopology_id,
        source_topics=tuple(topics),
        repartition_sink_topics=(),
        state_changelog_topics=(),
        repartition_source_topics=(),
    )
