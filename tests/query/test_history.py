"""A snapshot is late when one that should have followed is missing. How far back commands read is in cli/tables/test_reach.py."""

from datetime import UTC, datetime

import pytest

from kafka_lagoon.query.history import late_after_ms, windows

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
