"""The judge on made-up rows of admin_actions: it accepts what Kafka has by them, and names each kind of violation."""

from dataclasses import replace

import pytest

from tests.proof.alterations import CONFIG, judge_alterations
from tests.proof.evidence import Alteration, Evidence, Run, TopicState

A = "applied-a"
FIRST, SECOND = "run-1", "run-2"


def row(kind: str, outcome: str = "done", at_ms: int = 1, run_id: str = FIRST, **after: object) -> Alteration:
    return Alteration(run_id=run_id, at_ms=at_ms, kind=kind, topic=A, after=after or None, outcome=outcome)


CREATED = row("create_topic", partitions=2, configs={CONFIG: "5000"})
GROWN = row("create_partitions", at_ms=2, run_id=SECOND, partitions=3)
LIMITED = row("alter_configs", at_ms=2, run_id=SECOND, **{CONFIG: None})
DELETED = row("delete_topic", at_ms=3, run_id=SECOND)
GOOD = Evidence(
    alterations=[CREATED, GROWN, LIMITED],
    applied={A: TopicState(3, None)},
    wanted={A: TopicState(3, None)},
    runs=[
        Run(job="apply", exit_code=0, event={"run_id": FIRST, "actions": 1, "done": 1}),
        Run(job="apply", exit_code=0, event={"run_id": SECOND, "actions": 2, "done": 2}),
        Run(job="apply", exit_code=0, event={"run_id": None, "actions": 0, "done": None}),
        Run(job="apply", exit_code=-9),
    ],
)


def kinds(evidence: Evidence) -> list[str]:
    return [finding.kind for finding in judge_alterations(evidence)]


def without_runs(*alterations: Alteration, has: TopicState | None = None) -> Evidence:
    """Return evidence of rows and of what Kafka has in the end."""
    return Evidence(alterations=alterations, applied={A: has} if has else {})


def test_good_rows() -> None:
    """Every action that is done is seen in Kafka, in the order of its row."""
    assert kinds(GOOD) == []
    assert kinds(without_runs(CREATED, DELETED)) == []
    assert (
        kinds(without_runs(CREATED, row("create_partitions", "failed", 2, partitions=9), has=TopicState(2, "5000")))
        == []
    )


@pytest.mark.parametrize("has", [None, TopicState(3, "5000"), TopicState(2, None)])
def test_done_and_not_there(has: TopicState | None) -> None:
    """An action is called done, and Kafka has something else."""
    assert kinds(without_runs(CREATED, GROWN, LIMITED, has=has)) == ["altered"]


def test_failed_and_there() -> None:
    """An action is said to have failed, and Kafka has what it asked for."""
    assert kinds(without_runs(replace(CREATED, outcome="failed"), has=TopicState(2, "5000"))) == ["altered"]


def test_there_without_a_row() -> None:
    """A topic was created, and no row says so."""
    assert kinds(without_runs(has=TopicState(2, "5000"))) == ["altered"]


def test_unknown() -> None:
    """An action whose outcome is unknown may have changed its topic, or change it after the next run."""
    unknown = replace(CREATED, outcome="unknown")
    assert kinds(without_runs(unknown)) == kinds(without_runs(unknown, has=TopicState(2, "5000"))) == []
    assert kinds(without_runs(unknown, DELETED, has=TopicState(2, "5000"))) == []
    assert kinds(without_runs(unknown, has=TopicState(1, "5000"))) == ["altered"]


def test_created_again() -> None:
    """A topic that a row has created is not created by another one, unless it was deleted."""
    again = replace(CREATED, at_ms=9, run_id=SECOND)
    assert kinds(without_runs(CREATED, again, has=TopicState(2, "5000"))) == ["doubled"]
    assert kinds(without_runs(CREATED, DELETED, again, has=TopicState(2, "5000"))) == []


def test_exit_0_although_something_is_not_done() -> None:
    """Exit 0 says that every action has a row that is done."""
    assert kinds(replace(GOOD, alterations=[CREATED, GROWN], applied={A: TopicState(3, "5000")}, wanted=None)) == [
        "silent"
    ]
    unknown = [CREATED, GROWN, replace(LIMITED, outcome="unknown")]
    assert kinds(replace(GOOD, alterations=unknown)) == ["silent"]


def test_other_counts_than_rows() -> None:
    """A run counts as done what its rows count, unless it has said that outcomes could not be written."""
    run = Run(job="apply", exit_code=3, event={"run_id": SECOND, "actions": 3, "done": 3})
    assert kinds(replace(GOOD, runs=[run])) == ["silent"]
    said = replace(run, output="outcomes are missing in table admin_actions: the disk is full")
    assert kinds(replace(GOOD, runs=[said])) == []


def test_exit_0_and_another_state_than_the_file() -> None:
    """After exit 0 Kafka has what the last file says."""
    assert kinds(replace(GOOD, wanted={A: TopicState(4, None)})) == ["altered"]
    assert kinds(replace(GOOD, wanted={})) == ["altered"]
