"""Commits of groups that the target has are kept; what else comes along of a snapshot is tested in integration/test_restore.py."""

from typing import Any, cast

import pytest

from kafka_lagoon.admin.group_offsets import Commit, GroupPartition
from kafka_lagoon.apply.action import Action
from kafka_lagoon.apply.kinds.groups import alter_offsets_action
from kafka_lagoon.restore import saved_state
from kafka_lagoon.restore.request import RestoreRequest
from kafka_lagoon.restore.saved_state import Alterations, commits


def made(monkeypatch: pytest.MonkeyPatch, actions: list[Action], *, into_existing: bool = False) -> Alterations:
    """Return the alterations of a restore for which these actions would commit the offsets."""
    monkeypatch.setattr(saved_state, "saved_commits", lambda *_: [])
    monkeypatch.setattr(saved_state, "offset_actions", lambda *_: (actions, []))
    request = RestoreRequest(from_cluster="old", to_cluster="new", into_existing=into_existing)
    nothing = cast("Any", None)
    return commits(nothing, "s", request, ["t"], {}, nothing, nothing)


def test_commits_of_the_target_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """They are named, unless the restore is into topics that are in use."""
    before = {"committed_offset": 7}
    new, old = (
        alter_offsets_action(GroupPartition("g", "t", number), state, Commit(9))
        for number, state in enumerate((None, before))
    )
    alterations = made(monkeypatch, [new, old])
    assert alterations.actions == [new]
    assert alterations.notes == [
        "group_partition g t-1: has 7 in the target, and would get 9: --into-existing replaces it"
    ]
    assert made(monkeypatch, [new, old], into_existing=True) == Alterations(actions=[new, old], notes=[])


def test_the_time_for_commits_of_the_target_is_linear(monkeypatch: pytest.MonkeyPatch) -> None:
    """No action is compared with others: 10,000 commits took two minutes."""
    compared = list[object]()
    is_equal = Action.__eq__

    def counted(first: Action, second: object) -> bool:
        compared.append(second)
        return is_equal(first, second)

    before = {"committed_offset": 7}
    actions = [alter_offsets_action(GroupPartition(f"g{n}", "t", 0), before, Commit(9)) for n in range(30)]
    monkeypatch.setattr(Action, "__eq__", counted)
    assert len(made(monkeypatch, actions).notes) == len(actions)
    assert not compared
