"""Samples of lag that the times of the load do not allow are found, and rows that are missing."""

from tests.integration.test_lag_bounds import GOOD, TIMES
from tests.proof.differential.lag import judge
from tests.proof.differential.report import Report


def test_what_is_counted() -> None:
    """A true row is no difference."""
    report = Report(1)
    judge([GOOD], TIMES, 3, report)
    assert report.differences == []
    assert report.compared == {"samples of lag": 1, "rows of lag": 1}


def test_a_difference_is_found() -> None:
    """A lag that is too large by one, and a group that has no row."""
    report = Report(1)
    judge([GOOD._replace(lag=3)], TIMES, 3, report)
    judge([], TIMES, 4, report)
    texts = [(one.number, one.text) for one in report.differences]
    assert [number for number, _ in texts] == [3, 4]
    assert texts[0][1].startswith("lag 3 is not between 1 and 2")
    assert texts[1][1] == "no row of [('g', 0)]"
