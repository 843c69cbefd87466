"""Histories as values: they are drawn again from their seed, printed and parsed, and shrunk by leaving steps out."""

from inspect import signature

import pytest

from tests.proof.draw import draw
from tests.proof.draw_faults import FAULTS
from tests.proof.history import History, Step
from tests.proof.play.player import VERBS
from tests.proof.shrink import shrunk

NUMBERS = range(200)
_ALWAYS = {"bucket", "topic", "load", "transactions", "ingest", "snapshot", "wait", "jobs_end", "rest"}
_VERBS_OF = {
    "driver": {"kill"},
    "worker": {"kill"},
    "executor": {"kill"},
    "controller": {"broker"},
    "leaders": {"move"},
    "coordinators": {"move_coordinators"},
    "delete": {"delete_records"},
    "rival": _ALWAYS,
    "maintain": {"maintain", "kill"},
    "sink": {"sink", "kill", "broker", "network", "cut_off"},
    "log_dir": {"fail_log_dir"},
    "disk": {"fill_disk"},
    "rewrite": {"rewrite", "repair", "kill"},
    "retain": {"retain", "kill"},
    "apply": {"apply", "drift", "kill", "broker", "network"},
    "restore": {"restore", "kill"},
}


def test_the_text_of_a_history_is_the_history() -> None:
    """The text of every history that is drawn is parsed to an equal value."""
    for number in NUMBERS:
        history = draw(1, number)
        assert History.parse(str(history)) == history


def test_text_with_comments() -> None:
    """Comments and empty lines are no steps; values are numbers where they look like one."""
    parsed = History.parse("# found on Monday\n\nhistory h\n  wait ms=5\nkill job=ingest step=read\n")
    assert parsed == History("h", (Step.of("wait", ms=5), Step.of("kill", job="ingest", step="read")))


def test_text_that_is_no_history() -> None:
    """A file of something else is refused."""
    with pytest.raises(ValueError, match="begins with a line"):
        History.parse("wait ms=5\n")


def test_a_seed_gives_the_same_histories() -> None:
    """The same seed and number give the same history, others give others."""
    drawn = [draw(1, number) for number in NUMBERS]
    assert drawn == [draw(1, number) for number in NUMBERS]
    assert len({history.steps for history in drawn}) == len(drawn)
    assert draw(2, 0).steps != draw(1, 0).steps


def test_every_verb_that_is_drawn_can_be_played() -> None:
    """The options of each step are parameters of the method of its verb; every verb is drawn."""
    steps = [step for number in NUMBERS for step in draw(1, number).steps]
    assert {step.verb for step in steps} == set(VERBS)
    for step in steps:
        signature(VERBS[step.verb]).bind(None, **step.named())


@pytest.mark.parametrize("kind", FAULTS)
def test_faults_of_one_kind(kind: str) -> None:
    """With `--only` a history has faults of that kind, and none of others."""
    verbs = {step.verb for number in range(20) for step in draw(3, number, kind).steps}
    assert verbs - _ALWAYS <= _VERBS_OF.get(kind, {kind})
    assert verbs & _VERBS_OF.get(kind, {kind})


def test_histories_with_deaths() -> None:
    """Each round has deaths of a worker, a broker and drivers; its topics are those of the history without them."""
    for number in range(20):
        steps, others = draw(1, number, with_deaths=True).steps, draw(1, number).steps
        killed = [(step.named()["job"], step.named()["whom"]) for step in steps if step.verb == "kill"]
        assert killed.count(("ingest", "worker")) >= 2
        assert sum(whom == "group" for _, whom in killed) >= 4
        assert sum(step.verb == "broker" and step.named()["action"] == "kill" for step in steps) >= 2
        assert [step for step in steps if step.verb == "topic"] == [step for step in others if step.verb == "topic"]
        for step in steps:
            signature(VERBS[step.verb]).bind(None, **step.named())


def test_a_failing_history_is_shrunk_to_the_steps_that_matter() -> None:
    """Steps are left out while the rest fails; the order of those that stay is kept."""
    history = draw(1, 7)
    needed = (history.steps[2], history.steps[-2])
    played: list[History] = []

    def fails(shorter: History) -> bool:
        played.append(shorter)
        return all(step in shorter.steps for step in needed)

    shortest = shrunk(history, fails, tries=200)
    assert shortest.steps == needed
    assert len(played) < 100


def test_shrinking_ends() -> None:
    """After so many tries the shortest history that was seen to fail is the result."""
    history = draw(1, 7)
    assert shrunk(history, lambda _: False, tries=3) == history
    assert len(shrunk(history, lambda shorter: len(shorter.steps) > 4, tries=1).steps) < len(history.steps)
