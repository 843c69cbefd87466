"""Parses hours of the day in a time zone, such as `22:00-06:00 Europe/Berlin`.

A time is compared by what a clock on the wall of that zone shows: on the day on which daylight saving time begins or ends, the
hours are shorter or longer.
"""

import re
from datetime import UTC, date, datetime, time, tzinfo

from kafka_lagoon.frozen import frozen

_CLOCK = r"(?:[01]\d|2[0-3]):[0-5]\d"
_RANGE = rf"{_CLOCK}-(?:{_CLOCK}|24:00)"
_HOURS = rf"({_RANGE}(?:\s*,\s*{_RANGE})*)(?:\s+(\S+))?"  # compiled by its first use: most commands read no hours


@frozen(kw_only=False)
class Hours:
    """Ranges of minutes of the day; a range that ends before it begins goes over midnight. The end is not included."""

    ranges: tuple[tuple[int, int], ...]
    zone: tzinfo

    def include(self, at_ms: int) -> bool:
        """Return True if a time (epoch milliseconds) is within one of the ranges."""
        there = datetime.fromtimestamp(at_ms / 1000, self.zone)
        minute = there.hour * 60 + there.minute
        return any(
            begin <= minute < end if begin < end else minute >= begin or minute < end for begin, end in self.ranges
        )


def parse_hours(text: str) -> Hours:
    """Parse ranges separated by commas, and the name of a time zone (UTC without one); ValueError for anything else."""
    match = re.fullmatch(_HOURS, text.strip(), re.ASCII)
    if match is None:
        raise ValueError(
            "must be hours such as 22:00-06:00 or 08:00-12:00,13:00-17:00, then perhaps a zone such as Europe/Berlin"
        )
    ranges = tuple(_minutes(part.strip()) for part in match[1].split(","))
    if any(begin == end for begin, end in ranges):
        raise ValueError("must be hours that do not end when they begin; the whole day is 00:00-24:00")
    return Hours(ranges, UTC if match[2] is None else _zone(match[2]))


def begin_ms(day: date, zone: tzinfo) -> int:
    """Return the first moment of a day in a zone (epoch milliseconds)."""
    return round(datetime.combine(day, time(), zone).timestamp() * 1000)


def _minutes(text: str) -> tuple[int, int]:
    begin, end = (int(clock[:2]) * 60 + int(clock[3:]) for clock in text.split("-"))
    return begin, end


def _zone(name: str) -> tzinfo:
    from zoneinfo import ZoneInfo  # noqa: PLC0415  commands that read no hours import this module, too

    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):  # not in the database; a path out of it; a folder of it
        raise ValueError("must name a time zone that this machine knows, such as Europe/Berlin") from None
