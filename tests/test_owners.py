"""An expectation says when groups should run, and ends when its day begins."""

from datetime import UTC, date, datetime

import pytest

from kafka_lagoon.owners import Expectation


def at_ms(time: str) -> int:
    return round(datetime.fromisoformat(time).replace(tzinfo=UTC).timestamp() * 1000)


def test_hours_say_when_a_group_should_run() -> None:
    """It should run within its hours; a paused group should not run at all."""
    night, day = at_ms("2026-11-24T22:30"), at_ms("2026-11-24T12:00")
    by_night = Expectation(hours="22:00-06:00 Europe/Berlin")
    assert (by_night.should_run(night), by_night.should_run(day)) == (True, False)
    paused = Expectation(hours="paused")
    assert not paused.should_run(night)
    assert paused.counts(day)
    assert paused.until_ms is None


@pytest.mark.parametrize(
    ("hours", "last"), [("paused", "2026-12-23T23:59:59.999"), ("06:00-22:00 Europe/Berlin", "2026-12-23T22:59:59.999")]
)
def test_an_entry_ends_when_its_day_begins(hours: str, last: str) -> None:
    """The day begins in the zone of the hours, and in UTC without hours."""
    entry = Expectation(hours=hours, until=date(2026, 12, 24))
    assert entry.counts(at_ms(last))
    assert not entry.counts(at_ms(last) + 1)
