"""APIs that brokers do not offer, or answer with empty values: every verb that needs them reports it, and exits 3."""

from collections.abc import Callable
from typing import Any

import pytest

from kafka_lagoon.protocol.messages.consumer_group_describe import CONSUMER_GROUP_DESCRIBE
from kafka_lagoon.protocol.messages.describe_share_group_offsets import DESCRIBE_SHARE_GROUP_OFFSETS
from kafka_lagoon.protocol.messages.list_groups import LIST_GROUPS
from kafka_lagoon.protocol.messages.list_offsets import LIST_OFFSETS
from kafka_lagoon.protocol.messages.offset_fetch import OFFSET_FETCH
from kafka_lagoon.protocol.messages.share_group_describe import (
    SHARE_GROUP_DESCRIBE,
    DescribedShareGroup,
    ShareGroupDescribeResponse,
)
from kafka_lagoon.wire.schema import Api
from tests.cli.kafka.conftest import Ask
from tests.fake.acls import OF_SOMEBODY
from tests.fake.answers import SPOKEN
from tests.fake.cluster import FakeCluster, FakeCommit, FakeGroup
from tests.fake.faults import Altered, Fault

LIMIT = ("lag", "--fail-above", "lag=100000000")


@pytest.fixture
def state(state: FakeCluster) -> FakeCluster:
    """With a group that has committed."""
    state.groups["reader"] = FakeGroup(2, {("orders", 0): FakeCommit(90), ("orders", 1): FakeCommit(100)})
    return state


@pytest.mark.parametrize("verb", [LIMIT, ("lag",), ("groups",), ("describe-group",)])
@pytest.mark.parametrize("nodes", [(1, 2, 3), (2,)])
def test_no_list_of_groups(state: FakeCluster, ask: Ask, verb: tuple[str, ...], nodes: tuple[int, ...]) -> None:
    """If some or all brokers do not list groups, it is not known that the list is complete."""
    state.missing = {node: {LIST_GROUPS.key} for node in nodes}
    shown = ask(*verb)
    assert shown.code == 3
    assert "ListGroups: UNSUPPORTED_VERSION" in shown.err


def _code(code: int) -> Callable[[Any], Any]:
    def change(answer: Any) -> Any:
        for group in answer.groups:
            group.error_code = code
            if hasattr(group, "topics"):
                group.topics = ()
        return answer

    return change


@pytest.mark.parametrize("code", [None, 35])
def test_no_commits(state: FakeCluster, ask: Ask, code: int | None) -> None:
    """The group has a row with the reason for its unknown values."""
    if code is None:
        state.missing = {node: {OFFSET_FETCH.key} for node in (1, 2, 3)}
    else:
        state.highest[OFFSET_FETCH.key] = 9
        state.faults.append(Fault(OFFSET_FETCH.key, Altered(_refuse_everything), times=1_000))
    shown = ask(*LIMIT, "--json")
    (group,) = shown.rows("group")
    assert (group["partitions"], group["lag"], group["problem"]) == (0, None, "UNSUPPORTED_VERSION")
    assert shown.code == 3
    assert "group reader: OffsetFetch" in shown.err


def _refuse_everything(answer: Any) -> Any:
    answer.error_code, answer.topics = 35, ()
    return _code(35)(answer)


@pytest.mark.parametrize(
    ("api", "group_type"), [(CONSUMER_GROUP_DESCRIBE, "consumer"), (DESCRIBE_SHARE_GROUP_OFFSETS, "share")]
)
def test_a_listed_group_of_an_unsupported_version(
    state: FakeCluster, ask: Ask, monkeypatch: pytest.MonkeyPatch, api: Api[Any, Any], group_type: str
) -> None:
    """The row of a group has the reason, if its coordinator lists it, offers the API, and does not answer."""
    monkeypatch.setitem(SPOKEN, SHARE_GROUP_DESCRIBE.key, (SHARE_GROUP_DESCRIBE, _share_groups))
    state.groups["new"] = FakeGroup(3, group_type=group_type, state="Stable")
    state.faults.append(Fault(api.key, Altered(_code(35)), times=1_000))
    shown = ask("lag", "new", "--json")
    (group,) = shown.rows("group")
    assert (group["partitions"], group["lag"], group["problem"]) == (0, None, "UNSUPPORTED_VERSION")
    assert shown.code == 3
    assert shown.err == f"lagoon: group new: {api.name} of broker 3: UNSUPPORTED_VERSION\n"


def _share_groups(_state: FakeCluster, _node: int, _version: int, request: Any) -> ShareGroupDescribeResponse:
    """Describe groups without members."""
    groups = (
        DescribedShareGroup(
            error_code=0,
            group_id=group_id,
            group_state="Empty",
            group_epoch=1,
            assignment_epoch=1,
            assignor_name="simple",
            members=(),
        )
        for group_id in request.group_ids
    )
    return ShareGroupDescribeResponse(groups=tuple(groups))


def test_no_offsets(state: FakeCluster, ask: Ask) -> None:
    """A leader that returns -1 for start and end of every log."""

    def change(answer: Any) -> Any:
        for topic in answer.topics:
            for partition in topic.partitions:
                partition.offset = -1
        return answer

    state.faults.append(Fault(LIST_OFFSETS.key, Altered(change), times=1_000))
    for verb in (LIMIT, ("offsets",)):
        shown = ask(*verb)
        assert shown.code == 3
        assert (
            "ListOffsets: OFFSET_NOT_RETURNED (the leader says that there is none, and every log has one)" in shown.err
        )


def test_limits_on_lists_that_brokers_may_have_hidden(state: FakeCluster, ask: Ask) -> None:
    """A user who is shown no group, or no topic, does not know that limits are kept; a part of a list may be on purpose."""
    state.cluster_operations, state.acls = 0, (OF_SOMEBODY,)
    assert ask(*LIMIT).code == 0
    state.groups.clear()
    shown = ask(*LIMIT)
    assert "lagoon: no group is visible, so no limit is known to be kept\n" in shown.err
    assert shown.code == 3
    assert ask("lag").code == 0
    state.topics.clear()
    for limit in (("--fail-above", "leaderless"), ("--fail", "leaderless")):
        shown = ask("health", *limit)
        assert "lagoon: no topic is visible, so no limit is known to be kept\n" in shown.err
        assert shown.code == 3
    assert ask("health").code == 0
    state.groups["reader"] = FakeGroup(2, {})
    assert "lagoon: no topic is visible, so no limit is known to be kept\n" in ask(*LIMIT).err


def test_limits_on_lists_that_are_empty(state: FakeCluster, ask: Ask) -> None:
    """A user with all permissions sees that there is nothing, which keeps every limit."""
    state.groups.clear()
    state.topics.clear()
    assert (ask(*LIMIT).code, ask("health", "--fail-above", "leaderless").code) == (0, 0)
