"""Hours of the day include what a clock in their zone shows, over midnight and on the days of daylight saving time."""

from datetime import UTC, date, datetime
from zoneinfo import ZoneInfo

import pytest

from kafka_lagoon.hours import begin_ms, parse_hours


def included(hours: str, *times: str) -> list[bool]:
    """Say for each time in UTC if the hours include it."""
    parsed = parse_hours(hours)
    return [parsed.include(at_ms(time)) for time in times]


def at_ms(time: str) -> int:
    return round(datetime.fromisoformat(time).replace(tzinfo=UTC).timestamp() * 1000)


def test_the_end_is_not_included() -> None:
    """The first minute is, the last one is not."""
    times = ("2026-11-24T07:59:59", "2026-11-24T08:00", "2026-11-24T11:59:59.999", "2026-11-24T12:00")
    assert included("08:00-12:00", *times) == [False, True, True, False]


def test_over_midnight() -> None:
    """Hours that end before they begin go on after midnight."""
    times = ("2026-11-24T21:59", "2026-11-24T22:00", "2026-11-25T00:00", "2026-11-25T05:59", "2026-11-25T06:00")
    assert included("22:00-06:00", *times) == [False, True, True, True, False]
    assert included("22:00-24:00", *times) == [False, True, False, False, False]
    assert included("22:00-00:00", *times) == [False, True, False, False, False]
    assert all(included("00:00-24:00", *times))


def test_several_ranges() -> None:
    """Each of them counts."""
    times = ("2026-11-24T09:00", "2026-11-24T12:30", "2026-11-24T14:00", "2026-11-24T18:00")
    assert included("08:00-12:00, 13:00-17:00 UTC", *times) == [True, False, True, False]


def test_a_zone_has_summer_and_winter() -> None:
    """22:00 in Berlin is 21:00 in UTC in winter, and 20:00 in summer."""
    times = ("2026-11-24T20:30", "2026-11-24T21:00", "2026-07-24T19:59", "2026-07-24T20:00")
    assert included("22:00-06:00 Europe/Berlin", *times) == [False, True, False, True]


def test_the_night_in_which_daylight_saving_time_begins() -> None:
    """On 29 March 2026 the clock goes from 2:00 to 3:00 in Berlin (1:00 UTC): hours within that hour are not on that day."""
    times = [f"2026-03-29T{time}" for time in ("00:59", "01:00", "01:30", "01:59")]
    assert included("02:00-03:00 Europe/Berlin", *times) == [False] * 4
    assert included("02:30-03:30 Europe/Berlin", *times) == [False, True, False, False]
    assert included("02:00-03:00 Europe/Berlin", "2026-03-30T00:30") == [True]


def test_the_night_in_which_daylight_saving_time_ends() -> None:
    """On 25 October 2026 the clock shows 2:00 to 3:00 twice in Berlin (0:00 to 2:00 UTC): hours within that hour are twice."""
    times = [f"2026-10-25T{time}" for time in ("00:29", "00:30", "00:59", "01:00", "01:30", "02:00")]
    assert included("02:30-03:00 Europe/Berlin", *times) == [False, True, True, False, True, False]


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", "must be hours such as 22:00-06:00"),
        ("paused", "must be hours such as 22:00-06:00"),
        ("22-06", "must be hours such as 22:00-06:00"),
        ("24:00-06:00", "must be hours such as 22:00-06:00"),
        ("22:00-25:00", "must be hours such as 22:00-06:00"),
        ("22:00-06:60", "must be hours such as 22:00-06:00"),
        ("22:00-06:00,", "must be hours such as 22:00-06:00"),
        ("22:00-06:00 Europe/Berlin or so", "must be hours such as 22:00-06:00"),
        ("22:00-06:00 Europe/Atlantis", "must name a time zone that this machine knows"),
        ("22:00-06:00 Europe", "must name a time zone"),
        ("22:00-06:00 ../../etc/passwd", "must name a time zone"),
        ("22:00-22:00", "must be hours that do not end when they begin"),
    ],
)
def test_what_are_no_hours(text: str, fault: str) -> None:
    """A fault says what to write instead."""
    with pytest.raises(ValueError, match=fault):
        parse_hours(text)


def test_a_day_begins_in_its_zone() -> None:
    """Midnight in Berlin is an hour before midnight in UTC."""
    assert begin_ms(date(2026, 12, 1), ZoneInfo("UTC")) == at_ms("2026-12-01T00:00")
    assert begin_ms(date(2026, 12, 1), ZoneInfo("Europe/Berlin")) == at_ms("2026-11-30T23:00")
