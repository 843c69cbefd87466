"""A snapshot is late when one that should have followed is missing. How far back commands read is in cli/tables/test_reach.py."""

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import cast

import pytest

from kafka_lagoon.query.history import is_ahead, late_after_ms, open_until, usual_interval_ms, windows
from kafka_lagoon.query.statements import Ask
from kafka_lagoon.query.window import Newest, Span, Window

MINUTE_MS, HOUR_MS, DAY_MS = 60_000, 3_600_000, 86_400_000


@pytest.mark.parametrize(
    ("interval_ms", "late_ms"),
    [
        (HOUR_MS, 2 * HOUR_MS),
        (7 * DAY_MS, 14 * DAY_MS),
        (MINUTE_MS, 5 * MINUTE_MS),
        (0, 5 * MINUTE_MS),
        (None, 2 * DAY_MS),
    ],
)
def test_two_intervals(interval_ms: int | None, late_ms: int) -> None:
    """After two intervals, but not within five minutes of runs by hand; an only snapshot is late after two days."""
    assert late_after_ms(interval_ms) == late_ms


def test_windows_without_any_begin() -> None:
    """All before the end is one window, so that the engine knows how many rows it has."""
    end = datetime(2026, 11, 20, tzinfo=UTC)
    (window,) = windows([None], [end])
    assert window is not None
    assert [(span.begin.year, span.end) for span in window] == [(1, end)]
    assert windows([None, end], [end, end])[-1] is None


def test_the_usual_interval_is_that_of_the_last_twelve() -> None:
    """Six of an hour and six of a day: of fewer or more intervals the median would be one of both."""
    begins = [0]
    for interval in (DAY_MS, *[DAY_MS] * 6, *[HOUR_MS] * 6):
        begins.append(begins[-1] + interval)
    assert usual_interval_ms(begins) == (DAY_MS + HOUR_MS) // 2


def test_clocks_may_differ_by_five_minutes() -> None:
    """A snapshot that is further in the future was taken by a wrong clock."""
    assert [is_ahead(-5 * MINUTE_MS), is_ahead(-5 * MINUTE_MS - 1)] == [False, True]


@pytest.mark.parametrize(("earliest", "begin"), [(1, 1), (9, 5), (None, 5)])
def test_the_last_window_is_no_shorter_than_the_first(earliest: int | None, begin: int) -> None:
    """It begins with the first snapshot that is compared, or as the window that was too short."""
    opened: list[Window | Newest | None] = []

    def open_tables(_: Iterable[str], window: Window | Newest | None) -> Ask:
        opened.append(window)
        return cast("Ask", None)

    def day(number: int) -> datetime:
        return datetime(2026, 11, number, tzinfo=UTC)

    short = [Span(begin=day(5), end=day(20))]
    open_until(
        open_tables,
        {"snapshots"},
        [short, None],
        lambda _: False,
        lambda _: None if earliest is None else day(earliest),
    )
    assert opened == [short, None, [Span(begin=day(begin), end=day(20))]]
