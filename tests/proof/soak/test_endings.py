"""Exit codes are violations unless they are documented and something explains them."""

import pytest

from tests.proof.soak.bounds import RECOVERS_WITHIN_MS, Period
from tests.proof.soak.endings import Ending, problem

RUN = Period(100_000, 110_000)
DURING, BEFORE = Period(105_000, 106_000), Period(90_000, 95_000)
LONG_BEFORE, AFTER = Period(0, 100_000 - RECOVERS_WITHIN_MS - 1), Period(110_001, 120_000)


@pytest.mark.parametrize("fault", [DURING, BEFORE])
@pytest.mark.parametrize("code", [0, 1, 3, 4])
def test_documented_codes_beside_faults(code: int, fault: Period) -> None:
    """A run may fail, be incomplete, or find a lock held where a fault explains it."""
    assert problem(Ending(job="ingest", exit_code=code, period=RUN), [fault]) is None


@pytest.mark.parametrize(("code", "is_wrong"), [(0, False), (1, True), (3, False), (4, True)])
def test_nothing_disturbs(code: int, is_wrong: bool) -> None:
    """Without a fault a run may lack records that retention has removed, and nothing else."""
    ending = Ending(job="ingest", exit_code=code, period=RUN)
    assert (problem(ending, [LONG_BEFORE, AFTER]) is not None) is is_wrong


@pytest.mark.parametrize("code", [2, 5, 130, 134, 137, -6, -9, -11])
def test_other_codes(code: int) -> None:
    """No fault explains a code that is not documented, or a death that is not of the faults."""
    assert problem(Ending(job="snapshot", exit_code=code, period=RUN), [DURING])


def test_killed() -> None:
    """A job that a fault has killed may have died by that signal, and by no other; it must end."""
    assert problem(Ending(job="ingest", exit_code=-9, period=RUN, is_signalled=True), []) is None
    assert problem(Ending(job="ingest", exit_code=1, period=RUN, is_signalled=True), []) is None
    assert problem(Ending(job="ingest", exit_code=-11, period=RUN, is_signalled=True), [])
    assert problem(Ending(job="ingest", exit_code=-9, period=RUN, is_signalled=True, has_ended=False), [])


def test_a_restored_topic_that_differs() -> None:
    """No fault explains that the archive and what was restored of it differ."""
    assert problem(Ending(job="compare of a growing topic", exit_code=3, period=RUN), [DURING])
    assert problem(Ending(job="compare", exit_code=1, period=RUN), [DURING]) is None
