"""APIs that brokers do not offer, or answer with empty values: every verb that needs them reports it, and exits 3."""

from collections.abc import Callable
from typing import Any

import pytest

from kafka_lagoon.protocol.messages.list_groups import LIST_GROUPS
from kafka_lagoon.protocol.messages.list_offsets import LIST_OFFSETS
from kafka_lagoon.protocol.messages.offset_fetch import OFFSET_FETCH
from tests.cli.kafka.conftest import Ask
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
            group.error_code, group.topics = code, ()
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
